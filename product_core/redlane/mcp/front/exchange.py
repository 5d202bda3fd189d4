"""One request of a client that goes to the server, and what comes back."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from http import HTTPStatus

from redlane.contexts.mcp.frames import MOST_BYTES, MessageError, MessageFrame
from redlane.mcp.asked import Replayed
from redlane.mcp.front.context import FrontContext
from redlane.mcp.front.events import ALIVE
from redlane.mcp.front.fields import back, media_type, onward, value_of
from redlane.mcp.front.heads import HttpRequest
from redlane.mcp.front.memory import QuotaExceededError
from redlane.mcp.front.passing import Passing
from redlane.mcp.front.reply import Reply
from redlane.mcp.front.sessions import Session
from redlane.mcp.front.target import Target
from redlane.mcp.front.upstream import Call, Outgoing, Upstream
from redlane.mcp.ordered_writer import Slot, Writer
from redlane.mcp.pending import Writers
from redlane.mcp.server_side import ServerSide
from redlane.wire.http1 import Field

__all__ = ["EVENTS", "JSON", "Exchange"]

EVENTS = "text/event-stream"
JSON = "application/json"

_ENOUGH_BYTES = 1024 * 1024
"""So much may wait for the client before no more is read from the server."""

_MOST_IGNORED = 1024 * 1024
_LONGEST_PLACE = 200
_ALIVE_SECONDS = 10.0
_OF_REQUEST = frozenset(
    {"content-type", "accept", "last-event-id", "mcp-method", "mcp-name", "origin"}
)


class Exchange(ABC):
    """Told by the connection of the client what happens there.

    What the server answers is told by `upstream`, as `Listener` has it.
    """

    def __init__(
        self,
        context: FrontContext,
        request: HttpRequest,
        reply: Reply,
        upstream: Upstream,
    ) -> None:
        """Answer `request` by `reply`."""
        self.context = context
        self.request = request
        self.reply = reply
        self.upstream = upstream
        self.session = self._session()
        self.ways = Writers(self._to_client(), _ServerRequests(self))
        self.reservation = context.memory.reservation()
        self.status = 0
        self.fields: Sequence[Field] = ()
        self.held = 0
        self.problem: str | None = None
        self.call: Call | None = None
        self.passing: Passing | None = None
        self._body: bytearray | None = None
        self._ignored = self._owed = 0
        self._since: float | None = None
        self._written = 0

    # What the client's connection tells.

    @abstractmethod
    def start(self) -> None:
        """Serve the request; raises HttpError, MessageError, QuotaExceededError."""

    def lost(self) -> None:
        """The client has gone: what is held for it is taken back."""
        self.reply.is_over = True
        self.finish()

    def finish(self) -> None:
        """Let go of everything."""
        if self.call is not None:
            self.call.give_up()
        self.session.close(self.ways)
        self.reservation.resize(0)

    def look(self) -> None:
        """Read on when the client has taken enough."""
        while self._owed and self._pending < _ENOUGH_BYTES:
            self._owed -= 1
            if self.call is not None:
                self.call.more()

    def tick(self, now: float) -> None:
        """Show a client that waits for a decision that it is not forgotten."""
        if not self.is_held or self._written != self.reply.written:
            self._since = None
        self._written = self.reply.written
        if not self.is_held or self.reply.is_over:
            return
        if self._since is None:
            self._since = now
        elif now - self._since >= _ALIVE_SECONDS and self._may_stream():
            self.reply.begin(HTTPStatus.OK, self.fields)
            self.reply.write(self.alive())

    def alive(self) -> bytes:
        """What shows a client that its stream is there."""
        return ALIVE

    @property
    def is_held(self) -> bool:
        """Whether something waits for a decision."""
        return bool(self.held or (self.passing is not None and self.passing.is_held))

    @property
    def _pending(self) -> int:
        """How much waits for the client, or to be decided before it may have it."""
        return self.reply.pending if self.passing is None else self.passing.behind

    # What the kinds of requests differ in.

    def _session(self) -> Session:
        return self.context.sessions.of(self.request.head.get("mcp-session-id"))

    def _to_client(self) -> Writer:
        return _Silence()

    def _may_stream(self) -> bool:
        return self.reply.is_begun

    @abstractmethod
    def settle(self) -> None:
        """Nothing is held any more, or nothing comes of what was."""

    @abstractmethod
    def take_body(self, status: int, body: bytes) -> None:
        """The server has answered with something else than a stream."""

    @abstractmethod
    def fail(self, reason: str, status: int = HTTPStatus.BAD_GATEWAY) -> None:
        """Say that there is no answer, and why."""

    def endpoint(self, reference: str) -> str | None:
        """Where clients send messages, if this is a stream of HTTP+SSE."""
        del reference
        return None

    # What the server does.

    def ask(self, method: str, target: Target, body: bytes | None) -> None:
        """Send the server what the client has sent."""
        self.ask_with(method, target, self.request.head.fields, body)

    def ask_with(
        self, method: str, target: Target, fields: Sequence[Field], body: bytes | None
    ) -> None:
        """The same, with other fields."""
        length = None if body is None else len(body)
        made = onward(fields, target.authority, length)
        outgoing = Outgoing(method, target, made, body)
        # It is on its way, and need not be kept here.
        self.request = HttpRequest(self.request.head, b"")
        try:
            self.call = self.upstream.ask(outgoing, self)
        except QuotaExceededError as error:
            self.fail(f"is not asked: {error}", HTTPStatus.SERVICE_UNAVAILABLE)

    def began(self, status: int, fields: Sequence[Field]) -> None:
        """The head of the answer is here."""
        self.status, self.fields = status, back(fields)
        encoding = value_of(fields, "content-encoding").lower()
        kind = media_type(value_of(fields, "content-type"))
        good = status // 100 == 2  # noqa: PLR2004  # of the class of success
        if status < HTTPStatus.OK or status // 100 == 3:  # noqa: PLR2004  # redirects
            where = value_of(fields, "location")[:_LONGEST_PLACE]
            self.context.note(f"MCP server {self.context.name} leads to {where}")
            self.fail(f"answers {status} and leads elsewhere, which is not followed")
        elif encoding not in {"", "identity"}:
            self.fail("answers in an encoding that nobody asked for")
        elif good and kind == EVENTS and self._is_wanted(EVENTS):
            self._name_session(fields)
            self.reply.begin(status, self.fields)
            self.passing = self._passing()
        else:
            self._name_session(fields)
            self._body = bytearray() if kind == JSON else None

    def piece(self, data: bytes) -> None:
        """Some of the body is here."""
        self._owed += 1
        try:
            self._take(data)
        except (MessageError, QuotaExceededError) as error:
            self.fail(f"sent {error}")
        self.look()

    def ended(self, problem: str | None) -> None:
        """The answer is over."""
        self.call = None
        self.problem = problem
        if self.passing is not None:
            self.settle()
        elif problem is not None:
            self.fail(f"gives no answer: {problem}")
        else:
            self.take_body(self.status, bytes(self._body or b""))

    def _is_wanted(self, kind: str) -> bool:
        """Whether an answer of that kind is one that is to be read."""
        del kind
        return True

    def _name_session(self, fields: Sequence[Field]) -> None:
        id_ = value_of(fields, "mcp-session-id")
        if id_ and not self.request.head.has("mcp-session-id"):
            self.context.sessions.add(id_, self.session)

    def _take(self, data: bytes) -> None:
        kept = len(self.request.body)
        if self.passing is not None:
            self.passing.feed(data)
            if not self.reply.is_over:
                self.reservation.resize(kept + self.passing.pending)
        elif self._body is not None:
            if len(self._body) + len(data) > MOST_BYTES:
                raise MessageError(f"a message of more than {MOST_BYTES} bytes")
            self.reservation.resize(kept + len(self._body) + len(data))
            self._body += data
        else:
            self._ignored += len(data)
            if self._ignored > _MOST_IGNORED:
                raise MessageError("too much that is no message")

    def answers(self, *, again: bool = False) -> ServerSide:
        """The judge of what comes; `again`: it may have come before."""
        asked = Replayed(self.session.asked) if again else self.session.asked
        context, results = self.context, self.session.results
        ways, schemas = self.ways, context.schemas
        return ServerSide(context.served, asked, results, ways, schemas, context.note)

    def _passing(self) -> Passing:
        again = self.request.head.has("last-event-id")
        made = self.answers(again=again)
        return Passing(self.reply, made, self.endpoint, self.settle, self.fail)


class _Silence(Writer):
    """Where nothing goes: nobody waits there."""

    def send(self, data: bytes) -> None:
        del data

    def hold(self, frame: MessageFrame) -> Slot:
        del frame
        return Slot(is_kept=False)

    def fill(self, place: Slot, data: bytes) -> None:
        del place
        self.send(data)


class _ServerRequests(_Silence):
    """To the server, besides the request: what it is told of its own requests."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def send(self, data: bytes) -> None:
        exchange = self._exchange
        fields = [
            each
            for each in exchange.request.head.fields
            if each[0].lower() not in _OF_REQUEST
            and not each[0].lower().startswith("mcp-param-")
        ]
        fields += [("Content-Type", JSON), ("Accept", f"{JSON}, {EVENTS}")]
        target = exchange.session.target or exchange.context.target
        exchange.context.send(target, fields, data.removesuffix(b"\n"))
