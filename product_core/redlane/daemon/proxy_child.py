"""One process of the proxy: started, spoken to, and ended.

It inherits the listening socket and one end of a channel, and nothing else of ours. It
dies with us, however we die: the kernel kills it, and its channel closes.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redlane.engine.boundary import one_line
from redlane.execution import SEARCH_PATH

__all__ = ["ChildMessage", "ProxyChild"]

_STARTER = """\
import ctypes, os, signal, sys
failed = ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
if failed or os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execv(sys.argv[2], sys.argv[2:])"""
"""Asks to be killed when the thread that started it ends; then becomes the proxy."""

_MOST_BYTES = 64 * 1024
_MOST_DESCRIPTORS = 4
_TOLD_BYTES = 4096
_SEND_SECONDS = 5.0
_END_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ChildMessage:
    """What the proxy says; `connection` is our end of one on which it will ask."""

    document: Mapping[str, Any]
    connection: socket.socket | None = None


class ProxyChild:
    """A process; to be started by a thread that lives as long as it should."""

    def __init__(self, command: Sequence[str], listener: socket.socket) -> None:
        """Start `command` with `listener`; raises OSError."""
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                self._process = _start(command, listener.fileno(), theirs.fileno())
        except BaseException:
            self.channel.close()
            raise
        self.channel.settimeout(_SEND_SECONDS)
        assert self._process.stderr is not None  # noqa: S101  # it is a pipe
        self.stderr = self._process.stderr.fileno()
        os.set_blocking(self.stderr, False)
        self._told = b""

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def send(self, message: bytes) -> None:
        """Tell it the settings; raises OSError."""
        self.channel.sendall(message)

    def hint(self, message: bytes) -> None:
        """Tell it to look at something, unless it has not heard the last hints yet.

        Raises OSError.
        """
        poll = select.poll()
        poll.register(self.channel, select.POLLOUT)
        if poll.poll(0):
            self.channel.sendall(message)

    def receive(self) -> ChildMessage | None:
        """The next thing that it says; None when it has hung up.

        Raises OSError, or ValueError for what is no message.
        """
        data, descriptors, _, _ = socket.recv_fds(
            self.channel, _MOST_BYTES, _MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
        try:
            if not data:
                return None
            document = json.loads(data)
            if not isinstance(document, dict):
                raise ValueError("the proxy says what is no message")  # noqa: TRY004  # as json.loads does
            connection = None
            if document.get("connection") is True and len(descriptors) == 1:
                connection = socket.socket(fileno=descriptors.pop())
            return ChildMessage(document, connection)
        finally:
            for each in descriptors:
                os.close(each)

    def hear(self) -> bool:
        """Take in what it has written on standard error; False once that is closed."""
        while True:
            try:
                piece = os.read(self.stderr, _MOST_BYTES)
            except BlockingIOError:
                return True
            if not piece:
                return False
            self._told = (self._told + piece)[-_TOLD_BYTES:]

    def end(self) -> str:
        """Kill it and all of its group, and tell how it has ended in one line."""
        self.channel.close()  # for the proxy, that is the end
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        self.hear()
        if self._process.stderr is not None:
            self._process.stderr.close()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        lines = self._told.decode(errors="replace").strip().splitlines()
        return f"{how}: {one_line(lines[-1])}" if lines else how


def _start(
    command: Sequence[str], listener: int, channel: int
) -> "subprocess.Popen[bytes]":
    options = ["--listener", str(listener), "--channel", str(channel)]
    starter = [sys.executable, "-I", "-c", _STARTER, str(os.getpid())]
    return subprocess.Popen(
        [*starter, *command, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        env={"PATH": SEARCH_PATH, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
        pass_fds=(listener, channel),
        process_group=0,
    )
