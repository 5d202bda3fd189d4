"""Requests as they arrive, and the answers to those that are none.

waitress refuses malformed requests by itself and in plain text; here that is JSON, like
all that the hub answers, and so is what this stricter reader refuses.
"""

import json
from typing import Any

from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask, WSGITask

from redlane_hub.server.chunks import ChunkedBody
from redlane_hub.server.heads import Refused, early_problem, head_problem

__all__ = ["Answer", "Refusal", "Request"]

_HEAD_END = b"\r\n\r\n"
_STAND_IN = b"GET / HTTP/1.1\r\n"
_INTERNAL = 500
_MESSAGES = {
    413: "the body is larger than any that could be taken",
    431: "the request's first line and headers are too long together",
    _INTERNAL: "internal server error",
}
"""Said for waitress, which tells its limits and repeats what it was sent."""


class Request(HTTPRequestParser):  # type: ignore[misc]  # waitress has no types
    """One request of a connection, refused as soon as it can be."""

    body_rcv: Any

    def received(self, data: bytes) -> int:
        """Take what belongs to the request; how many bytes that were."""
        if self.body_rcv is None and not self.completed:
            problem = self._problem(data)
            if problem is not None:
                self._refuse(problem)
                return len(data)
        return int(super().received(data))

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head, and have a chunked body read by our own reader."""
        super().parse_header(header_plus)
        if self.chunked:
            self.body_rcv = ChunkedBody(self.body_rcv.getbuf())

    def _problem(self, data: bytes) -> Refused | None:
        start = self.header_plus + data
        end = start.find(_HEAD_END)
        if end < 0:
            return early_problem(start)
        head = start[: end + len(_HEAD_END)]
        problem = early_problem(head)
        # Empty lines may stand before a request, and then it is waitress that waits.
        while head.startswith(b"\r\n"):
            head = head[2:]
        return problem or (head_problem(head) if head else None)

    def _refuse(self, problem: Refused) -> None:
        # As waitress does it: whatever looks at the request finds all it looks for.
        self.parse_header(_STAND_IN)
        self.error = problem
        self.completed = True


class Answer(WSGITask):  # type: ignore[misc]  # waitress has no types
    """An answer of the application; while the server stops, the connection's last."""

    def execute(self) -> None:
        """Have the application answer."""
        if self.channel.server.stopping:
            self.set_close_on_finish()
        super().execute()

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
