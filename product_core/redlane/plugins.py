"""The plugin host: finds match types and contexts through entry points.

A plugin that fails to import or that misbehaves is reported and left out; policies of
its type then become load errors, so that a broken plugin never opens a door.
"""

import contextlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import pluggy

from redlane import hookspecs
from redlane.hookspecs import ENTRY_POINT_GROUP
from redlane.model.content import Reader
from redlane.model.matching import MatchType
from redlane.model.policy import Context
from redlane.model.supervision import ContextService

__all__ = [
    "CONTEXT_PACKAGES",
    "KNOWN_PACKAGES",
    "PluginReport",
    "Plugins",
    "find_plugins",
]

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

CONTEXT_PACKAGES: Mapping[str, str] = MappingProxyType(
    {Context.SYSCALL: "redlane-context-syscall"}
)
"""The package that brings each context of the policy format that is a plugin's."""


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One entry point: what it offers, or the `error` for which it was left out."""

    name: str
    distribution: str
    version: str
    location: str
    match_types: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Plugins:
    """Match types and contexts by name, how they were found, and what is wrong.

    `conflicts` has one line for each match type or context that two plugins offer: with
    any, the daemon does not start, because it cannot know which of them to trust.
    """

    match_types: Mapping[str, MatchType]
    reports: tuple[PluginReport, ...]
    conflicts: tuple[str, ...] = ()
    contexts: Mapping[str, ContextService] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class _Offers:
    """What one plugin offers."""

    match_types: tuple[MatchType, ...] = ()
    contexts: tuple[ContextService, ...] = ()


def find_plugins() -> Plugins:
    """Load every entry point of the group `redlane`, in the order of their names."""
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(hookspecs)
    types = _Names[MatchType]("match type")
    contexts = _Names[ContextService]("context")
    points, reports = _entry_points()
    for distribution, entry_point in points:
        found, offered = _load(manager, distribution, entry_point)
        reports.append(found)
        owner = f"{found.name!r} of {found.distribution}"
        for match_type in offered.match_types:
            types.add(match_type.name, match_type, owner)
        for context in offered.contexts:
            contexts.add(context.name, context, owner)
    return Plugins(
        MappingProxyType(types.taken),
        tuple(reports),
        (*types.conflicts, *contexts.conflicts),
        MappingProxyType(contexts.taken),
    )


_Any = TypeVar("_Any")


class _Names(Generic[_Any]):
    """What plugins offer, by name; the first one that is found keeps it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._owners: dict[str, str] = {}
        self.taken: dict[str, _Any] = {}
        self.conflicts: list[str] = []

    def add(self, name: str, offered: _Any, owner: str) -> None:
        """Take what a plugin offers, unless another has that name."""
        if name in self.taken:
            self.conflicts.append(
                f"{self._kind} {name!r} is offered twice, by {self._owners[name]} and "
                f"by {owner}: uninstall one of them"
            )
        self._owners.setdefault(name, owner)
        self.taken.setdefault(name, offered)


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
            torn.append(_report(distribution, name or "?", _Offers(), reason))
    return points


def _load(
    manager: pluggy.PluginManager, distribution: Distribution, entry_point: EntryPoint
) -> tuple[PluginReport, _Offers]:
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
        nothing = _Offers()
        reason = _one_line(error)
        return _report(distribution, entry_point.name, nothing, reason), nothing
    return _report(distribution, entry_point.name, offered, None), offered


def _register(manager: pluggy.PluginManager, plugin: object, name: str) -> _Offers:
    """What a plugin offers, each checked for the members that it must have."""
    manager.register(plugin, name=name)
    manager.check_pending()
    return _Offers(
        _call(manager, plugin, "redlane_match_types", _shape_problem),
        _call(manager, plugin, "redlane_contexts", _context_problem),
    )


def _call(
    manager: pluggy.PluginManager,
    plugin: object,
    hook: str,
    problem_of: Callable[[Any], str | None],
) -> tuple[Any, ...]:
    """What one hook of one plugin answers; raises TypeError for another shape."""
    others = [other for other in manager.get_plugins() if other is not plugin]
    caller = manager.subset_hook_caller(hook, others)
    offered = tuple(each for answer in caller() for each in answer)
    problem = next(filter(None, map(problem_of, offered)), None)
    if problem:
        raise TypeError(problem)
    return offered


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


def _context_problem(context: Any) -> str | None:  # noqa: ANN401  # comes from outside
    """Why an object is no context that a plugin may offer, or None."""
    if isinstance(context, type):
        return f"{context.__name__} is a class: offer an object of it"
    name = getattr(context, "name", None)
    if not isinstance(name, str) or name not in CONTEXT_PACKAGES:
        known = ", ".join(CONTEXT_PACKAGES)
        return f"context {context!r} has no name that a plugin may offer ({known})"
    for method in ("problems", "coverage", "guard"):
        if not callable(getattr(context, method, None)):
            return f"context {context!r} has no method {method!r}"
    return None


def _report(
    distribution: Distribution,
    name: str,
    offered: _Offers,
    error: str | None,
) -> PluginReport:
    return PluginReport(
        name=name,
        distribution=_told(distribution, "Name"),
        version=_told(distribution, "Version"),
        location=str(distribution.locate_file("")),
        match_types=tuple(each.name for each in offered.match_types),
        contexts=tuple(str(each.name) for each in offered.contexts),
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
