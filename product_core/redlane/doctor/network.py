"""The network: requests by the proxy, and a connection that takes no notice of it.

Everything goes to the loopback interface. Whether a request was judged is for who is
outside to say, by the event of it; here it is only made.
"""

import errno
import socket
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import urlopen

from redlane.doctor.findings import REPORT, Finding, held, left_open, untried
from redlane.doctor.targets import Targets

__all__ = ["HTTP", "HTTPS", "connect_directly", "request_http", "request_https"]

HTTP = "HTTP by the proxy"
HTTPS = "HTTPS by the proxy"
_DIRECT = "connection past the proxy"
_RESOLVER = 53
_SECONDS = 30.0  # with the first request the proxy starts
_ANSWERED = "a request is answered with {}, and there is no event of it"


def request_http(to: Targets) -> Finding:
    """Request something by the proxy."""
    return _request(HTTP, "http", to)


def request_https(to: Targets) -> Finding:
    """The same with TLS; where it is not intercepted nothing of it can be seen."""
    if not to.no_proxy and not to.intercepting:
        return untried(
            HTTPS,
            "tls.intercept is off, so that of HTTPS only the host is judged",
            "set tls.intercept in settings.json",
        )
    return _request(HTTPS, "https", to)


def _request(name: str, scheme: str, to: Targets) -> Finding:
    if to.no_proxy:
        return left_open(name, to.no_proxy, "install redlane-proxy")
    try:
        url = f"{scheme}://127.0.0.1:{to.port}/{to.token}"
        with urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310  # both are HTTP
            return left_open(name, _ANSWERED.format(answer.status), REPORT)
    except HTTPError as error:
        with error:
            return left_open(name, _ANSWERED.format(error.code), REPORT)
    except (OSError, HTTPException) as error:
        return untried(name, f"the proxy gave no answer: {error}")


def connect_directly(to: Targets) -> Finding:
    """Connect as programs do that know nothing of proxies."""
    if to.egress == "proxy":
        return _reach_elsewhere()
    what = f"connect(127.0.0.1:{to.port})"
    error = _error_of(to.port)
    if error is not None:
        return _told(what, error)
    if "connect" in to.named:
        return held(_DIRECT, f"{what} is judged, and the role's policies let it pass")
    return left_open(
        _DIRECT,
        f"{what} is let through: the role has no policy about `connect`",
        'a role with `"egress": "proxy"`',
        by_role=True,
    )


def _reach_elsewhere() -> Finding:
    """Connect to this machine's resolver, which would tell others what it is asked.

    Of all that leaves the machine it is what can be tried without anything leaving.
    """
    what = f"connect(127.0.0.1:{_RESOLVER})"
    error = _error_of(_RESOLVER)
    if error is None or error.errno == errno.ECONNREFUSED:
        return left_open(_DIRECT, f"{what} is let through", REPORT)
    return _told(what, error)


def _error_of(port: int) -> OSError | None:
    """What a connection to this machine fails with."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=_SECONDS).close()
    except OSError as error:
        return error
    return None


def _told(what: str, error: OSError) -> Finding:
    said = f"{what}: {error.strerror or error}"
    if isinstance(error, PermissionError):
        return held(_DIRECT, said)
    return untried(_DIRECT, said)
