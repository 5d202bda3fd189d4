"""What all exchanges share: the server, its sessions, and what may be kept."""

import ssl
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from redlane.mcp.front.fields import onward
from redlane.mcp.front.memory import Memory, QuotaExceededError
from redlane.mcp.front.sessions import Sessions
from redlane.mcp.front.target import Target
from redlane.mcp.front.upstream import Call, Outgoing, Upstream
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served
from redlane.wire.http1 import Field

__all__ = ["MESSAGES", "FrontContext"]

MESSAGES = "/messages/"
"""Below this, clients of HTTP+SSE send their messages."""

_MOST_ERRANDS = 16
_MOST_TOLD = 1_000


@dataclass(slots=True, eq=False)
class FrontContext:
    """One server; `post` has something done by the loop."""

    served: Served
    target: Target
    tls: ssl.SSLContext | None
    sessions: Sessions
    post: Callable[[Callable[[], None]], None]
    tell: Callable[[str], None]
    memory: Memory
    schemas: Schemas = field(default_factory=Schemas)
    _server_requests: set["_ServerRequest"] = field(default_factory=set)
    _told: OrderedDict[str, None] = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        """What policies call the server."""
        return self.served.name

    def note(self, text: str) -> None:
        """Tell who started this; what was told lately is not told again."""
        if text not in self._told:
            self.tell(text)
        self._told[text] = None
        self._told.move_to_end(text)
        if len(self._told) > _MOST_TOLD:
            self._told.popitem(last=False)

    def connection(self) -> Upstream:
        """A connection to the server, for one client connection."""
        return Upstream(self.tls, self.post)

    def send(self, target: Target, fields: Sequence[Field], body: bytes) -> None:
        """Send the server a message of ours, whose answer nobody waits for."""
        if len(self._server_requests) < _MOST_ERRANDS:
            made = onward(fields, target.authority, len(body))
            request = _ServerRequest(self._server_requests.discard)
            with suppress(QuotaExceededError):
                request.go(self.connection(), Outgoing("POST", target, made, body))
                self._server_requests.add(request)


class _ServerRequest:
    """One such message."""

    def __init__(self, done: Callable[["_ServerRequest"], None]) -> None:
        self._done = done
        self._call: Call | None = None
        self._upstream: Upstream | None = None

    def go(self, upstream: Upstream, outgoing: Outgoing) -> None:
        self._upstream = upstream
        self._call = upstream.ask(outgoing, self)

    def began(self, status: int, fields: Sequence[Field]) -> None:
        """It has arrived; whatever is said to it is of no interest."""
        del status, fields
        if self._call is not None:
            self._call.give_up()
        self._done(self)

    def piece(self, data: bytes) -> None:
        """Nothing is read."""

    def ended(self, problem: str | None) -> None:
        """It has not arrived, if it has not begun."""
        del problem
        self._done(self)
