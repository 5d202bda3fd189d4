"""What every answer carries, whoever made it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

__all__ = ["Answers"]

_CACHE_CONTROL = "cache-control"


class Answers:
    """Completes the headers of the application's answers.

    An answer may be kept by nobody unless its handler says that it may: most depend on
    who asks, and a fetch that never comes here is a download that nobody counts.
    """

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """What the application answers, with all headers; to `HEAD`, without body."""

        def start(status: str, headers: list[tuple[str, str]], *rest: object) -> object:
            return start_response(status, _completed(headers), *rest)  # type: ignore[arg-type]  # as it came

        found = self._application(environ, start)  # type: ignore[arg-type]  # nobody uses write()
        return _without_body(found) if environ["REQUEST_METHOD"] == "HEAD" else found


def _completed(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    made = [("X-Content-Type-Options", "nosniff")]
    varies = "Origin"
    is_cached = False
    for name, value in headers:
        folded = name.lower()
        if folded == "vary":
            varies = f"{value}, {varies}"
        elif folded != "x-content-type-options":
            is_cached = is_cached or folded == _CACHE_CONTROL
            made.append((name, value))
    if not is_cached:
        made.append(("Cache-Control", "no-store"))
    made.append(("Vary", varies))
    return made


def _without_body(found: Iterable[bytes]) -> Iterable[bytes]:
    """Let go of a body that nobody will get."""
    close = getattr(found, "close", None)
    if close is not None:
        close()
    return []
