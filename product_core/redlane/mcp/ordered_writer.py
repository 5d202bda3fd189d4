"""One direction: messages go out in the order in which they came, held ones apart.

A request or a response that is held is overtaken by others, as their ids allow.
Notifications have no ids: what comes behind a held one waits for it.
"""

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from redlane.contexts.mcp.frames import MessageFrame

__all__ = ["OrderedWriter", "Sink", "Slot", "Writer"]


@dataclass(slots=True, eq=False)
class Slot:
    """The place of a held message among what goes out; `data` once it is known."""

    data: bytes | None = None
    is_kept: bool = True


class Sink(Protocol):
    """Takes bytes, and keeps what does not go yet."""

    @property
    def pending(self) -> int:
        """How many bytes are kept."""

    def write(self, data: bytes) -> None:
        """Send `data` behind all that was to be sent before."""


class Writer(Protocol):
    """Where a message goes once it is decided."""

    def send(self, data: bytes) -> None:
        """Send a message; empty: nothing comes of it."""

    def hold(self, frame: MessageFrame) -> Slot:
        """Wait for a message that is held."""

    def fill(self, place: Slot, data: bytes) -> None:
        """Send what `place` was waited for; empty: nothing comes of it."""

    def tell(self, data: bytes) -> None:
        """Send a message that nobody else has sent, where such may be sent."""
        del data


class OrderedWriter:
    """What goes to one side."""

    def __init__(self, sink: Sink) -> None:
        """Write to `sink`."""
        self._sink = sink
        self._waiting: deque[Slot] = deque()
        self._bytes = 0

    @property
    def pending(self) -> int:
        """How many bytes wait to go out."""
        return self._sink.pending + self._bytes

    @property
    def is_empty(self) -> bool:
        """Whether all of it is out."""
        return not self.pending and not self._waiting

    def send(self, data: bytes) -> None:
        """Send a message, behind what is held if that must not be overtaken."""
        if not self._waiting:
            self._sink.write(data)
            return
        self._waiting.append(Slot(data))
        self._bytes += len(data)

    def tell(self, data: bytes) -> None:
        """Send a message that nobody else has sent: it overtakes what is held."""
        self._sink.write(data)

    def hold(self, frame: MessageFrame) -> Slot:
        """Keep a place, before which nothing goes out if it must not be overtaken."""
        return self.keep() if frame.is_ordered else Slot(is_kept=False)

    def keep(self) -> Slot:
        """Keep a place, before which nothing goes out that comes later."""
        place = Slot()
        self._waiting.append(place)
        return place

    def fill(self, place: Slot, data: bytes) -> None:
        """Send what the place was kept for, perhaps nothing, and what waited for it."""
        if not place.is_kept:
            self.send(data)
            return
        place.data = data
        self._bytes += len(data)
        while self._waiting and (ready := self._waiting[0].data) is not None:
            self._waiting.popleft()
            self._bytes -= len(ready)
            self._sink.write(ready)
