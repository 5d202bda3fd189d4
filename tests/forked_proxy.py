"""Proxies forked from one process that has loaded them: importing takes a second each.

`forked_proxy.py FD` loads the proxy, and forks one for each request that comes
over the socket FD, to the end of that.
"""

import atexit
import functools
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

__all__ = ["ForkedProcess", "fork_proxy"]

_NUMBER = struct.Struct("i")
_STANDARD = (0, 1, 2)
_MOST_DESCRIPTORS = 3 + len(_STANDARD)


class ForkedProcess:
    """A proxy that is no child of ours: another process tells how it ended."""

    def __init__(self, told: socket.socket) -> None:
        """`told` brings its number, and how it ended."""
        self._told = told
        self._ended: int | None = None
        self.pid = self._number()

    def wait(self, seconds: float) -> int:
        """How it ended, as subprocess says it; raises TimeoutError."""
        if self._ended is None:
            self._told.settimeout(seconds)
            self._ended = self._number()
            self._told.close()
        return self._ended

    def _number(self) -> int:
        data = self._told.recv(_NUMBER.size)
        if not data:
            raise EOFError
        number: int = _NUMBER.unpack(data)[0]
        return number


def fork_proxy(listener: socket.socket, channel: socket.socket) -> ForkedProcess:
    """A proxy that serves `listener`, with our standard streams."""
    ours, theirs = _pair()
    with theirs:
        given = [listener.fileno(), channel.fileno(), theirs.fileno(), *_STANDARD]
        socket.send_fds(_loaded(), [b"fork"], given)
    return ForkedProcess(ours)


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


@functools.cache
def _loaded() -> socket.socket:
    """The way to the process that forks, which ends with ours."""
    ours, theirs = _pair()
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(number)], pass_fds=[number]
        )

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork as often as is asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those between
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end of its socket is its end
    gc.collect()
    gc.freeze()  # a child that collects need not look at what is loaded, and copy it
    while True:
        data, given, _, _ = socket.recv_fds(requests, 16, _MOST_DESCRIPTORS)
        if not data:
            return
        if os.fork() == 0:
            requests.close()
            _stand_between(given)
        for each in given:
            os.close(each)


def _stand_between(given: Sequence[int]) -> NoReturn:
    """Fork a proxy, and tell its number and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    listener, channel, told, *standard = given
    pid = os.fork()
    if pid == 0:
        os.close(told)
        for own, each in zip(_STANDARD, standard, strict=True):
            os.dup2(each, own)
            os.close(each)
        _be_proxy(listener, channel)
    for each in (listener, channel, *standard):
        os.close(each)
    with suppress(BrokenPipeError):  # who asked may be gone
        os.write(told, _NUMBER.pack(pid))
        _, status = os.waitpid(pid, 0)
        os.write(told, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)


def _be_proxy(listener: int, channel: int) -> NoReturn:
    """Do what `python -m redlane.proxy` does."""
    sys.argv[1:] = ["--listener", str(listener), "--channel", str(channel)]
    try:
        main()
    except BaseException:  # noqa: BLE001  # it may not go on as the one that forks
        traceback.print_exc()
    os._exit(1)


if __name__ == "__main__":
    import redlane.proxy.serving  # noqa: F401  # what takes the second
    from redlane.proxy.main import main

    with socket.socket(fileno=int(sys.argv[1])) as _requests:
        _serve(_requests)
