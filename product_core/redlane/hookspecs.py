"""The hooks that a plugin implements; each is called once, when Redlane starts.

A plugin is a distribution with an entry point in the group `redlane` that names a
module or object with functions marked by `redlane.api.hookimpl`.
"""

from collections.abc import Iterable

import pluggy

from redlane.model.matching import MatchType
from redlane.model.supervision import ContextService

__all__ = ["ENTRY_POINT_GROUP", "hookimpl", "redlane_contexts", "redlane_match_types"]

ENTRY_POINT_GROUP = "redlane"

hookspec = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hookimpl = pluggy.HookimplMarker(ENTRY_POINT_GROUP)


@hookspec
def redlane_match_types() -> Iterable[MatchType]:  # type: ignore[empty-body]  # a specification has no body
    """The match types that this plugin adds."""


@hookspec
def redlane_contexts() -> Iterable[ContextService]:  # type: ignore[empty-body]  # a specification has no body
    """The contexts that this plugin adds."""
