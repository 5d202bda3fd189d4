"""The hooks that a plugin implements; each is called once, when Redlane starts.

A plugin is a distribution with an entry point in the group `redlane` that names a
module or object with functions marked by `redlane.api.hookimpl`. Commands have a group
of their own, whose names are those of the commands: one is found, and listed in the
help, without anything of any plugin imported.
"""

from collections.abc import Iterable

import pluggy

from redlane.model.commands import CommandGroup
from redlane.model.matching import MatchType, PreparedMatchType
from redlane.model.plugin_api import API_VERSION, COMMANDS_GROUP, ENTRY_POINT_GROUP
from redlane.model.reviewing import Reviewer
from redlane.model.serving import ServedContext
from redlane.model.supervision import ContextService

__all__ = [
    "API_VERSION",
    "COMMANDS_GROUP",
    "ENTRY_POINT_GROUP",
    "hookimpl",
    "redlane_commands",
    "redlane_contexts",
    "redlane_match_types",
    "redlane_reviewers",
]


hookspec = pluggy.HookspecMarker(ENTRY_POINT_GROUP)
hookimpl = pluggy.HookimplMarker(ENTRY_POINT_GROUP)


@hookspec
def redlane_match_types() -> Iterable[MatchType | PreparedMatchType]:  # type: ignore[empty-body]  # a specification has no body
    """The match types that this plugin adds."""


@hookspec
def redlane_contexts() -> Iterable[ContextService | ServedContext]:  # type: ignore[empty-body]  # a specification has no body
    """The contexts that this plugin adds."""


@hookspec
def redlane_commands() -> Iterable[CommandGroup]:  # type: ignore[empty-body]  # a specification has no body
    """The commands of this plugin; asked of entry points in `redlane.commands`."""


@hookspec
def redlane_reviewers() -> Iterable[Reviewer]:  # type: ignore[empty-body]  # a specification has no body
    """The reviewers that this plugin adds."""
