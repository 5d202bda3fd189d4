"""A call on names that is done in the caller's place: read once, judged, then done."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EEXIST, EFAULT
from typing import NoReturn, Protocol

from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.calls import GO_ON, Answer
from redlane_context_syscall.foreign import candidates_abroad
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.request import Rules
from redlane_context_syscall.resolve import DirectoryEntry
from redlane_context_syscall.target import Target
from redlane_context_syscall.walking import failure
from redlane_context_syscall.world import World

__all__ = ["EmulatedCall", "EmulatedCalls", "NameRules", "Written", "text"]

Written = bytes | OSError
"""A path as read, or why it cannot be."""


class NameRules(Rules, Protocol):
    """Where rulings come from, also on what a call would bring about (`Decisions`)."""

    def would_block(
        self,
        notification: Notification,
        name: str,
        candidates: tuple[bytes | None, ...],
        changed: tuple[bytes | None, ...] = (),
    ) -> bool:
        """Whether such a call of the same process would be refused; reports nothing."""
        ...


class EmulatedCall:
    """A call by its name, and the paths that it was given."""

    __slots__ = ("_rules", "_told_as", "literals", "name", "target")

    def __init__(
        self, target: Target, name: str, rules: NameRules, told_as: bytes = b""
    ) -> None:
        """`told_as` is what policies see before each true path."""
        self.target = target
        self.name = name
        self._rules = rules
        self._told_as = told_as
        self.literals: tuple[bytes | None, ...] = ()
        """What was read."""

    def read(self, pointer: int) -> Written:
        """The path at an address of the caller's memory; to be read only once."""
        try:
            path = self.target.read_string(pointer)
        except PermissionError:
            self.refuse("its memory is closed to the supervisor")
        except OSError as error:
            if error.errno == EFAULT:  # what is too long was read, and is no path
                self.literals += (None,)
            return error
        self.literals += (path,)
        return path

    def take(self, *literals: bytes | None) -> None:
        """Have these judged as what was read, None for what cannot be."""
        self.literals += literals

    def check(
        self, *canonical: bytes | None, changed: tuple[bytes | None, ...] = ()
    ) -> None:
        """Have the paths judged as they were written, and as they are in truth.

        `changed` are those of the latter that the call would make, change or remove.
        """
        candidates = self._candidates(canonical)
        self._rules.check(self.target.notification, self.name, candidates, changed)

    def check_removed(self, there: DirectoryEntry, *others: DirectoryEntry) -> None:
        """Have a name judged that is to go, and `others` that are to come in its place.

        Raises FileNotFoundError where there is none, and it must not go.
        """
        with self.acting():
            unseen = there.unseen()
        paths = (there.canonical, *(each.canonical for each in others))
        if isinstance(unseen, FileNotFoundError):
            self._check_vain(paths, paths, unseen)
        else:
            self.check(*paths, changed=paths)

    def check_made(
        self,
        there: DirectoryEntry,
        *,
        also: tuple[bytes | None, ...] = (),
        seen: tuple[bytes | None, ...] = (),
    ) -> None:
        """Have a name judged that is to be made, and what it could change `also`.

        Raises OSError where it is taken, and must not be made. What is `seen` by the
        way is judged too, and not changed.
        """
        with self.acting():
            unseen = there.unseen()
        paths = (*also, there.canonical)
        if isinstance(unseen, FileNotFoundError):
            self.check(*seen, *paths, changed=paths)
        else:
            self._check_vain((*seen, *paths), paths, unseen or failure(EEXIST))

    def _check_vain(
        self,
        canonical: tuple[bytes | None, ...],
        changed: tuple[bytes | None, ...],
        error: OSError,
    ) -> None:
        """Judge what changes nothing as things are, and fails with `error`.

        They may have come to be otherwise when the kernel looks: a socket or a core
        file comes without us. So it is asked only for what may change, and the error
        told for what may not: who looks for such a file learns what is so.
        """
        candidates = self._candidates(canonical)
        notification = self.target.notification
        if self._rules.would_block(notification, self.name, candidates, changed):
            self.check(*canonical)
            raise error
        self.check(*canonical, changed=changed)

    def _candidates(
        self, canonical: tuple[bytes | None, ...]
    ) -> tuple[bytes | None, ...]:
        """Each path once, as it was written and as it is in truth."""
        told = (each and self._told_as + each for each in canonical)
        return tuple(dict.fromkeys((*self.literals, *told)))

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
        self._rules.refuse(self.target.notification, self.name, reason, self.literals)

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
            if isinstance(path, OSError):  # the kernel would read it once more
                self.check()
                raise path
            found += candidates_abroad(self.target, directory, path, follow=follow)
        self.check(*found, changed=tuple(found))
        return GO_ON


class EmulatedCalls:
    """Makes the emulated calls of one session's calls."""

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

    def begin(
        self, notification: Notification, name: str, *, told_as: bytes = b""
    ) -> EmulatedCall:
        """An emulated call for this call."""
        if self._rules.is_slow(name):
            self._blocking(notification)
        target = Target(notification, self._listener, self._world)
        return EmulatedCall(target, name, self._rules, told_as)


def text(path: Written) -> bytes:
    """The path; raises OSError for what could not be read."""
    if isinstance(path, OSError):
        raise path
    return path
