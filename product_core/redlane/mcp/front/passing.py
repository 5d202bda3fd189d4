"""A stream of events from the server to a client, each message judged."""

from collections import deque
from collections.abc import Callable

from redlane.contexts.mcp.frames import MessageError, MessageFrame
from redlane.mcp.front.events import ALIVE, Event, Events, spelt
from redlane.mcp.front.reply import Reply
from redlane.mcp.ordered_writer import OrderedWriter, Slot, Writer
from redlane.mcp.server_side import ServerSide

__all__ = ["Passing"]

_MESSAGE = frozenset({"", "message"})
_ENDPOINT = "endpoint"
_MOST_HELD = 24


class Passing:
    """Takes the server's bytes, and writes events to the client."""

    def __init__(
        self,
        reply: Reply,
        answers: ServerSide,
        endpoint: Callable[[str], str | None],
        settled: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        """Judge by `answers`; `settled` is called when nothing is held any more.

        `endpoint` makes of where the server wants messages where we want them; None:
        it may not say so. `failed` is told what the server must not send.
        """
        self._reply = reply
        self._answers = answers
        self._endpoint = endpoint
        self._settled = settled
        self._failed = failed
        self._events = Events()
        self._waiting: deque[Event] = deque()
        self._waiting_bytes = 0
        self._held = 0
        self.stream = OrderedWriter(reply)
        self.can_be_resumed = False
        """Whether a client that lost it could ask for the rest."""

    @property
    def pending(self) -> int:
        """How much is kept."""
        return self._events.pending + self.behind

    @property
    def behind(self) -> int:
        """How much of what is whole has not gone out yet."""
        return self._waiting_bytes + self.stream.pending

    @property
    def is_held(self) -> bool:
        """Whether something waits for a decision, or to be asked about."""
        return bool(self._held or self._waiting)

    def feed(self, data: bytes) -> None:
        """Pass on what has come."""
        try:
            for event in self._events.feed(data):
                self._waiting.append(event)
                self._waiting_bytes += len(event.data)
        except MessageError as error:
            self._failed(f"sent {error}")
        self._go_on()

    def _go_on(self) -> None:
        """Have judged what waits, a few at a time: others want to ask, too."""
        try:
            while self._waiting and self._held < _MOST_HELD:
                event = self._waiting.popleft()
                self._waiting_bytes -= len(event.data)
                if not self._reply.is_over:
                    self._take(event)
        except MessageError as error:
            self._failed(f"sent {error}")

    def _take(self, event: Event) -> None:
        self.can_be_resumed |= bool(event.id)
        if event.name == _ENDPOINT and event.data:
            where = self._endpoint(event.data.decode("utf-8", "replace"))
            if where is not None:
                made = Event(where.encode(), _ENDPOINT, event.id, event.retry)
                self.stream.send(spelt(made))
                return
        if not event.data:
            if event.id is not None or event.retry is not None:
                self.stream.send(spelt(Event(b"", "", event.id, event.retry)))
            elif not self.stream.pending:
                self.stream.send(ALIVE)
        elif event.name in _MESSAGE:
            way = _EventWriter(self, event)
            self._answers.take(event.data, way, in_lines=False)
        else:
            self._answers.leave_out("an event that is no message")

    def put(self, event: Event, data: bytes) -> bytes:
        """The event with what became of its data; nothing without."""
        if not data:
            return b""
        made = Event(data.removesuffix(b"\n"), event.name, event.id, event.retry)
        return spelt(made)

    def hold(self) -> None:
        """One more is held."""
        self._held += 1

    def release(self) -> None:
        """One less."""
        self._held -= 1
        self._go_on()
        if not self.is_held:
            self._settled()


class _EventWriter(Writer):
    """Where one event goes.

    A client that resumes names the last event it had: with ids, none overtakes another.
    """

    def __init__(self, passing: Passing, event: Event) -> None:
        self._passing = passing
        self._event = event

    def send(self, data: bytes) -> None:
        self._passing.stream.send(self._passing.put(self._event, data))

    def hold(self, frame: MessageFrame) -> Slot:
        self._passing.hold()
        stream = self._passing.stream
        return stream.hold(frame) if self._event.id is None else stream.keep()

    def fill(self, place: Slot, data: bytes) -> None:
        self._passing.stream.fill(place, self._passing.put(self._event, data))
        self._passing.release()
