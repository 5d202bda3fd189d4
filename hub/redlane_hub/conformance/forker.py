"""The checker's process: `python -I -m redlane_hub.conformance.forker`.

It has imported what a check needs and nothing that is secret. Standard input is a
socket: over it come further sockets, one a check, and for each this forks a process
that reads the request, answers and ends. When standard input ends, so does this.

An answer is one line of JSON, `{"problem": …}`; the last line, `{"ended": …}`, is the
exit status of the process that answered, or minus the signal that ended it.
"""

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from typing import NoReturn

from redlane_hub.conformance.check import problem
from redlane_hub.conformance.dialects import DEFAULT
from redlane_hub.conformance.limits import limit_this_process

__all__ = ["READY", "Forker", "main"]

READY = b"ready"
"""What is sent once, when checks can begin."""

_CHUNK = 1 << 16
_DEEPEST_CALLS = 6000
"""Content and schema nest up to 64 deep, and each level costs several calls."""


class Forker:
    """One process a check, and the word of how each ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._ended, self._waker = socket.socketpair()

    def run(self) -> None:
        """Serve until the other side is gone."""
        for end in (self._ended, self._waker):
            end.settimeout(0)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._ended, selectors.EVENT_READ)
        self._control.send(READY)
        while True:
            for key, _events in self._selector.select():
                if key.fileobj is self._ended:
                    self._ended.recv(_CHUNK)
                    self._reap()
                elif not self._accept():
                    return

    def _accept(self) -> bool:
        """Start the next check; whether there may be more."""
        data, descriptors, _flags, _address = socket.recv_fds(self._control, 1, 1)
        if not data:
            return False
        for descriptor in descriptors:
            channel = socket.socket(fileno=descriptor)
            child = os.fork()
            if child == 0:
                self._check(channel)
            self._running[child] = channel
        return True

    def _check(self, channel: socket.socket) -> NoReturn:
        """The new process: whatever happens here, it never returns."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            limit_this_process()
            self._selector.close()
            for other in (self._control, self._ended, self._waker):
                other.close()
            for other in self._running.values():
                other.close()
            channel.sendall(_answer(_read(channel)))
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            channel = self._running.pop(child)
            ended = json.dumps({"ended": os.waitstatus_to_exitcode(status)})
            # Nobody may be waiting any more, and nobody is worth waiting for.
            channel.settimeout(0)
            with contextlib.suppress(OSError):
                channel.send(f"{ended}\n".encode())
            channel.close()


def _read(channel: socket.socket) -> bytes:
    parts = []
    while part := channel.recv(_CHUNK):
        parts.append(part)
    return b"".join(parts)


def _answer(request: bytes) -> bytes:
    try:
        asked = json.loads(request)
        found = problem(asked["schema"], json.loads(asked["content"]))
    except MemoryError:
        found = "checking 'content' against 'schema' needs too much memory"
    return json.dumps({"problem": found}).encode() + b"\n"


def main() -> None:
    """Serve the socket that is standard input."""
    sys.setrecursionlimit(_DEEPEST_CALLS)
    # The first use of a draft prepares what later ones find ready.
    problem({"$ref": "#/$defs/any", "$defs": {"any": {}}}, None)
    problem({"$schema": DEFAULT.uri, "type": "null"}, None)
    # What was imported stays shared with the forked processes.
    gc.collect()
    gc.freeze()
    gc.disable()
    Forker(socket.socket(fileno=0)).run()


if __name__ == "__main__":
    main()
