"""Answers as they are written: the application's, and those to what is no request.

waitress refuses malformed requests by itself and in plain text; here that is JSON, like
all that the hub answers.
"""

import functools
import json
from email.utils import formatdate
from typing import Any

from waitress.task import ErrorTask, WSGITask

from redlane_hub.nonblocking import WouldWaitError
from redlane_hub.server.heads import Refused
from redlane_hub.server.requests import BODY_TOO_LARGE

__all__ = ["Answer", "Refusal"]

_REMEMBERED_NAMES = 256
_MESSAGES = {413: BODY_TOO_LARGE, 500: "internal server error"}
"""Said for waitress, which tells its limits and repeats what it was sent."""


class Answer(WSGITask):  # type: ignore[misc]  # waitress has no types
    """An answer of the application; while the server stops, the connection's last."""

    wrote_header: bool

    def execute(self) -> None:
        """Have the application answer."""
        if self.channel.server.stopping:
            self.set_close_on_finish()
        try:
            super().execute()
        except WouldWaitError:
            self.request.is_postponed = True
            self.close_on_finish = False

    def write(self, data: bytes) -> None:
        """Write a part of the body; when it is all of it, together with the head."""
        is_all = self.content_length == len(data) and self.has_body and self.complete
        if not is_all or self.wrote_header:
            super().write(data)
            return
        head: bytes = self.build_response_header()
        self.wrote_header = True
        self.content_bytes_written = len(data)
        self.channel.write_soon(head + data)

    def build_response_header(self) -> Any:  # noqa: ANN401  # waitress has no types
        """The head; where nothing is special about it, in a third of the time."""
        headers = [(_spelled(name), value) for name, value in self.response_headers]
        is_plain = self.version == "1.1" and not self.request.connection_close
        is_known = any(name == "Content-Length" for name, _ in headers)
        if not (is_plain and is_known and self.has_body) or self.close_on_finish:
            return super().build_response_header()
        headers.append(("Date", _date(int(self.start_time))))
        lines = [f"{name}: {value}\r\n" for name, value in sorted(headers)]
        return f"HTTP/1.1 {self.status}\r\n{''.join(lines)}\r\n".encode("latin-1")

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


@functools.lru_cache(1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


@functools.lru_cache(_REMEMBERED_NAMES)
def _spelled(name: str) -> str:
    """The name of a header as it is usually written."""
    return "-".join(part.capitalize() for part in name.split("-"))
