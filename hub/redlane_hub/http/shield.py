"""The layers in front of Falcon, and their order.

From the outside in: what every answer carries (`answers`), cross-origin headers
(`cors`), the rate limits (hub API: Limits), and then the application. A request that is
refused here costs no more than a few microseconds.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from redlane_hub.errors import BusyError
from redlane_hub.http.answers import Answers
from redlane_hub.http.clients import Clients
from redlane_hub.http.cors import CrossOrigin
from redlane_hub.security.addresses import client_network
from redlane_hub.security.ratelimit import Limit, RateLimiter

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

__all__ = ["EVERYTHING_ELSE", "LIMITS", "RateLimits", "shielded"]

_RESETS = Limit("password-reset/confirm", burst=10, seconds=6)

LIMITS = {
    ("POST", "/api/v1/login"): Limit("login", burst=10, seconds=6),
    ("PATCH", "/api/v1/me/password"): Limit("me/password", burst=10, seconds=6),
    ("POST", "/api/v1/password-reset/confirm"): _RESETS,
    # The page's form does what the endpoint does: one bucket, or there would be two.
    ("POST", "/reset-password"): _RESETS,
    ("POST", "/api/v1/register"): Limit("register", burst=5, seconds=60),
    ("POST", "/api/v1/password-reset/request"): Limit(
        "password-reset/request", burst=5, seconds=300
    ),
}
"""The operations that have a bucket of their own."""

_BUSY_SECONDS = 1
"""When to come again if too many wait for one scarce thing."""

EVERYTHING_ELSE = Limit("everything else", burst=1000, seconds=1 / 17)


def shielded(
    application: "WSGIApplication",
    limiter: RateLimiter,
    trusted_proxies: Iterable[str],
) -> "WSGIApplication":
    """The application behind all its layers."""
    limited = RateLimits(application, limiter, Clients(trusted_proxies))
    return Answers(CrossOrigin(limited))


class RateLimits:
    """Refuses who asks too often, before anything else looks at the request."""

    def __init__(
        self, application: "WSGIApplication", limiter: RateLimiter, clients: Clients
    ) -> None:
        self._application = application
        self._limiter = limiter
        self._clients = clients

    def __call__(
        self, environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Answer 429, or what the application answers."""
        address = self._clients.address(environ)
        environ["REMOTE_ADDR"] = address
        asked = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        limit = LIMITS.get(asked, EVERYTHING_ELSE)
        wait = self._limiter.take(limit, client_network(address))
        if wait:
            message = f"too many requests: try again in {wait} seconds"
            return _too_many(start_response, message, wait)
        try:
            return self._application(environ, start_response)
        except BusyError as error:
            return _too_many(start_response, str(error), _BUSY_SECONDS)


def _too_many(
    start_response: "StartResponse", message: str, seconds: int
) -> Iterable[bytes]:
    """A 429: plain text, without a content type (hub API: Errors)."""
    body = message.encode()
    headers = [("Retry-After", str(seconds)), ("Content-Length", str(len(body)))]
    start_response("429 Too Many Requests", headers)
    return [body]
