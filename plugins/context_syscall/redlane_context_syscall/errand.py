"""A call on names that is done in the caller's place: read once, judged, then done."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, Protocol

from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.calls import GO_ON, Answer
from redlane_context_syscall.foreign import candidates_abroad
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.request import Rules
from redlane_context_syscall.target import Target
from redlane_context_syscall.world import World

__all__ = ["Errand", "Errands", "NameRules", "Written", "text"]

Written = bytes | OSError
"""A path as read, or why it cannot be."""


class NameRules(Rules, Protocol):
    """Where rulings come from, also on what a call would bring about (`Decisions`)."""

    def would_block(
        self,
        notification: Notification,
        name: str,
        candidates: tuple[bytes | None, ...],
    ) -> bool:
        """Whether such a call of the same process would be refused; reports nothing."""
        ...


class Errand:
    """A call by its name, and the paths that it was given."""

    __slots__ = ("_literals", "_rules", "name", "target")

    def __init__(self, target: Target, name: str, rules: NameRules) -> None:
        self.target = target
        self.name = name
        self._rules = rules
        self._literals: tuple[bytes | None, ...] = ()

    def read(self, pointer: int) -> Written:
        """The path at an address of the caller's memory; to be read only once."""
        try:
            path = self.target.read_string(pointer)
        except PermissionError:
            self.refuse("its memory is closed to the supervisor")
        except OSError as error:
            self._literals += (None,)
            return error
        self._literals += (path,)
        return path

    def check(self, *canonical: bytes | None) -> None:
        """Have the paths judged as they were written, and as they are in truth."""
        candidates = tuple(dict.fromkeys((*self._literals, *canonical)))
        self._rules.check(self.target.notification, self.name, candidates)

    def fail(self, code: int) -> NoReturn:
        """Fail with an errno before any path is looked at, unless it is refused."""
        self.check()
        raise OSError(code, os.strerror(code))

    @contextmanager
    def resolving(self) -> Iterator[None]:
        """Look paths up as the caller; those that lead nowhere are judged as written.

        So a refusal is a refusal whether or not there is something to be refused.
        """
        try:
            with adopted(self.target):
                yield
        except UnfaithfulError as error:
            self.refuse(error.reason)
        except OSError:
            self.check()
            raise

    @contextmanager
    def acting(self) -> Iterator[None]:
        """Do what was asked for, as the caller."""
        try:
            with adopted(self.target):
                yield
        except UnfaithfulError as error:
            self.refuse(error.reason)

    def refuse(self, reason: str) -> NoReturn:
        """Refuse what cannot be done faithfully."""
        self._rules.refuse(self.target.notification, self.name, reason, self._literals)

    def left(self, *paths: tuple[int, Written, bool]) -> Answer | None:
        """The answer to a caller to whom paths mean something else; None to another.

        Each of `paths` is a directory register, a path and whether it is followed. In
        sessions that may enter namespaces, the kernel does what is allowed.
        """
        reason = self.target.foreign()
        if not reason:
            return None
        if not self.target.world.allows_namespaces:
            self.refuse(reason)
        found: list[bytes | None] = []
        for directory, path, follow in paths:
            if isinstance(path, bytes):
                found += candidates_abroad(self.target, directory, path, follow=follow)
        self.check(*found)
        return GO_ON


class Errands:
    """Makes the errands of one session's calls."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        rules: NameRules,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._listener = listener
        self._world = world
        self._rules = rules
        self._blocking = blocking

    def begin(self, notification: Notification, name: str) -> Errand:
        """An errand for this call."""
        if self._rules.is_slow(name):
            self._blocking(notification)
        target = Target(notification, self._listener, self._world)
        return Errand(target, name, self._rules)


def text(path: Written) -> bytes:
    """The path; raises OSError for what could not be read."""
    if isinstance(path, OSError):
        raise path
    return path
