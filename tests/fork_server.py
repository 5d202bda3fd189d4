"""A process that has imported what takes long, and forks for each that asks.

What it forks runs the same code as a program that has been started, less the time to
import it. Between the two stands a process that waits: so whoever asks hears how each
ended, though it is no child of theirs.
"""

import atexit
import contextlib
import gc
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["ForkServer", "ForkedProcess", "serve"]

_NUMBER = struct.Struct("i")
_STREAMS = (0, 1, 2)
_MOST_DESCRIPTORS = 8
_MOST_BYTES = 4 * 1024 * 1024


class ForkedProcess:
    """A process that another one waits for."""

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


class ForkServer:
    """The process that forks, as whoever asks sees it; it ends with them."""

    def __init__(self, program: Path, env: Mapping[str, str] | None = None) -> None:
        """Start `program`, which imports things and calls `serve`."""
        self._lock = threading.Lock()
        self._requests, theirs = _pair()
        self._requests.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST_BYTES)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(program), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=env,
            )
        atexit.register(self._end)

    def fork(
        self, request: bytes, streams: Sequence[int], others: Sequence[int] = ()
    ) -> ForkedProcess:
        """A process with these standard streams, and further descriptors."""
        ours, theirs = _pair()
        with theirs, self._lock:
            given = [theirs.fileno(), *streams, *others]
            socket.send_fds(self._requests, [request], given)
        return ForkedProcess(ours)

    def _end(self) -> None:
        self._requests.close()
        self._process.wait()


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def serve(number: int) -> tuple[bytes, list[int]]:
    """Fork for each request that comes over the socket of this number.

    Returns in each process that is forked, its streams in place, with the request and
    the other descriptors; where it was called it ends with the socket, and the program.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those between
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # a child that collects need not look at what is loaded, and copy it
    with socket.socket(fileno=number) as requests:
        while True:
            request, given, _, _ = socket.recv_fds(
                requests, _MOST_BYTES, _MOST_DESCRIPTORS
            )
            if not request:
                os._exit(0)
            if os.fork() == 0:
                break
            for each in given:
                os.close(each)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    teller, *rest = given
    _stand_between(teller, rest)
    signal.signal(signal.SIGINT, before)
    for own, each in zip(_STREAMS, rest, strict=False):
        os.dup2(each, own)
        os.close(each)
    return request, rest[len(_STREAMS) :]


def _stand_between(teller: int, rest: Sequence[int]) -> None:
    """Fork; returns in the child, and tells its number and how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(teller)
        return
    for each in rest:
        os.close(each)
    with contextlib.suppress(BrokenPipeError):  # who asked may be gone
        os.write(teller, _NUMBER.pack(pid))
        _, status = os.waitpid(pid, 0)
        os.write(teller, _NUMBER.pack(os.waitstatus_to_exitcode(status)))
    os._exit(0)
