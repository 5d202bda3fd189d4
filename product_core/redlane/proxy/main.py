"""The proxy's process: from the daemon's descriptors to its end."""

import asyncio
import ctypes
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from redlane.proxy.channel import Channel

__all__ = ["main"]

_FAILED = 2
_SET_DUMPABLE = 4
_OOM, _OOM_SCORE = Path("/proc/self/oom_score_adj"), 200
"""As if it had a fifth of the machine's memory besides its own."""


def main() -> NoReturn:
    """Serve the listener given, judged over the channel given, and end with it."""
    logging.basicConfig(level=logging.WARNING, format="redlane-proxy: %(message)s")
    listener, channel = _parse(sys.argv[1:])
    _bound()
    # The authority's key is in this memory: no process of the same user may look in.
    ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    status = 0
    try:
        _serve(listener, channel)
    except Exception as error:  # noqa: BLE001  # the last to be told of it
        reason = f"{type(error).__name__}: {error}".replace("\n", " ")
        with suppress(OSError):
            channel.tell({"failed": reason[:1000]})
        status = _FAILED
    sys.stderr.flush()
    os._exit(status)  # threads may still look names up


def _bound() -> None:
    """Hold as many connections as may be, and go first where memory is short.

    The daemon starts another proxy; what else goes for lack of memory stays away.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with suppress(ValueError, OSError):
        own = max(int(_OOM.read_text()), _OOM_SCORE)
        _OOM.write_text(str(own))


def _parse(words: Sequence[str]) -> tuple[socket.socket, Channel]:
    """`--listener FD --channel FD`, as the daemon gives them."""
    options = dict(zip(words[::2], words[1::2], strict=True))
    listener = socket.socket(fileno=int(options["--listener"]))
    listener.setblocking(False)  # noqa: FBT003  # positional only
    return listener, Channel(socket.socket(fileno=int(options["--channel"])))


def _serve(listener: socket.socket, channel: Channel) -> None:
    from redlane.proxy.serving import serve  # noqa: PLC0415  # imports for a second

    asyncio.run(serve(listener, channel))
