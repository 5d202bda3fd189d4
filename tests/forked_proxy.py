"""Proxies forked from a process that has loaded them: importing takes a second."""

import os
import socket
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import NoReturn

from fork_server import ForkedProcess, ForkServer, serve

__all__ = ["fork_proxy"]

_STREAMS = (0, 1, 2)


def fork_proxy(listener: socket.socket, channel: socket.socket) -> ForkedProcess:
    """A proxy that serves `listener`, with our standard streams."""
    given = (listener.fileno(), channel.fileno())
    return _loaded().fork(b"serve", _STREAMS, given)


@cache
def _loaded() -> ForkServer:
    return ForkServer(Path(__file__))


def _be_proxy(listener: int, channel: int) -> NoReturn:
    """Do what `python -m redlane.proxy` does."""
    sys.argv[1:] = ["--listener", str(listener), "--channel", str(channel)]
    try:
        main()
    except BaseException:  # noqa: BLE001  # nothing else is to go on in this process
        traceback.print_exc()
    os._exit(1)


if __name__ == "__main__":
    import redlane.proxy.serving  # noqa: F401  # what takes the second
    from redlane.proxy.main import main

    _be_proxy(*serve(int(sys.argv[1]))[1])
