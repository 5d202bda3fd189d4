"""The loop's quick half: plain opens that were allowed before, answered without Python.

The extension `_hot` receives calls, and answers those that are plain and whose ruling
it knows. A plain one without a ruling comes here with its paths read and resolved, to
be ruled on; any other comes as it is, untouched, for its handler. So what a call does,
and which of them policies get to see, is the same with the extension and without.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from redlane_context_syscall.calls import GIVEN, Answer, Handler
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.flags import is_changing
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.world import World

if TYPE_CHECKING:
    from redlane_context_syscall._hot import HotLoop

__all__ = ["HotSource", "is_built"]

_Question = tuple[bytes, bytes, bytes, int]
"""A plain open that nobody has ruled on: its notification, its path as written and as
it is in truth (empty where nothing is there), and what to name it by."""

_FLAGS_AT = {"open": 1, "openat": 2}
"""The calls that the extension answers, and which argument has their flags."""


def is_built() -> bool:
    """Whether the extension was built for this machine."""
    return _hot_loop() is not None


def _hot_loop() -> "type[HotLoop] | None":
    try:
        from redlane_context_syscall._hot import HotLoop  # noqa: PLC0415  # optional
    except ImportError:
        return None
    return HotLoop


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
        self._asked: dict[int, _Question] = {}
        self._has_stood_down = False
        world.on_parting(self._hot.stand_down)

    def forget(self) -> None:
        """Ask again about everything: the rules have changed."""
        self._hot.forget()

    def stand_down(self) -> None:
        """Leave everything to the loop from now on."""
        self._has_stood_down = True
        self._hot.stand_down()

    def answering(self) -> int:
        """The id of the call that is being answered without Python; 0: none."""
        return self._hot.answering()

    def calls(self) -> int:
        """How many calls have been received without Python."""
        return self._hot.calls()

    def wake_by(self, descriptor: int) -> None:
        """Have an eventfd written to with the next call."""
        self._hot.wake_by(descriptor)

    def receive(self) -> Notification | None:
        """The next call that is not answered already; None when nobody is left."""
        if self._has_stood_down or not self._world.is_one:
            return self._listener.receive()
        received = self._hot.serve()
        if received is None:  # a signal, the end, or another is at it
            return self._listener.receive()
        notification = Notification.unpacked(received[0])
        if len(received) > 1:
            self._asked[notification.id] = received
        return notification

    def handlers(self, handlers: Mapping[int, Handler]) -> dict[int, Handler]:
        """Handlers by number, those of opens with what is done here before them."""
        before = dict(handlers)
        for name in _FLAGS_AT:
            number = number_of(name)
            if number in before:
                before[number] = self._opening(name, before[number])
        return before

    def _opening(self, name: str, handler: Handler) -> Handler:
        """A handler of opens that may come half done.

        Refusals and flags are left to `handler` to report, slow rulings to await, and
        whatever else comes up to do from the start. One function: every first open of
        a file comes this way.
        """
        asked, allow, decisions = self._asked, self._hot.allow, self._decisions
        flags_at = _FLAGS_AT[name]

        def opening(notification: Notification) -> Answer:
            question = asked.pop(notification.id, None)
            if question is None or decisions.is_slow(name):
                return handler(notification)
            _, literal, canonical, token = question
            # As `Request` has it: nothing is there, or the path is canonical itself.
            paths = (literal,) if canonical in (b"", literal) else (literal, canonical)
            changes = canonical and is_changing(notification.args[flags_at])
            changed = (canonical,) if changes else ()
            ruling = decisions.ruling(notification, name, paths, changed)
            if ruling.allowed and not ruling.flagged and allow(token, ruling.lasting):
                return GIVEN
            return handler(notification)

        return opening
