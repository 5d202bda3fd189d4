"""Calls that policies name and that the kernel does itself: judged, then let go on.

The kernel reads paths and addresses once more from memory that another thread may have
changed meanwhile, so these are advisory (policy format: Syscall policy rule 7).
"""

import os
from collections.abc import Callable
from errno import EPERM

from redlane_context_syscall.calls import GO_ON, Answer, Value
from redlane_context_syscall.candidates import candidates_of
from redlane_context_syscall.deciding import Candidates
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.numbers import name_of
from redlane_context_syscall.request import Rules
from redlane_context_syscall.scripts import interpreters
from redlane_context_syscall.target import Target
from redlane_context_syscall.world import World

__all__ = ["Advisory", "never"]

_EXECUTING = ("execve", "execveat")


def _nothing(_thread: int, _name: str, _candidates: Candidates) -> None:
    """Tell nobody."""


def never(_name: str, _arguments: tuple[int, ...]) -> int | None:
    """Settle no call."""
    return None


class Advisory:
    """Asks policies about a call by its name, its paths and its addresses."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: Rules,
        *,
        blocking: Callable[[Notification], None],
        refusal: Callable[[str, tuple[int, ...]], int | None] = never,
        going_on: Callable[[int, str, Candidates], None] = _nothing,
    ) -> None:
        """`refusal` tells the errno of a call that is not done, whatever is ruled.

        `going_on` is told of a thread whose call is left to the kernel, and as what it
        was judged; it may still raise OSError.
        """
        self._listener = listener
        self._world = world
        self._decisions = decisions
        self._blocking = blocking
        self._refusal = refusal
        self._going_on = going_on

    def __call__(self, notification: Notification) -> Answer:
        """Judge; the kernel does what is allowed."""
        name = name_of(notification.number)
        if name is None:
            raise PermissionError(EPERM, f"nothing is known of {notification.number}")
        decisions = self._decisions
        if decisions.is_slow(name):
            self._blocking(notification)
        target = Target(notification, self._listener, self._world)
        candidates = candidates_of(target, name)
        decisions.check(notification, name, candidates)
        if name in _EXECUTING:
            for program in interpreters(target, name):
                decisions.check(notification, name, program)
        refused = self._refusal(name, notification.args)
        if refused == 0:
            return Value()
        if refused is not None:
            raise OSError(refused, os.strerror(refused))
        self._going_on(notification.pid, name, candidates)
        return GO_ON
