"""The command `redlane` without the half second that Python takes to import it.

A process of its own imports what the commands need, once for each worker, and forks for
each command: what runs is the same code in a process that has just begun. Commands that
look at how they themselves were started are to be started really.

Run as a program, this is that process: `preloaded.py DESCRIPTOR` reads requests from a
socket, and ends with whoever holds the other end.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["Ended", "run_preloaded"]

Ended = tuple[int, bytes, bytes]
"""The exit status of a command, and what it wrote."""

_IMPORTED = (
    "redlane.cli.config",
    "redlane.cli.daemon",
    "redlane.cli.events",
    "redlane.cli.plugins",
    "redlane.cli.reload",
    "redlane.cli.review",
    "redlane.cli.session",
    "redlane.cli.validate",
    "redlane.daemon.service",
    "redlane_match_executable",
    "redlane_match_mcp",
    "redlane_match_regex",
    "redlane_match_simple",
)
_MOST = 4 * 1024 * 1024


def run_preloaded(
    words: Sequence[str | bytes],
    stdin: bytes,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float,
) -> Ended:
    """Run `redlane WORDS…`, as subprocess.run would with its output captured.

    Raises subprocess.TimeoutExpired, once the command has been killed.
    """
    request = {
        "words": [os.fsdecode(each) for each in words],
        "env": dict(env),
        "cwd": os.fspath(cwd),
    }
    pipes = [os.pipe() for _ in range(3)]
    (child_in, our_in), (our_out, child_out), (our_err, child_err) = pipes
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            head = json.dumps(request).encode(errors="surrogateescape")
            given = [child_in, child_out, child_err, theirs.fileno()]
            _server().send(head, given)
        for each in given[:3]:
            os.close(each)
        streams = _Streams(our_in, stdin, our_out, our_err)
        told = ours.makefile("r")
        pid = int(told.readline())
        ours.settimeout(timeout)
        try:
            status = int(told.readline())
            out, err = streams.read(timeout)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(words), timeout) from None
    return status, out, err


class _Streams:
    """Feeds a command, and reads what it writes to the end."""

    def __init__(self, to: int, data: bytes, *sources: int) -> None:
        """Start a thread for each pipe; they are closed by those."""
        self._read: list[bytes] = [b""] * len(sources)
        jobs = [threading.Thread(target=self._feed, args=(to, data))]
        jobs += [
            threading.Thread(target=self._drain, args=each)
            for each in enumerate(sources)
        ]
        self._threads = jobs
        for each in jobs:
            each.daemon = True
            each.start()

    def read(self, timeout: float) -> list[bytes]:
        """What has been written, once nobody can write any more."""
        for each in self._threads:
            each.join(timeout)
            if each.is_alive():
                raise TimeoutError
        return self._read

    def _feed(self, to: int, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(to, "wb", 0) as stream:
            while data:
                data = data[stream.write(data) or 0 :]

    def _drain(self, number: int, source: int) -> None:
        with os.fdopen(source, "rb") as stream:
            self._read[number] = stream.read()


class _Server:
    """The process that forks, as a worker sees it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MOST)
        self._lock = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
                cwd="/",
            )

    def send(self, request: bytes, descriptors: Sequence[int]) -> None:
        """Ask for a command with these as its streams, and where to tell its end."""
        with self._lock:
            socket.send_fds(self._socket, [request], list(descriptors))


@cache
def _server() -> _Server:
    return _Server()


def _serve(requests: socket.socket) -> None:
    """Fork for each request; returns in the child that is to be the command."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, _MOST, 4)
        if not request:
            os._exit(0)
        if not os.fork():
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _stand_by(descriptors)
            _become(json.loads(request), descriptors)
            return
        for each in descriptors:
            os.close(each)


def _stand_by(descriptors: Sequence[int]) -> None:
    """Fork the command and tell of it; only the child that is to be it returns."""
    *streams, teller = descriptors
    child = os.fork()
    if not child:
        os.close(teller)
        return
    for each in streams:
        os.close(each)
    os.write(teller, b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(teller, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
    """Take over streams, words, directory and environment."""
    for number, each in enumerate(descriptors[:3]):
        os.dup2(each, number)
        os.close(each)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv[:] = request["words"]
    sys.stdin = _stream(0, "rb", "surrogateescape")
    sys.stdout = _stream(1, "wb", "surrogateescape")
    sys.stderr = _stream(2, "wb", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def _stream(
    number: int, mode: str, errors: str, *, line_buffering: bool = False
) -> io.TextIOWrapper:
    """What Python makes of a pipe when it starts."""
    pipe: Any = open(number, mode)  # noqa: SIM115  # it is closed at the end
    return io.TextIOWrapper(pipe, "utf-8", errors, line_buffering=line_buffering)


def _main() -> NoReturn:
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in _IMPORTED:
        importlib.import_module(name)
    from redlane.cli.main import main  # noqa: PLC0415  # the server's alone

    gc.collect()
    gc.freeze()
    _serve(requests)
    sys.exit(main())


if __name__ == "__main__":
    _main()
