"""The built-in policies: Blocks that no Allow overrides (policy format: Actions).

They are judged first, for every role.
"""

from collections.abc import Callable
from dataclasses import dataclass

from redlane.engine.hiding import reads_hidden
from redlane.engine.own_files import touches_own_files
from redlane.engine.places import changes_outside
from redlane.engine.session_variables import changes_session_variables
from redlane.model.content import Content
from redlane.model.policy import Context

__all__ = ["BUILTINS", "Builtin", "first_builtin"]


@dataclass(frozen=True, slots=True)
class Builtin:
    """A Block that is part of the program."""

    id: str
    description: str
    contexts: frozenset[Context]
    reason: str
    suggestion: str | None
    matches: Callable[[Content], bool]


BUILTINS = (
    Builtin(
        id="builtin:session-variables",
        description=(
            "Blocks commands that assign or unset REDLANE_SESSION or REDLANE_SOCKET, "
            "the variables that bind a process to its session. Reading them is free."
        ),
        contexts=frozenset({Context.SHELL}),
        reason="the variables that bind a process to its session stay as they are",
        suggestion="leave REDLANE_SESSION and REDLANE_SOCKET alone; reading is free",
        matches=changes_session_variables,
    ),
    Builtin(
        id="builtin:own-files",
        description=(
            "Blocks system calls by which a supervised session would change Redlane's "
            "policies, roles, settings or sockets, or read its event log."
        ),
        contexts=frozenset({Context.SYSCALL}),
        reason="the files that a session is judged by are out of its reach",
        suggestion="change them from outside of the session",
        matches=touches_own_files,
    ),
    Builtin(
        id="builtin:writable",
        description=(
            "Blocks system calls by which a session would make, change or remove files "
            "elsewhere than its role's `writable` says."
        ),
        contexts=frozenset({Context.SYSCALL}),
        reason="the session may not write there: its role says where it may",
        suggestion="write below the working directory, or to a temporary directory",
        matches=changes_outside,
    ),
    Builtin(
        id="builtin:hidden",
        description=(
            "Blocks system calls by which a session would read, move or link what its "
            "role's `hidden` names, unless a program that owns it makes them."
        ),
        contexts=frozenset({Context.SYSCALL}),
        reason="the session may not read that: its role hides it",
        suggestion="go on without it, or ask a person for what is needed",
        matches=reads_hidden,
    ),
)
"""Every built-in policy, in the order in which they are asked."""


def first_builtin(content: Content) -> Builtin | None:
    """The first built-in policy that blocks `content`."""
    for builtin in BUILTINS:
        if content.context in builtin.contexts and builtin.matches(content):
            return builtin
    return None
