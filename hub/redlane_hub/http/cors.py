"""Cross-origin requests of browsers: a fixed list of origins (hub API: Conventions).

A listed origin is echoed exactly; any other gets no such header at all. Credentials are
never allowed, since only a bearer token is one, and that is a header.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

__all__ = ["ALLOWED_HEADERS", "ORIGINS", "CrossOrigin"]

ORIGINS = frozenset({"https://redlane.example", "https://hub.redlane.example"})
"""The project's own site; pages of these may read what the hub answers."""

ALLOWED_HEADERS = "Authorization, Content-Type"

_EXPOSED_HEADERS = "Retry-After"
_PREFLIGHT_SECONDS = "600"


class CrossOrigin:
    """Adds the headers for listed origins, and answers their preflight requests."""

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """What the application answers, marked as readable for a listed origin."""
        origin = environ.get("HTTP_ORIGIN")
        if origin is None:
            return self._application(environ, start_response)
        listed = origin in ORIGINS
        preflight = listed and _is_preflight(environ)

        def start(status: str, headers: list[tuple[str, str]], *rest: object) -> object:
            if listed:
                headers = [*headers, *_origin_headers(origin)]
            if preflight and status.startswith("200"):
                status, headers = "204 No Content", _preflight_headers(headers)
            return start_response(status, headers, *rest)  # type: ignore[arg-type]  # as it came

        return self._application(environ, start)  # type: ignore[arg-type]  # nobody uses write()


def _is_preflight(environ: dict[str, Any]) -> bool:
    return (
        environ["REQUEST_METHOD"] == "OPTIONS"
        and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ
    )


def _origin_headers(origin: str) -> list[tuple[str, str]]:
    return [
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Expose-Headers", _EXPOSED_HEADERS),
    ]


def _preflight_headers(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """With the methods that the route allows; a 204 has neither type nor length."""
    bodily = {"content-length", "content-type"}
    kept = [each for each in headers if each[0].lower() not in bodily]
    methods = [value for name, value in headers if name.lower() == "allow"]
    return [
        *kept,
        ("Access-Control-Allow-Methods", ", ".join(methods)),
        ("Access-Control-Allow-Headers", ALLOWED_HEADERS),
        ("Access-Control-Max-Age", _PREFLIGHT_SECONDS),
    ]
