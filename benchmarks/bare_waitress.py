"""Serves constant bytes with waitress alone: the floor for what a hub takes.

bare_waitress.py PORT SIZE
"""

import logging
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import waitress

if TYPE_CHECKING:
    from wsgiref.types import StartResponse

__all__: list[str] = []

BODY = b"x" * int(sys.argv[2])
HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(BODY)))]


def constant(
    _environ: dict[str, Any], start_response: "StartResponse"
) -> Iterable[bytes]:
    """The same answer to everything."""
    start_response("200 OK", HEADERS)
    return [BODY]


# It would tell of every request that waits for a thread.
logging.getLogger("waitress.queue").setLevel(logging.ERROR)
waitress.serve(
    constant,
    listen=f"127.0.0.1:{sys.argv[1]}",
    threads=16,
    connection_limit=1000,
    ident=None,
)
