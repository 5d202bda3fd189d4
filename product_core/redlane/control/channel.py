"""One connection to the control socket, as waitress serves it, with its peer known.

waitress answers malformed requests by itself and in plain text; here it answers in
JSON, like everything else, and every request carries the process that connected.
"""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask
from waitress.utilities import Error

from redlane.membership.peers import peer_of
from redlane.wire.behalf import behalf_in
from redlane.wire.http1 import HttpError, read_head

__all__ = ["CLOSED_KEY", "PEER_KEY", "ControlChannel"]

PEER_KEY = "redlane.peer"
"""Where the WSGI environment holds the `Peer`; no header can set such a key."""

CLOSED_KEY = "redlane.when_closed"
"""Where it holds a function that takes what to do should the client hang up."""


_MOST_AHEAD = 4
"""How many requests may wait behind the one that is served."""

_MOST_BYTES_AHEAD = 1024 * 1024
"""How long their bodies may be, together."""


class _Parser(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """The parser of waitress, behind one that takes nothing leniently."""

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head; one that two readers could read in two ways is a 400."""
        try:
            read_head(header_plus.rstrip(b"\r\n"), is_local=True)
            super().parse_header(header_plus)
        except (HttpError, ValueError) as error:
            raise ParsingError(str(error)) from error


class _Request(WSGITask):  # type: ignore[misc]  # waitress has no types
    """A request, with its peer in the environment."""

    def get_environment(self) -> dict[str, Any]:
        """The WSGI environment and, under `PEER_KEY`, who asks."""
        environ: dict[str, Any] = super().get_environment()
        environ[PEER_KEY] = self.channel.peer
        environ[CLOSED_KEY] = self.channel.when_closed
        return environ


class _Refusal(ErrorTask):  # type: ignore[misc]  # waitress has no types
    """The answer to what is no request: `{"error": str}`, and the connection closes."""

    def execute(self) -> None:
        """Write the status and reason that the parser gave."""
        error = self.request.error
        body = json.dumps({"error": f"{error.reason}: {error.body}"}).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers.append(("Content-Type", "application/json"))
        self.set_close_on_finish()
        self.content_length = len(body)
        self.write(body)


class _QuotaExceededError(Error):  # type: ignore[misc]  # waitress has no types
    """The answer to one who sends more at once than there is room for."""

    code = 429
    reason = "Too Many Requests"


class ControlChannel(HTTPChannel):  # type: ignore[misc]  # waitress has no types
    """A connection; `peer` is read when it is accepted, and held as long as it."""

    task_class = _Request
    error_task_class = _Refusal
    parser_class = _Parser

    def __init__(
        self,
        server: Any,  # noqa: ANN401  # waitress has no types
        sock: socket.socket,
        *rest: object,
        **named: object,
    ) -> None:
        self.peer = peer_of(sock)
        self._is_begun = False
        self._lock = threading.Lock()
        self._at_close: list[Callable[[], None]] = []
        self._closed, self._serving = False, False
        self._release = server.connections_of.enter(self.peer)
        self._quota = server.quota
        super().__init__(server, sock, *rest, **named)
        if self._release is None:
            self.handle_close()

    def when_closed(self, function: Callable[[], None]) -> None:
        """Have `function` called when the connection closes; at once if it has."""
        with self._lock:
            if not self._closed:
                self._at_close.append(function)
                return
        function()

    def readable(self) -> bool:
        """Read on while a request is served: nothing else tells of a hang-up."""
        return not (
            self.will_close or self.close_when_flushed or self.total_outbufs_len
        )

    def received(self, data: bytes) -> bool:
        """Take what was read; who sends ever more without waiting is cut off.

        Requests that pile up behind one that is held would otherwise be stored, or
        hide that nobody waits for the answer.
        """
        if not self._is_begun:
            self._is_begun = True
            data = self._past_behalf(data)
        if len(self.requests) > _MOST_AHEAD or self._ahead() > _MOST_BYTES_AHEAD:
            self.handle_close()
            return False
        taken: bool = super().received(data)
        return taken

    def _past_behalf(self, data: bytes) -> bytes:
        """What has come, without the line that says for whom."""
        behalf = behalf_in(data)
        if behalf is None:
            return data
        process, length = behalf
        self.server.let_stand_for(self.peer, process)
        return data[length:]

    def _ahead(self) -> int:
        """How many bytes of bodies came behind the request that is served."""
        with self.requests_lock:
            behind = [*self.requests[1:], self.request] if self.requests else []
        return sum(each.body_bytes_received for each in behind if each is not None)

    def service(self) -> None:
        """Serve one request; what it left to be done at a close is done with."""
        self._serving = True
        request = self.requests[0]
        with self._quota.taken(self.peer, request.body_bytes_received) as free:
            if not free:
                request.error = _QuotaExceededError("too much of yours is in work")
            super().service()
        with self._lock:
            self._serving = False
            self._at_close.clear()
            closed = self._closed
        if closed:
            self._hand_back()

    def handle_close(self) -> None:
        """Close the connection and let go of the peer."""
        with self._lock:
            self._closed = True
            functions, self._at_close = self._at_close, []
            serving = self._serving
        for function in functions:
            function()
        if not serving:  # what nobody waits for any more takes a thread all the same
            self._hand_back()
        self.peer.close()
        super().handle_close()

    def _hand_back(self) -> None:
        with self._lock:
            leave, self._release = self._release, None
        if leave is not None:
            leave()
