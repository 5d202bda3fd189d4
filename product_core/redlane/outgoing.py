"""One POST to an address that somebody has configured, and its answer.

Nothing is followed elsewhere, certificates are checked against the system's, and what
is answered is bounded. How long it may take is for whoever has started the process.
"""

import ctypes
import http.client
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

from redlane.errors import RedlaneError

__all__ = ["not_readable", "post"]

_SET_DUMPABLE = 4


def not_readable() -> None:
    """Let nobody look into this process: secrets are in its memory."""
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0)


def post(
    url: str, headers: Mapping[str, str], body: bytes, most: int
) -> tuple[int, bytes]:
    """The status and at most `most` bytes; raises RedlaneError for what is none.

    With 0 bytes the answer is not read.
    """
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
        answer = response.read(most + 1) if most else b""
    except http.client.HTTPException as error:
        raise RedlaneError(f"no HTTP was answered: {error!r}") from error
    except UnicodeError as error:
        raise RedlaneError(f"{host!r} is no name of a host") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise RedlaneError(f"it cannot be reached: {reason}") from error
    finally:
        connection.close()
    if len(answer) > most:
        raise RedlaneError(f"it answers with more than {most // 1024} KiB")
    if most and response.length:
        raise RedlaneError("its answer was cut off")
    return response.status, answer
