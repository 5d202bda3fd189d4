"""The loop's quick half: plain calls on files that are answered without Python.

The extension `_hot` receives calls, and answers those that are plain and whose ruling
it knows: opens, also of what is made by it, removals, new directories, and renames of
what is no directory. A plain one without a ruling comes here with its paths read and
resolved, to be ruled on; any other comes as it is, untouched, for its handler. So what
a call does, and which of them policies get to see, is the same with the extension and
without.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from redlane_context_syscall.calls import GIVEN, Answer, Handler
from redlane_context_syscall.deciding import Decisions
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.world import World

if TYPE_CHECKING:
    from redlane_context_syscall._hot import HotLoop

__all__ = ["HotSource", "is_built"]

_Question = tuple[bytes, bytes, bytes, bool, int]
"""A plain call that nobody has ruled on: its notification, its path as written and as
it is in truth (empty where nothing is there), whether that is changed, and what to name
it by. Of a call with two paths both are there, with a NUL between them."""

_Paths = tuple[bytes, ...]

_RENAMES = ("rename", "renameat", "renameat2")
_CALLS = (
    *("open", "openat", "mkdir", "mkdirat", "unlink", "unlinkat", "rmdir"),
    *_RENAMES,
)
"""The calls that the extension answers."""


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

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: Decisions,
        *,
        moves_freely: Callable[[str], bool],
    ) -> None:
        """Stand before `listener`; raises ImportError where nothing was built.

        `moves_freely` tells of a call that renames whether no more is to be judged of
        it than its two paths.
        """
        loop = _hot_loop()
        if loop is None:
            raise ImportError("the extension _hot was not built")
        polls = not Features.of_this_kernel().tells_of_the_end
        self._hot = loop(listener.fileno(), polls=polls)
        self._listener = listener
        self._world = world
        self._decisions = decisions
        self._moves_freely = moves_freely
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
        """Handlers by number, with what is done here before those of our calls."""
        before = dict(handlers)
        for name in _CALLS:
            number = number_of(name)
            if number in before:
                before[number] = self._before(name, before[number])
        return before

    def _before(self, name: str, handler: Handler) -> Handler:
        """A handler of calls that may come half done.

        Refusals and flags are left to `handler` to report, slow rulings to await, and
        whatever else comes up to do from the start. One function: every first open of
        a file comes this way.
        """
        asked, allow, decisions = self._asked, self._hot.allow, self._decisions
        renames, moves_freely = name in _RENAMES, self._moves_freely

        def handle(notification: Notification) -> Answer:
            question = asked.pop(notification.id, None)
            if question is None or decisions.is_slow(name):
                return handler(notification)
            _, literal, canonical, changes, token = question
            if renames:
                if not moves_freely(name):
                    return handler(notification)
                paths, changed = _both(literal, canonical)
            else:
                paths = (literal, canonical)
                # As `Request` has it: nothing is there, or the path is canonical.
                if canonical in (b"", literal):
                    paths = paths[:1]
                changed = (canonical,) if changes else ()
            ruling = decisions.ruling(notification, name, paths, changed)
            if ruling.allowed and not ruling.flagged and allow(token, ruling.lasting):
                return GIVEN
            return handler(notification)

        return handle


def _both(literal: bytes, canonical: bytes) -> tuple[_Paths, _Paths]:
    """What is judged of a call with two paths, and what of that it changes."""
    changed = tuple(canonical.split(b"\0"))
    return tuple(dict.fromkeys((*literal.split(b"\0"), *changed))), changed
