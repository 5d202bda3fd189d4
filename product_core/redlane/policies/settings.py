"""settings.json to `Settings`: nested objects, or dotted names at the top level."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from redlane.model.problem import Finding, Severity
from redlane.model.settings import GROUPS, SETTINGS, Settings
from redlane.policies.juror_types import BUILT_IN, JurorTypes
from redlane.policies.jury_settings import check_review, parse_jury, parse_webhook
from redlane.policies.nearness import near_miss, short
from redlane.policies.plugin_settings import (
    NO_PLUGINS,
    PLUGINS,
    PluginTables,
    parse_plugin_settings,
)
from redlane.policies.values import converted, value_problem

__all__ = ["ALWAYS_KNOWN", "parse_settings"]

ALWAYS_KNOWN = ("$schema", "description")
"""Keys that are no settings, for editors and people."""

_FIELDS = {field.name: field for field in SETTINGS}


def parse_settings(
    document: object,
    file: str,
    of_plugins: PluginTables = NO_PLUGINS,
    jurors: JurorTypes = BUILT_IN,
) -> tuple[Settings, list[Finding]]:
    """The settings that a parsed settings.json holds, and all that is wrong with it.

    `of_plugins` are those that match types read, `jurors` the types of a jury.

    A setting with an error keeps its default, so that there is always something to
    work with; whoever relies on the settings looks at the findings first.
    """
    if not isinstance(document, dict):
        wrong = f"settings must be an object, not {short(document)}"
        return Settings(), [Finding(Severity.ERROR, file, "", wrong)]
    plugins, wrong_plugins = parse_plugin_settings(
        document.get(PLUGINS), of_plugins, file
    )
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    for name, value in _flattened(document):
        problem = "given twice: nested and with a dotted name" if name in values else ""
        severity = Severity.ERROR
        if not problem:
            severity, problem = _problem(name, value)
        if problem:
            findings.append(Finding(severity, file, name, problem))
        values.setdefault(name, value)
    wrong_names = {each.subject for each in findings}
    good = {
        name: value
        for name, value in values.items()
        if name in _FIELDS and name not in wrong_names and value is not None
    }
    jury, wrong_jury = parse_jury(good.pop("review.jury", ()), jurors, file)
    webhook, wrong_webhook = None, list[Finding]()
    if "review.webhook" in good:
        webhook, wrong_webhook = parse_webhook(good.pop("review.webhook"), file)
    built = _build(good)
    review = dataclasses.replace(built.review, jury=jury, webhook=webhook)
    settings = dataclasses.replace(built, plugins=plugins, review=review)
    is_whole = all(each.severity is not Severity.ERROR for each in wrong_jury)
    if is_whole and "review.jury" not in wrong_names:
        wrong_jury += check_review(review, file)
    return settings, [*findings, *wrong_jury, *wrong_webhook, *wrong_plugins]


def _flattened(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every entry by its dotted name, in the order of the file."""
    for key, value in document.items():
        if key in GROUPS and isinstance(value, dict):
            for leaf, inner in value.items():
                yield f"{key}.{leaf}", inner
        elif key not in (*ALWAYS_KNOWN, PLUGINS) and not (
            key in GROUPS and value is None
        ):
            yield key, value


def _problem(name: str, value: object) -> tuple[Severity, str]:
    """What is wrong with one entry; "" when nothing is."""
    if name in GROUPS:
        return Severity.ERROR, f"must be an object, not {short(value)}"
    field = _FIELDS.get(name)
    if field is not None:
        problem = None if value is None else value_problem(field, value)
        return Severity.ERROR, problem or ""
    near = near_miss(name, _siblings(name))
    hint = f": did you mean `{near}`?" if near else ""
    return Severity.WARNING, f"unknown setting, which has no effect{hint}"


def _siblings(name: str) -> tuple[str, ...]:
    """The names that `name` may misspell: of its own group, or any."""
    group, dot, _ = name.partition(".")
    if dot and group in GROUPS:
        return tuple(each for each in _FIELDS if each.startswith(f"{group}."))
    return (*GROUPS, *_FIELDS)


def _build(values: dict[str, Any]) -> Settings:
    groups = {
        group: members(
            **{
                each.name: _converted(f"{group}.{each.name}", values)
                for each in dataclasses.fields(members)
                if f"{group}.{each.name}" in values
            }
        )
        for group, members in GROUPS.items()
    }
    return Settings(**groups)


def _converted(name: str, values: dict[str, Any]) -> object:
    """A JSON value as the type that its setting has."""
    return converted(_FIELDS[name], values[name])
