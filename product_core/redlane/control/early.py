"""The first line of a response before the rest is known.

A WSGI application answers when it is done. A held command has to hear at once that it
is held, so a resource may send a beginning early; what it answers in the end follows
on the same response.
"""

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["EARLY_KEY", "EarlyLines"]

EARLY_KEY = "redlane.early"
"""Where the WSGI environment holds the function that sends bytes at once."""

_HEADERS = [("Content-Type", "text/plain; charset=utf-8")]

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class EarlyLines:
    """WSGI middleware that offers `EARLY_KEY` to the application below it."""

    def __init__(self, application: Application) -> None:
        """Serve `application`."""
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request."""
        beginning = _Beginning(start_response)
        environ[EARLY_KEY] = beginning.send
        return self._application(environ, beginning.start_response)


class _Beginning:
    """One response; its head goes out with what is sent first."""

    def __init__(self, start_response: Callable[..., Any]) -> None:
        self._start_response = start_response
        self._write: Callable[[bytes], object] | None = None

    def send(self, data: bytes) -> None:
        """Send `data` now; raises when the client has gone."""
        if self._write is None:
            self._write = self._start_response("200 OK", list(_HEADERS))
        self._write(data)

    def start_response(self, status: str, headers: Any, *more: Any) -> Any:  # noqa: ANN401  # WSGI has it so
        """The head that the application wants; too late once something was sent.

        An error then cuts the response short: its reader takes that for a refusal.
        """
        if self._write is None:
            return self._start_response(status, headers, *more)
        if not status.startswith("200"):
            raise ConnectionAbortedError("failed after the first line was sent")
        return self._write
