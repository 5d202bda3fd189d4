"""Requests as they arrive, and the answers to those that are none.

waitress refuses malformed requests by itself and in plain text; here that is JSON, like
all that the hub answers, and so is what this stricter reader refuses.
"""

import functools
import json
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import (
    HTTPRequestParser,
    unquote_bytes_to_wsgi,
)
from waitress.receiver import FixedStreamReceiver
from waitress.task import ErrorTask, WSGITask

from redlane_hub.patience import WouldWaitError
from redlane_hub.server.chunks import ChunkedBody
from redlane_hub.server.heads import (
    Head,
    Refused,
    early_problem,
    origin_form,
    read_head,
)

__all__ = ["Answer", "Refusal", "Request"]

_HEAD_END = b"\r\n\r\n"
_HEAD_TOO_LONG = "the request's first line and headers are too long together"
_BODY_TOO_LARGE = "the body is larger than any that could be taken"
_REMEMBERED_NAMES = 256
_MESSAGES = {413: _BODY_TOO_LARGE, 500: "internal server error"}
"""Said for waitress, which tells its limits and repeats what it was sent."""


class Request(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """One request of a connection, refused as soon as it can be.

    The head is read here and not by waitress, which would read it a second time. Until
    then it is what an answer needs to find in any request.
    """

    body_rcv: Any
    error: Any
    header_plus: bytes
    command = "GET"
    request_uri = path = "/"
    query = ""
    url_scheme = "http"
    is_postponed = False
    """Whether to answer it took longer than the thread that tried had time for."""

    def received(self, data: bytes) -> int:
        """Take what belongs to the request; how many bytes that were."""
        if self.body_rcv is not None or self.completed:
            return int(super().received(data))
        start = self.header_plus + data
        end = start.find(_HEAD_END)
        head = start if end < 0 else start[: end + len(_HEAD_END)]
        problem = early_problem(head)
        if problem is None and len(head) >= self.adj.max_request_header_size:
            problem = Refused(_HEAD_TOO_LONG, 431)
        if problem is not None:
            self._refuse(problem)
        elif end < 0:
            self.header_plus = start
        else:
            self._read_head(head)
            if self.error is None:
                return len(data) - (len(start) - len(head))
        return len(data)

    def _read_head(self, head: bytes) -> None:
        # Empty lines may stand before a request.
        head = head.lstrip(b"\r\n")
        if not head:
            self.empty = self.completed = True
            return
        found = read_head(head)
        if isinstance(found, Refused):
            self._refuse(found)
            return
        self._take_head(found)
        if self.content_length >= self.adj.max_request_body_size:
            self._refuse(Refused(_BODY_TOO_LARGE, 413))

    def _take_head(self, head: Head) -> None:
        """Be the request that its head tells of."""
        headers = {
            _wsgi_name(name): value.decode("latin-1")
            for name, value in head.headers.items()
            if b"_" not in name  # it would be taken for the one with a hyphen
        }
        self.headers = headers
        self.command = head.method.decode("latin-1")
        self.version = "1.0" if head.minor == b"0" else "1.1"
        self._take_target(head.target)
        connection = headers.get("CONNECTION", "").lower()
        self.connection_close = connection == "close" or (
            self.version == "1.0" and connection != "keep-alive"
        )
        self.headers_finished = True
        self.expect_continue = self.version == "1.1" and "EXPECT" in headers
        # waitress makes one body of the chunks: whoever reads it shall see no coding.
        self.chunked = headers.pop("TRANSFER_ENCODING", None) is not None
        self.content_length = int(headers.get("CONTENT_LENGTH", 0))
        if self.chunked:
            self.body_rcv = ChunkedBody(OverflowableBuffer(self.adj.inbuf_overflow))
        elif self.content_length:
            buffer = OverflowableBuffer(self.adj.inbuf_overflow)
            self.body_rcv = FixedStreamReceiver(self.content_length, buffer)
        else:
            self.completed = True

    def _take_target(self, target: bytes) -> None:
        self.request_uri = target.decode("latin-1")
        path, _mark, query = origin_form(target).partition(b"?")
        self.path = unquote_bytes_to_wsgi(path)
        self.query = query.decode("latin-1")

    def _refuse(self, problem: Refused) -> None:
        self.error = problem
        self.headers_finished = self.completed = True


@functools.lru_cache(_REMEMBERED_NAMES)
def _wsgi_name(name: bytes) -> str:
    return name.upper().replace(b"-", b"_").decode("latin-1")


class Answer(WSGITask):  # type: ignore[misc]  # waitress has no types
    """An answer of the application; while the server stops, the connection's last."""

    def execute(self) -> None:
        """Have the application answer."""
        if self.channel.server.stopping:
            self.set_close_on_finish()
        try:
            super().execute()
        except WouldWaitError:
            self.request.is_postponed = True
            self.close_on_finish = False

    def finish(self) -> None:
        """Complete the answer, if this is where it is given."""
        if not self.request.is_postponed:
            super().finish()

    def set_close_on_finish(self) -> None:
        """Close after this answer, unless waitress only misses a body's length.

        It would close after every 204, which has no body that could end.
        """
        asked = self.request.connection_close or self.channel.server.stopping
        if self.has_body or asked or self.version != "1.1":
            super().set_close_on_finish()


class Refusal(ErrorTask):  # type: ignore[misc]  # waitress has no types
    """The answer to what is no request: `{"error": …}`, and the connection closes."""

    def execute(self) -> None:
        """Write the status and the message."""
        error = self.request.error
        message = str(error.body)
        if not isinstance(error, Refused):
            message = _MESSAGES.get(error.code, message)
        body = json.dumps({"error": message}).encode()
        self.status = f"{error.code} {error.reason}"
        self.response_headers.extend(
            [
                ("Content-Type", "application/json"),
                ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ]
        )
        self.set_close_on_finish()
        self.content_length = len(body)
        self.channel.refused = True
        self.channel.server.count_refusal(error.code)
        self.write(body)
