"""`plugins` in settings.json: what match types read, an object under each name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from redlane.model.field import Field, Kind
from redlane.model.problem import Finding, Severity
from redlane.plugins import Plugins
from redlane.policies.nearness import near_miss, short
from redlane.policies.values import converted, value_problem
from redlane.preparing import PreparedType

__all__ = [
    "NO_PLUGINS",
    "PLUGINS",
    "PluginTables",
    "parse_plugin_settings",
    "placed",
    "settings_tables",
    "table_findings",
    "table_values",
    "with_settings",
]

PLUGINS = "plugins"
"""The key of settings.json."""

PluginTables: TypeAlias = Mapping[str, Sequence[Field]]
"""The settings that each match type declares."""

PluginValues: TypeAlias = Mapping[str, Mapping[str, object] | None]

NO_PLUGINS: PluginTables = MappingProxyType({})


def settings_tables(plugins: Plugins) -> PluginTables:
    """What the match types that have settings declare."""
    return {
        name: each.settings
        for name, each in plugins.match_types.items()
        if isinstance(each, PreparedType)
    }


def with_settings(plugins: Plugins, values: PluginValues, home: Path) -> Plugins:
    """The plugins of one load: match types that are prepared have their settings.

    A directory that is not absolute lies in `home`.
    """
    types = {
        name: each.with_settings(_placed(each.settings, values.get(name), home))
        if isinstance(each, PreparedType)
        else each
        for name, each in plugins.match_types.items()
    }
    return replace(plugins, match_types=MappingProxyType(types))


def _placed(
    table: Sequence[Field], values: Mapping[str, object] | None, home: Path
) -> Mapping[str, object] | None:
    if values is None:
        return None
    return placed(table, values, home)


def placed(
    table: Sequence[Field], values: Mapping[str, object], home: Path
) -> Mapping[str, object]:
    """The values with absolute paths; what is not absolute lies in `home`."""
    places = {e.name for e in table if e.kind in (Kind.DIRECTORY, Kind.FILE)}
    return {
        name: str(home / str(value)) if name in places else value
        for name, value in values.items()
    }


def parse_plugin_settings(
    value: object, tables: PluginTables, file: str
) -> tuple[PluginValues, list[Finding]]:
    """The settings of each match type, None where they are wrong, and what is wrong."""
    findings: list[Finding] = []
    if value is None:
        value = {}
    if not isinstance(value, dict):
        wrong = f"must be an object, not {short(value)}"
        findings.append(Finding(Severity.ERROR, file, PLUGINS, wrong))
        return dict.fromkeys(tables), findings
    values: dict[str, Mapping[str, object] | None] = {}
    for name, table in tables.items():
        given = {} if value.get(name) is None else value[name]
        found = list(table_findings(f"{PLUGINS}.{name}", table, given, file))
        is_wrong = any(each.severity is Severity.ERROR for each in found)
        values[name] = None if is_wrong else table_values(table, given)
        findings += found
    for name in value.keys() - tables.keys():
        message = f"no match type that is installed has settings{_hint(name, tables)}"
        findings.append(Finding(Severity.WARNING, file, f"{PLUGINS}.{name}", message))
    return values, findings


def table_findings(
    subject: str, table: Sequence[Field], given: object, file: str
) -> Iterator[Finding]:
    """What is wrong with an object that is to have the form of a table."""
    if not isinstance(given, dict):
        wrong = f"must be an object, not {short(given)}"
        yield Finding(Severity.ERROR, file, subject, wrong)
        return
    known = {each.name: each for each in table}
    for name, value in given.items():
        field = known.get(name)
        place = f"{subject}.{name}"
        if field is None:
            unknown = f"unknown setting, which has no effect{_hint(name, known)}"
            yield Finding(Severity.WARNING, file, place, unknown)
        elif value is not None and (problem := value_problem(field, value)):
            yield Finding(Severity.ERROR, file, place, problem)
    for field in table:
        if field.required and given and given.get(field.name) is None:
            yield Finding(Severity.ERROR, file, f"{subject}.{field.name}", "is missing")


def table_values(
    table: Sequence[Field], given: Mapping[str, object]
) -> Mapping[str, object]:
    """What an object without error says, with the defaults for what it does not."""
    values: dict[str, object] = {}
    for field in table:
        value = given.get(field.name)
        if value is not None:
            values[field.name] = converted(field, value)
        elif field.default is not None:
            values[field.name] = field.default
    return MappingProxyType(values)


def _hint(name: str, known: Mapping[str, object]) -> str:
    near = near_miss(name, tuple(known))
    return f": did you mean `{near}`?" if near else ""
