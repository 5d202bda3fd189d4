"""What a client asks without a message: a stream, or the end of its session."""

from http import HTTPStatus

from redlane.contexts.mcp.answers import abandoned
from redlane.contexts.mcp.frames import MessageFrame
from redlane.mcp.front.context import MESSAGES
from redlane.mcp.front.events import Event, spelt
from redlane.mcp.front.exchange import Exchange
from redlane.mcp.ordered_writer import OrderedWriter, Slot, Writer

__all__ = ["Ending", "Listening"]

_SUCCESS = 2


class _Bodiless(Exchange):
    """What has no message, and gets none in place of a stream."""

    def take_body(self, status: int, body: bytes) -> None:
        """Pass on how it went; what else is said is not passed on."""
        del body
        why = f"MCP server {self.context.name} answers {status}"
        told = b"" if status // 100 == _SUCCESS else abandoned(None, why)
        self.reply.say(status, self.fields, told.removesuffix(b"\n"))

    def fail(self, reason: str, status: int = HTTPStatus.BAD_GATEWAY) -> None:
        """Say why there is nothing; a stream ends so that the client sees it."""
        if self.reply.is_over:
            return
        why = f"MCP server {self.context.name} {reason}"
        if self.call is not None:
            self.call.give_up()
            self.call = None
        if self.reply.is_begun:
            self.context.note(f"{why}: its stream is ended")
            self.reply.cut()
        else:
            self.reply.say(status, (), abandoned(None, why).removesuffix(b"\n"))


class Listening(_Bodiless):
    """One GET: a standing stream, one that is resumed, or a session of HTTP+SSE."""

    _token = ""

    def start(self) -> None:
        """Ask the server for the stream."""
        self.ask("GET", self.context.target, None)

    def endpoint(self, reference: str) -> str | None:
        """Take messages for what the server says, once and at its own address."""
        passing, target = self.passing, self.context.target.endpoint(reference)
        if self._token or passing is None or self.request.head.has("mcp-session-id"):
            return None
        if target is None:
            self.fail("wants messages at another address than its own")
            return None
        self.session.target = target
        self.session.to_client = _Events(passing.stream)
        self._token = self.context.sessions.open_stream(self.session)
        return MESSAGES + self._token

    def take_body(self, status: int, body: bytes) -> None:
        """What is no stream is no answer."""
        if status // 100 == _SUCCESS:
            self.fail("answers with no stream of events")
        else:
            super().take_body(status, body)

    def settle(self) -> None:
        """End as the server has, if it has and nothing is held."""
        if self.call is None and not self.is_held:
            if self.problem is None:
                self.reply.end()
            else:
                self.reply.cut()

    def finish(self) -> None:
        """Let go of everything, and of the session if the stream was it."""
        self.context.sessions.close_stream(self._token)
        super().finish()


class Ending(_Bodiless):
    """One DELETE: the session is to end."""

    def start(self) -> None:
        """Ask the server."""
        self.ask("DELETE", self.context.target, None)

    def take_body(self, status: int, body: bytes) -> None:
        """Forget the session when the server has."""
        if status // 100 == _SUCCESS:
            self.context.sessions.drop(self.request.head.get("mcp-session-id"))
        super().take_body(status, body)

    def settle(self) -> None:
        """Nothing passes here that could be held."""

    def _is_wanted(self, kind: str) -> bool:
        del kind
        return False


class _Events(Writer):
    """To a client of HTTP+SSE, outside of what the server sends."""

    def __init__(self, stream: OrderedWriter) -> None:
        self._stream = stream

    def send(self, data: bytes) -> None:
        if data:
            event = Event(data.removesuffix(b"\n"), "message")
            self._stream.send(spelt(event))

    def hold(self, frame: MessageFrame) -> Slot:
        return self._stream.hold(frame)

    def fill(self, place: Slot, data: bytes) -> None:
        self._stream.fill(place, data)

    def tell(self, data: bytes) -> None:
        self._stream.tell(spelt(Event(data.removesuffix(b"\n"), "message")))
