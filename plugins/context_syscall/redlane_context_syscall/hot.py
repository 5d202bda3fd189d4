"""The loop's quick half: plain opens that were allowed before, answered without Python.

The extension `_hot` receives calls, and answers those that are plain and whose ruling
it knows. A plain one without a ruling comes here with its paths read and resolved, to
be ruled on; any other comes as it is, untouched, for its handler. So what a call does,
and which of them policies get to see, is the same with the extension and without.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from errno import ENOENT
from typing import TYPE_CHECKING

from redlane_context_syscall.calls import Answer, Descriptor, Failure, Handler
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.world import World

if TYPE_CHECKING:
    from redlane_context_syscall._hot import HotLoop

__all__ = ["HotSource", "is_built"]

_FLAGS_AT = {"open": 1, "openat": 2}
"""The calls that the extension answers, and which argument their flags are."""

_FLAGS = 0xFFFFFFFF


def is_built() -> bool:
    """Whether the extension was built for this machine."""
    return _hot_loop() is not None


def _hot_loop() -> "type[HotLoop] | None":
    try:
        from redlane_context_syscall._hot import HotLoop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return HotLoop


@dataclass(frozen=True, slots=True)
class _Asked:
    """A plain open that nobody has ruled on: its paths, and the file as O_PATH.

    `pin` is -1, and `canonical` empty, where nothing is there.
    """

    literal: bytes
    canonical: bytes
    pin: int
    epoch: int

    @property
    def candidates(self) -> tuple[bytes, ...]:
        """What is judged; see `Request.check` and `Request.resolved`."""
        if self.canonical in (b"", self.literal):
            return (self.literal,)
        return self.literal, self.canonical


class HotSource:
    """Receives in the listener's place, and keeps what is plain from the loop.

    Only while every task is what the supervisor is: see `World.is_one`.
    """

    def __init__(self, listener: Listener, world: World, decisions: Decisions) -> None:
        """Stand before `listener`; raises ImportError where nothing was built."""
        loop = _hot_loop()
        if loop is None:
            raise ImportError("the extension _hot was not built")
        polls = not Features.of_this_kernel().tells_of_the_end
        self._hot = loop(listener.fileno(), polls=polls)
        self._listener = listener
        self._world = world
        self._decisions = decisions
        self._asked: dict[int, _Asked] = {}
        world.on_parting(self._hot.stand_down)

    def forget(self) -> None:
        """Ask again about everything: the rules have changed."""
        self._hot.forget()

    def receive(self) -> Notification | None:
        """The next call that is not answered already; None when nobody is left."""
        if not self._world.is_one:
            return self._listener.receive()
        received = self._hot.serve()
        if received is None:  # a signal, or the end: the listener knows
            return self._listener.receive()
        notification = Notification.unpacked(received[0])
        if len(received) > 1:
            self._asked[notification.id] = _Asked(*received[1:])
        return notification

    def handlers(self, handlers: Mapping[int, Handler]) -> dict[int, Handler]:
        """Handlers by number, those of opens with what is done here before them."""
        before = dict(handlers)
        for name, flags_at in _FLAGS_AT.items():
            number = number_of(name)
            if number in before:
                before[number] = _Opening(self, name, flags_at, before[number])
        return before

    def answer(
        self, notification: Notification, name: str, flags: int
    ) -> Answer | None:
        """What a plain open gets; None for its handler to do it from the start."""
        asked = self._asked.pop(notification.id, None)
        if asked is None:
            return None
        try:
            return self._judged(notification, name, flags, asked)
        finally:
            if asked.pin >= 0:
                os.close(asked.pin)

    def _judged(
        self, notification: Notification, name: str, flags: int, asked: _Asked
    ) -> Answer | None:
        """Refusals and flags are the handler's to report, and slow rulings to await."""
        decisions = self._decisions
        if decisions.is_slow(name):
            return None
        ruling = decisions.ruling(notification, name, asked.candidates)
        if not ruling.allowed or ruling.flagged:
            return None
        if ruling.lasting:
            number = notification.number
            self._hot.remember(number, asked.literal, asked.canonical, asked.epoch)
        if asked.pin < 0:
            return Failure(ENOENT)
        try:
            file = self._hot.reopen(asked.pin, asked.canonical, flags)
        except OSError:
            return None
        return Descriptor(file, bool(flags & os.O_CLOEXEC))


class _Opening:
    """The handler of an open that may come half done."""

    def __init__(
        self, source: HotSource, name: str, flags_at: int, handler: Handler
    ) -> None:
        self._source = source
        self._name = name
        self._flags_at = flags_at
        self._handler = handler

    def __call__(self, notification: Notification) -> Answer:
        """The answer to one notification."""
        flags = notification.args[self._flags_at] & _FLAGS
        answer = self._source.answer(notification, self._name, flags)
        return self._handler(notification) if answer is None else answer
