"""What a client is answered: JSON at once, or a stream of events."""

from collections.abc import Callable, Sequence
from http import HTTPStatus

from redlane.mcp.front.events import Event, spelt
from redlane.mcp.loop import Outlet
from redlane.wire.http1 import Field

__all__ = ["Reply"]

_JSON = ("Content-Type", "application/json")
_EVENTS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
)


class Reply:
    """The answer to one request; `done` is called once, when all of it is said."""

    def __init__(
        self, outlet: Outlet, done: Callable[[bool], None], *, is_last: bool
    ) -> None:
        """Say it to `outlet`; `done` is told whether the connection lives on."""
        self._outlet = outlet
        self._done = done
        self._is_last = is_last
        self.is_begun = False
        """Whether a stream of events has begun."""
        self.is_over = False
        self.written = 0
        """How many bytes were said."""

    @property
    def pending(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._outlet.pending

    def say(self, status: int, fields: Sequence[Field] = (), body: bytes = b"") -> None:
        """Answer with JSON, or with nothing, and be done."""
        if self.is_over:
            return
        if self.is_begun:
            self.write(spelt(Event(body)) if body else b"")
            self.end()
            return
        length = ("Content-Length", str(len(body)))
        bare = status == HTTPStatus.NO_CONTENT
        more = (*((_JSON,) if body else ()), *(() if bare else (length,)))
        self._head(status, (*_without(fields, more), *more))
        self._put(b"" if bare else body)
        self._finish(lives=not self._is_last)

    def begin(self, status: int, fields: Sequence[Field]) -> None:
        """Begin a stream of events, unless it has begun."""
        if self.is_begun or self.is_over:
            return
        self.is_begun = True
        more = (*_EVENTS, ("Transfer-Encoding", "chunked"))
        self._head(status, (*_without(fields, more), *more))

    def write(self, data: bytes) -> None:
        """Send a piece of the stream; events are spelt by who sends them."""
        if data and not self.is_over:
            self._put(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """Nothing more comes."""
        if not self.is_over:
            self._put(b"0\r\n\r\n")
            self._finish(lives=not self._is_last)

    def cut(self) -> None:
        """Nothing more comes, though more was to come: the client is to see that."""
        if not self.is_over:
            self._finish(lives=False)

    def _head(self, status: int, fields: Sequence[Field]) -> None:
        try:
            phrase = HTTPStatus(status).phrase
        except ValueError:
            phrase = "Other"
        lines = [f"HTTP/1.1 {status} {phrase}"]
        lines += [f"{name}: {value}" for name, value in fields]
        if self._is_last:
            lines.append("Connection: close")
        self._put("\r\n".join((*lines, "", "")).encode("latin-1"))

    def _put(self, data: bytes) -> None:
        self.written += len(data)
        self._outlet.write(data)

    def _finish(self, *, lives: bool) -> None:
        self.is_over = True
        self._done(lives)


def _without(fields: Sequence[Field], more: Sequence[Field]) -> list[Field]:
    """The fields but for those of which there are others."""
    names = {name.lower() for name, _ in more}
    return [each for each in fields if each[0].lower() not in names]
