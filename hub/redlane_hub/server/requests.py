"""Requests as they arrive, read more strictly than waitress reads them."""

import functools
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.parser import (
    HTTPRequestParser,
    unquote_bytes_to_wsgi,
)
from waitress.receiver import FixedStreamReceiver

from redlane_hub.server.chunks import ChunkedBody
from redlane_hub.server.heads import (
    Head,
    Refused,
    early_problem,
    origin_form,
    read_head,
)

__all__ = ["BODY_TOO_LARGE", "Request"]

_HEAD_END = b"\r\n\r\n"
_HEAD_TOO_LONG = "the request's first line and headers are too long together"
BODY_TOO_LARGE = "the body is larger than any that could be taken"
_REMEMBERED_NAMES = 256


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
            self._refuse(Refused(BODY_TOO_LARGE, 413))

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
