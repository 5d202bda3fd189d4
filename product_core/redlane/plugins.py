"""The plugin host: finds match types through entry points and checks them.

A plugin that fails to import or that misbehaves is reported and left out; policies of
its type then become load errors, so that a broken plugin never opens a door.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from types import MappingProxyType
from typing import Any

import pluggy

from redlane import hookspecs
from redlane.hookspecs import ENTRY_POINT_GROUP
from redlane.model.matching import MatchType
from redlane.model.policy import Context

__all__ = ["KNOWN_PACKAGES", "PluginReport", "Plugins", "find_plugins"]

KNOWN_PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "Simple": "redlane-match-simple",
        "Regex": "redlane-match-regex",
        "Executable": "redlane-match-executable",
        "McpTool": "redlane-match-mcp",
        "MlClassifier": "redlane-match-ml",
    }
)
"""The package that brings each match type of the policy format."""


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One entry point: what it offers, or the `error` for which it was left out."""

    name: str
    distribution: str
    version: str
    location: str
    match_types: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Plugins:
    """The match types by name, how they were found, and what is wrong as a whole.

    `conflicts` has one line for each match type that two plugins offer: with any, the
    daemon does not start, because it cannot know which of them to trust.
    """

    match_types: Mapping[str, MatchType]
    reports: tuple[PluginReport, ...]
    conflicts: tuple[str, ...] = ()


def find_plugins() -> Plugins:
    """Load every entry point of the group `redlane`, in the order of their names."""
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(hookspecs)
    types: dict[str, MatchType] = {}
    owners: dict[str, str] = {}
    reports, conflicts = [], []
    for distribution, entry_point in _entry_points():
        offered, error = _load(manager, entry_point)
        for match_type in offered:
            owner = owners.setdefault(match_type.name, entry_point.name)
            if owner != entry_point.name:
                conflicts.append(
                    f"match type {match_type.name!r} comes from two plugins, {owner!r} "
                    f"and {entry_point.name!r}: uninstall one of them"
                )
            types.setdefault(match_type.name, match_type)
        reports.append(_report(distribution, entry_point, offered, error))
    return Plugins(MappingProxyType(types), tuple(reports), tuple(conflicts))


def _entry_points() -> list[tuple[Distribution, EntryPoint]]:
    """Each entry point of the group once: the distribution first on the path wins."""
    found: dict[str, tuple[Distribution, EntryPoint]] = {}
    seen: set[str] = set()
    for distribution in distributions():
        name = distribution.metadata["Name"] or str(distribution)
        if name in seen:
            continue
        seen.add(name)
        for entry_point in distribution.entry_points:
            if entry_point.group == ENTRY_POINT_GROUP:
                found[f"{entry_point.name}\0{name}"] = (distribution, entry_point)
    return [found[key] for key in sorted(found)]


def _load(
    manager: pluggy.PluginManager, entry_point: EntryPoint
) -> tuple[tuple[MatchType, ...], str | None]:
    """What one entry point offers, or why it cannot be used.

    This is a fail-closed boundary: whatever a plugin does wrong leaves its match types
    unknown, which makes policies of those types load errors.
    """
    try:
        plugin = entry_point.load()
        manager.register(plugin, name=entry_point.name)
        manager.check_pending()
        offered = _call(manager, plugin)
    except Exception as error:  # noqa: BLE001  # a plugin may raise anything
        return (), f"{type(error).__name__}: {error}".splitlines()[0]
    return offered, None


def _call(manager: pluggy.PluginManager, plugin: object) -> tuple[MatchType, ...]:
    """The match types of one plugin, each checked for the members it must have."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    caller = manager.subset_hook_caller("redlane_match_types", others)
    offered: list[Any] = [each for answer in caller() for each in answer]
    for match_type in offered:
        problem = _shape_problem(match_type)
        if problem:
            raise TypeError(problem)
    return tuple(offered)


def _shape_problem(match_type: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no match type, or None."""
    for member in ("name", "contexts", "reader", "fields", "decides_lane"):
        if not hasattr(match_type, member):
            return f"match type {match_type!r} has no attribute {member!r}"
    for method in ("problems", "compile"):
        if not callable(getattr(match_type, method, None)):
            return f"match type {match_type!r} has no method {method!r}"
    if not isinstance(match_type.name, str) or not match_type.name:
        return f"match type {match_type!r} has no name"
    if not all(isinstance(each, Context) for each in match_type.contexts):
        return f"match type {match_type.name!r} names unknown contexts"
    return None


def _report(
    distribution: Distribution,
    entry_point: EntryPoint,
    offered: tuple[MatchType, ...],
    error: str | None,
) -> PluginReport:
    return PluginReport(
        name=entry_point.name,
        distribution=distribution.metadata["Name"] or "",
        version=distribution.version,
        location=str(distribution.locate_file("")),
        match_types=tuple(each.name for each in offered),
        error=error,
    )
