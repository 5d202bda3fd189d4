"""The plugin host: finds match types and contexts through entry points.

A plugin that fails to import or that misbehaves is reported and left out; policies of
its type then become load errors, so that a broken plugin never opens a door.
"""

import contextlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import Distribution, EntryPoint
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import pluggy

from redlane import hookspecs
from redlane.hookspecs import ENTRY_POINT_GROUP
from redlane.model.matching import MatchType
from redlane.model.reviewing import Reviewer
from redlane.model.serving import ServedContext
from redlane.model.supervision import ContextService
from redlane.plugin_points import (
    PluginReport,
    entry_points_of,
    one_line,
    report_of,
)
from redlane.plugin_shapes import (
    CONTEXT_PACKAGES,
    FIRST_API,
    context_problem,
    is_prepared,
    match_type_problem,
    reviewer_problem,
    version_problem,
)
from redlane.preparing import PreparedType

__all__ = [
    "KNOWN_PACKAGES",
    "PluginReport",
    "Plugins",
    "answer_of",
    "find_plugins",
    "hooks_of",
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


@dataclass(frozen=True, slots=True)
class Plugins:
    """What plugins offer, by name, how they were found, and what is wrong.

    `conflicts` has one line for each match type, context or reviewer that two plugins
    offer: with any, the daemon does not start, because it cannot know which of them to
    trust.
    """

    match_types: Mapping[str, MatchType]
    reports: tuple[PluginReport, ...]
    conflicts: tuple[str, ...] = ()
    contexts: Mapping[str, ContextService] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Those that supervise processes."""
    served: Mapping[str, ServedContext] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Those that the daemon starts and stops."""
    reviewers: Mapping[str, Reviewer] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class _Offers:
    """What one plugin offers."""

    api: str = ""
    match_types: tuple[MatchType, ...] = ()
    contexts: tuple[ContextService | ServedContext, ...] = ()
    reviewers: tuple[Reviewer, ...] = ()


def find_plugins(*given: object) -> Plugins:
    """Load every entry point of the group `redlane`, in the order of their names.

    `given` are plugins that need not be installed, for tests of them: they come first,
    and what they raise goes through.
    """
    types = _Names[MatchType]("match type")
    contexts = _Names[ContextService | ServedContext]("context")
    reviewers = _Names[Reviewer]("reviewer")
    points, torn = entry_points_of(ENTRY_POINT_GROUP)
    loaded = [_load_given(each) for each in given]
    loaded += [
        _load(distribution, entry_point)
        for distribution, entry_point in points
        if not _is_one_of(given, entry_point)
    ]
    for found, offered in loaded:
        owner = f"{found.name!r} of {found.distribution}"
        for match_type in offered.match_types:
            types.add(match_type.name, match_type, owner)
        for context in offered.contexts:
            contexts.add(context.name, context, owner)
        for reviewer in offered.reviewers:
            reviewers.add(reviewer.name, reviewer, owner)
    return Plugins(
        MappingProxyType(types.taken),
        (*torn, *(found for found, _ in loaded)),
        (*types.conflicts, *contexts.conflicts, *reviewers.conflicts),
        *_by_kind(contexts.taken),
        MappingProxyType(reviewers.taken),
    )


def _by_kind(
    contexts: Mapping[str, Any],
) -> tuple[Mapping[str, ContextService], Mapping[str, ServedContext]]:
    """Contexts that supervise processes, and those that are served; names tell."""
    supervising = {k: v for k, v in contexts.items() if k in CONTEXT_PACKAGES}
    served = {k: v for k, v in contexts.items() if k not in CONTEXT_PACKAGES}
    return MappingProxyType(supervising), MappingProxyType(served)


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


def _load(
    distribution: Distribution, entry_point: EntryPoint
) -> tuple[PluginReport, _Offers]:
    """What one entry point offers, or why it cannot be used.

    This is a fail-closed boundary: whatever a plugin does wrong leaves its match types
    unknown, which makes policies of those types load errors. SystemExit is part of it:
    a plugin must not choose the exit status of `redlane validate`.
    """
    try:
        # What a plugin prints must not mix with the JSON that a command prints.
        with contextlib.redirect_stdout(sys.stderr):
            offered = _offers_of(entry_point.load())
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        reason = one_line(error)
        return report_of(distribution, entry_point.name, reason), _Offers()
    return _reported(report_of(distribution, entry_point.name), offered), offered


def _load_given(plugin: object) -> tuple[PluginReport, _Offers]:
    """What a plugin offers that no entry point names."""
    name = str(getattr(plugin, "__name__", type(plugin).__name__))
    offered = _offers_of(plugin)
    return _reported(PluginReport(name, "what was given", "", ""), offered), offered


def _is_one_of(given: Sequence[object], entry_point: EntryPoint) -> bool:
    """Whether an entry point leads to a plugin that was given already."""
    found: object = sys.modules.get(entry_point.module)
    for name in filter(None, (entry_point.attr or "").split(".")):
        found = getattr(found, name, None)
    return any(each is found for each in given)


def _offers_of(plugin: object) -> _Offers:
    """What a plugin offers, each checked for the members that it must have.

    Each plugin has a manager of its own, so that none meets the others.
    """
    wanted, hooks = hooks_of(plugin)
    types = answer_of(hooks.redlane_match_types, match_type_problem)
    return _Offers(
        wanted,
        tuple(PreparedType(each) if is_prepared(each) else each for each in types),
        answer_of(hooks.redlane_contexts, context_problem),
        answer_of(hooks.redlane_reviewers, reviewer_problem),
    )


def hooks_of(plugin: object) -> tuple[str, Any]:
    """The API version that a plugin wants, and its hooks; may raise anything."""
    wanted = getattr(plugin, "redlane_api", FIRST_API)
    problem = version_problem(wanted)
    if problem:
        raise ImportError(problem)
    manager = pluggy.PluginManager(ENTRY_POINT_GROUP)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name="plugin")
    manager.check_pending()
    return wanted, manager.hook


def answer_of(
    hook: Callable[[], Iterable[Iterable[Any]]],
    problem_of: Callable[[Any], str | None],
) -> tuple[Any, ...]:
    """What one hook of one plugin answers; raises TypeError for another shape."""
    offered = tuple(each for answer in hook() for each in answer)
    problem = next(filter(None, map(problem_of, offered)), None)
    if problem:
        raise TypeError(problem)
    return offered


def _reported(origin: PluginReport, offered: _Offers) -> PluginReport:
    return replace(
        origin,
        api=offered.api,
        match_types=tuple(each.name for each in offered.match_types),
        contexts=tuple(str(each.name) for each in offered.contexts),
        reviewers=tuple(each.name for each in offered.reviewers),
    )
