"""The plugin host: finds match types through entry points and checks them.

A plugin that fails to import or that misbehaves is reported and left out; policies of
its type then become load errors, so that a broken plugin never opens a door.
"""

import contextlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from types import MappingProxyType
from typing import Any

import pluggy

from redlane import hookspecs
from redlane.hookspecs import ENTRY_POINT_GROUP
from redlane.model.content import Reader
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
    conflicts = []
    points, reports = _entry_points()
    for distribution, entry_point in points:
        found, offered = _load(manager, distribution, entry_point)
        reports.append(found)
        owner = f"{found.name!r} of {found.distribution}"
        for match_type in offered:
            name = match_type.name
            if name in types:
                conflicts.append(
                    f"match type {name!r} is offered twice, by {owners[name]} and by "
                    f"{owner}: uninstall one of them"
                )
            owners.setdefault(name, owner)
            types.setdefault(name, match_type)
    return Plugins(MappingProxyType(types), tuple(reports), tuple(conflicts))


_Found = tuple[list[tuple[Distribution, EntryPoint]], list[PluginReport]]


def _entry_points() -> _Found:
    """Each entry point of the group once: the distribution first on the path wins.

    A distribution whose entry points cannot be read is reported; then each is asked by
    itself, which takes longer.
    """
    torn: list[PluginReport] = []
    try:
        points = list(entry_points(group=ENTRY_POINT_GROUP))
    except Exception:  # noqa: BLE001  # a file may hold anything; each is asked below
        points = _ask_each(torn)
    found = [(each.dist, each) for each in points if each.dist is not None]
    return sorted(found, key=lambda pair: (pair[1].name, _told(pair[0], "Name"))), torn


def _ask_each(torn: list[PluginReport]) -> list[EntryPoint]:
    """The entry points of the distributions that have sound ones; adds to `torn`."""
    points: list[EntryPoint] = []
    seen: set[str] = set()
    for distribution in distributions():
        name = _told(distribution, "Name")
        canonical = re.sub(r"[-_.]+", "-", name).lower()
        if canonical in seen:
            continue
        seen.update({canonical} - {""})
        try:
            points += distribution.entry_points.select(group=ENTRY_POINT_GROUP)
        except Exception as error:  # noqa: BLE001  # as above
            reason = f"its entry points cannot be read: {_one_line(error)}"
            torn.append(_report(distribution, name or "?", (), reason))
    return points


def _load(
    manager: pluggy.PluginManager, distribution: Distribution, entry_point: EntryPoint
) -> tuple[PluginReport, tuple[MatchType, ...]]:
    """What one entry point offers, or why it cannot be used.

    This is a fail-closed boundary: whatever a plugin does wrong leaves its match types
    unknown, which makes policies of those types load errors. SystemExit is part of it:
    a plugin must not choose the exit status of `redlane validate`.
    """
    plugin: object = None
    try:
        # What a plugin prints must not mix with the JSON that a command prints.
        with contextlib.redirect_stdout(sys.stderr):
            plugin = entry_point.load()
            offered = _register(
                manager, plugin, f"{_told(distribution, 'Name')}:{entry_point}"
            )
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        if manager.is_registered(plugin):
            manager.unregister(plugin)
        return _report(distribution, entry_point.name, (), _one_line(error)), ()
    return _report(distribution, entry_point.name, offered, None), offered


def _register(
    manager: pluggy.PluginManager, plugin: object, name: str
) -> tuple[MatchType, ...]:
    manager.register(plugin, name=name)
    manager.check_pending()
    return _call(manager, plugin)


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
    if isinstance(match_type, type):
        return f"{match_type.__name__} is a class: offer an object of it"
    for member in ("name", "contexts", "reader", "fields", "decides_lane"):
        if not hasattr(match_type, member):
            return f"match type {match_type!r} has no attribute {member!r}"
    for method in ("problems", "compile"):
        if not callable(getattr(match_type, method, None)):
            return f"match type {match_type!r} has no method {method!r}"
    if not isinstance(match_type.name, str) or not match_type.name:
        return f"match type {match_type!r} has no name"
    return _attribute_problem(match_type)


def _attribute_problem(match_type: MatchType) -> str | None:
    """Why an attribute of a match type has no value that it may have, or None."""
    # Only checked here, because what a plugin offers has whatever types it likes.
    sound = {
        "contexts": all(isinstance(each, Context) for each in match_type.contexts),
        "reader": isinstance(match_type.reader, Reader),
        "fields": all(isinstance(each, str) for each in match_type.fields),
        "decides_lane": isinstance(match_type.decides_lane, bool),
    }
    wrong = next((name for name, is_sound in sound.items() if not is_sound), None)
    return wrong and f"match type {match_type.name!r} has an unusable {wrong!r}"


def _report(
    distribution: Distribution,
    name: str,
    offered: tuple[MatchType, ...],
    error: str | None,
) -> PluginReport:
    return PluginReport(
        name=name,
        distribution=_told(distribution, "Name"),
        version=_told(distribution, "Version"),
        location=str(distribution.locate_file("")),
        match_types=tuple(each.name for each in offered),
        error=error,
    )


def _told(distribution: Distribution, field: str) -> str:
    """A field of the metadata, or nothing: an interrupted installation has none."""
    try:
        metadata = distribution.metadata
        return str(metadata[field]) if field in metadata else ""
    except Exception:  # noqa: BLE001  # a file may hold anything
        return ""


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
