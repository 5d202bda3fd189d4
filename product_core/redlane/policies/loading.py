"""Loading: files to rules, with every problem collected and none thrown.

A load never raises for what is on disk. What is broken is left out of the rules and
told, and whoever starts or reloads refuses when there is any error.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from redlane.model.problem import Finding, Severity
from redlane.model.settings import Settings
from redlane.paths import Paths
from redlane.plugins import Plugins
from redlane.policies.enforcement import (
    find_loose,
    find_unenforced,
    missing_context,
)
from redlane.policies.extending import comes_to
from redlane.policies.hazards import find_hazards
from redlane.policies.juror_types import juror_types
from redlane.policies.loaded import Loaded
from redlane.policies.nearness import nearest, short
from redlane.policies.parsing import ParsedPolicy, ParsedRole, parse_policy, parse_role
from redlane.policies.plugin_settings import settings_tables, with_settings
from redlane.policies.references import Checked, check_references
from redlane.policies.ruleset import RuleSet
from redlane.policies.settings import parse_settings
from redlane.policies.sources import Entry, Sources, read_sources

__all__ = ["MOST_ERRORS", "load", "load_sources"]

MOST_ERRORS = 1000
"""Errors of one file after which the rest of it is not looked at."""

_AnyParsed = TypeVar("_AnyParsed", ParsedPolicy, ParsedRole)


def load(
    paths: Paths, plugins: Plugins, only_roles: frozenset[str] | None = None
) -> Loaded:
    """Everything that `paths` names, checked; `only_roles` restricts the roles loaded.

    A role that the restriction leaves out is checked for its form, but what it refers
    to does not matter.
    """
    return load_sources(read_sources(paths), paths, plugins, only_roles)


def load_sources(
    sources: Sources,
    paths: Paths,
    plugins: Plugins,
    only_roles: frozenset[str] | None = None,
) -> Loaded:
    """The same, of what was read at these paths."""
    settings, of_settings = parse_settings(
        sources.settings,
        str(paths.settings),
        settings_tables(plugins),
        juror_types(plugins.reviewers),
    )
    plugins = with_settings(plugins, settings.plugins, paths.home)
    of_settings = [*sources.settings_findings, *of_settings]
    policies, of_policies = _parse(
        sources.policies, lambda order, entry: parse_policy(entry, order, plugins)
    )
    roles, of_roles = _parse(sources.roles, lambda _, entry: parse_role(entry))
    checked = check_references(policies, roles, only_roles)
    of_plugins = list(_plugin_findings(plugins))
    of_settings.extend(_default_role(settings, checked, paths, only_roles))
    findings = [
        *of_plugins,
        *of_settings,
        *sources.policy_findings,
        *of_policies,
        *sources.role_findings,
        *of_roles,
        *checked.findings,
        *_unknown_restrictions(roles, paths, only_roles),
    ]
    ruleset = _ruleset(checked, plugins, settings)
    findings.extend(_hazards(ruleset, settings, paths, plugins))
    nameless = (each for each in of_roles if not each.subject)
    return Loaded(
        ruleset=ruleset,
        settings=settings,
        findings=tuple(dict.fromkeys(findings)),
        errors_by_role=checked.errors_by_role,
        errors_hiding_roles=_errors([*sources.role_findings, *nameless]),
        errors_of_settings=_errors(of_settings),
        errors_of_plugins=_errors(of_plugins),
        missing_context=missing_context(plugins),
    )


def _parse(
    entries: Sequence[Entry], parse: Callable[[int, Entry], _AnyParsed]
) -> tuple[list[_AnyParsed], list[Finding]]:
    """Every entry, parsed, and the findings; a file full of errors is cut short."""
    parsed: list[_AnyParsed] = []
    findings: list[Finding] = []
    errors: Counter[str] = Counter()
    cut_short: dict[str, None] = {}
    for order, entry in enumerate(entries):
        if errors[entry.file] >= MOST_ERRORS:
            cut_short[entry.file] = None
            continue
        one = parse(order, entry)
        parsed.append(one)
        findings.extend(one.findings)
        errors[entry.file] += len(_errors(one.findings))
    rest = f"more than {MOST_ERRORS} errors: the rest was not looked at"
    findings.extend(Finding(Severity.ERROR, file, "", rest) for file in cut_short)
    return parsed, findings


def _ruleset(checked: Checked, plugins: Plugins, settings: Settings) -> RuleSet:
    """The rules; while two plugins claim one type, no role can be trusted."""
    roles = () if plugins.conflicts else checked.roles
    return RuleSet(
        policies=[each.policy for each in checked.policies if each.policy],
        roles=[each.role for each in roles if each.role],
        match_types=plugins.match_types,
        digest=_digest(checked, settings),
    )


def _digest(checked: Checked, settings: Settings) -> str:
    """SHA-256 of all that was loaded; files and their order do not matter.

    What match types read of the settings is part of the rules.
    """
    content: dict[str, object] = {
        "policies": {each.id: each.entry.value for each in checked.policies},
        "roles": {each.name: each.entry.value for each in checked.roles},
    }
    extended = [each.role for each in checked.roles if each.role and each.role.extends]
    if extended:
        content["extended"] = {each.name: comes_to(each) for each in extended}
    if settings.plugins:
        content["settings"] = {
            name: None if values is None else dict(values)
            for name, values in settings.plugins.items()
        }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _hazards(
    ruleset: RuleSet, settings: Settings, paths: Paths, plugins: Plugins
) -> Iterator[Finding]:
    yield from find_hazards(
        ruleset.policies.values(),
        ruleset.roles.values(),
        plugins.match_types,
        settings,
        str(paths.settings),
    )
    yield from find_unenforced(ruleset.policies.values(), plugins)
    yield from find_loose(ruleset.roles.values(), ruleset.policies)


def _plugin_findings(plugins: Plugins) -> Iterator[Finding]:
    """Two plugins for one type are an error; a plugin that was left out is told."""
    for conflict in plugins.conflicts:
        yield Finding(Severity.ERROR, "plugins", "", conflict)
    for report in plugins.reports:
        if report.error is not None:
            package = f"{report.distribution} {report.version}"
            message = f"left out, because it failed to load: {report.error}"
            yield Finding(Severity.WARNING, f"plugins: {package}", report.name, message)


def _default_role(
    settings: Settings,
    checked: Checked,
    paths: Paths,
    only_roles: frozenset[str] | None,
) -> Iterator[Finding]:
    """The default role must be loaded (policy format: Role)."""
    name = settings.sevsh.default_role
    if name is None or any(each.name == name for each in checked.roles):
        return
    if name in checked.errors_by_role:
        why = "has errors"
    elif only_roles is not None and name not in only_roles:
        why = f"is not among the roles to load ({', '.join(sorted(only_roles))})"
    else:
        why = "is in no role file" + _hint(name, (each.name for each in checked.roles))
    message = f"the default role {short(name)} {why}"
    yield Finding(Severity.ERROR, str(paths.settings), "sevsh.default_role", message)


def _unknown_restrictions(
    roles: Iterable[ParsedRole], paths: Paths, only_roles: frozenset[str] | None
) -> Iterator[Finding]:
    """A role that the restriction names must be there."""
    names = {each.name for each in roles}
    for name in sorted((only_roles or frozenset()) - names):
        message = f"the role to load {short(name)} is in no role file"
        hint = _hint(name, names)
        yield Finding(Severity.ERROR, str(paths.roles), name, message + hint)


def _hint(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f"; did you mean {near!r}?" if near else ""


def _errors(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(each for each in findings if each.severity is Severity.ERROR)
