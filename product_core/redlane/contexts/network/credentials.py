"""What a request is authorized by, as it travels: headers for that, and the URL's user.

A key that stands there is where it belongs. Whoever sends one away in such a header is
not told from who uses it.
"""

import re
from collections.abc import Callable
from dataclasses import replace

from redlane.contexts.network.request import Request
from redlane.model.content import readable

__all__ = ["beside_credentials", "without_credentials"]

_NAME = re.compile(
    rb"auth(?!or(?!i[sz]))|token|key|secret|cookie|passw|credential|session|signature|jwt|bearer|pat$"
    rb"|sec-websocket-protocol|x-honeycomb-team|x-registry",
    re.IGNORECASE,
)
_URL = re.compile(rb"([a-zA-Z][a-zA-Z0-9+.-]*://)([^/?#@\\]*@)?(.*)", re.DOTALL)


def without_credentials(request: Request) -> Request:
    """The request without them."""
    scheme, _, rest = _parts(request.line.url)
    return replace(
        request,
        line=replace(request.line, url=scheme + rest),
        headers=tuple(each for each in request.headers if not _is_for_them(each[0])),
    )


def beside_credentials(request: Request, change: Callable[[bytes], bytes]) -> Request:
    """The request with `change` put to everything else that it says.

    Its URL, the value of each header and the body are changed by themselves.
    """

    def changed(part: bytes) -> bytes:
        # What it makes of bytes that are no text is no reason to lose them.
        made = change(part) if part else part
        return part if made == readable(part) else made

    scheme, user, rest = _parts(request.line.url)
    return replace(
        request,
        line=replace(request.line, url=scheme + user + changed(rest)),
        headers=tuple(
            (name, value if _is_for_them(name) else changed(value))
            for name, value in request.headers
        ),
        body=changed(request.body),
    )


def _is_for_them(name: bytes) -> bool:
    return _NAME.search(name) is not None


def _parts(url: bytes) -> tuple[bytes, bytes, bytes]:
    """The scheme, the user, and the rest of a URL; of another all is rest."""
    match = _URL.fullmatch(url)
    return (b"", b"", url) if match is None else (match[1], match[2] or b"", match[3])
