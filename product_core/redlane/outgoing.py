"""One POST to an address that somebody has configured, and its answer.

Nothing is followed elsewhere, certificates are checked against the system's, and what
is answered is bounded. How long it may take is for whoever has started the process.
"""

import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from redlane.errors import RedlaneError

__all__ = ["post"]


def post(
    url: str, headers: Mapping[str, str], body: bytes, most: int
) -> tuple[int, bytes]:
    """The status and at most `most` bytes; raises RedlaneError for what is none."""
    parts = urlsplit(url)
    host, is_safe = parts.hostname or "", parts.scheme == "https"
    # Without a port the library takes the end of an IPv6 address for one.
    port = parts.port or (http.client.HTTPS_PORT if is_safe else http.client.HTTP_PORT)
    connection = (
        http.client.HTTPSConnection(host, port, context=ssl.create_default_context())
        if is_safe
        else http.client.HTTPConnection(host, port)
    )
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    try:
        connection.request("POST", target, body, dict(headers))
        response = connection.getresponse()
        answer = response.read(most + 1)
    except http.client.HTTPException as error:
        raise RedlaneError(f"no HTTP was answered: {error!r}") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise RedlaneError(f"it cannot be reached: {reason}") from error
    finally:
        connection.close()
    if len(answer) > most:
        raise RedlaneError(f"it answers with more than {most // 1024} KiB")
    if response.length:
        raise RedlaneError("its answer was cut off")
    return response.status, answer
