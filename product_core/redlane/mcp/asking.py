"""Questions to the daemon, over lanes of the shell socket.

Most answers come within a fraction of a millisecond, so they are waited for; the
others come while everything else goes on. Whatever fails on the way is a refusal.
"""

import os
import select
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redlane.contexts.shell.client.locate import locate
from redlane.contexts.shell.client.message import EndingError
from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    ProxyFrameError,
    body_length,
    pack,
    unpack,
)
from redlane.control.shell_frames import LANE
from redlane.control.sockets import connect_socket
from redlane.mcp.loop import Loop
from redlane.mcp.usual_place import usual_place
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.paths import SHELL_SOCKET

__all__ = ["Answer", "Asking", "Questions", "find_socket"]

_SOON_MILLISECONDS = 3
_SECONDS = 30.0
_MOST_LANES = 48
_PIECE = 64 * 1024  # for more, memory is mapped anew with each read
_TIMEVAL = struct.Struct("@ll")


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of something.

    `contents` is what it was rewritten to. `failed`: there is no verdict, for nobody
    could be asked. `tools` tells how each of several tools stands, and why; `again`:
    that has changed since it was told.
    """

    blocked: bool
    policy: str | None = None
    reason: str = ""
    suggestion: str | None = None
    event: str | None = None
    contents: tuple[bytes, ...] = ()
    failed: bool = False
    tools: tuple[tuple[str, str], ...] = ()
    again: bool = False


class Asking:
    """A question whose answer is not there yet; `take_back` asks no more."""

    def __init__(self, lane: "_Lane", loop: Loop) -> None:
        """Nobody is told before `then`."""
        self._lane = lane
        self._loop = loop

    def then(self, call: Callable[[Answer], None]) -> None:
        """Have `call` told the answer, whatever it is."""

        def ready() -> None:
            try:
                answer = self._lane.receive(wait=False)
            except _GoneError as error:
                answer = _no_answer(str(error))
            if answer is not None:
                self._loop.unwatch(self._lane.descriptor)
                call(answer)

        self._loop.watch(self._lane.descriptor, select.POLLIN, ready)

    def take_back(self) -> None:
        """Hang up: what is held for it is taken back."""
        self._loop.unwatch(self._lane.descriptor)
        self._lane.close()


class Questions:
    """Asks the daemon that this process is to ask."""

    def __init__(self, loop: Loop, find: Callable[[], Path]) -> None:
        """Connect to the shell socket that `find` finds; it may raise EndingError."""
        self._loop = loop
        self._find = find
        self._idle: list[_Lane] = []
        self._lanes = 0

    def ask(
        self,
        context: Context,
        blobs: Sequence[bytes],
        details: Sequence[str],
        values: int = 1,
        more: Mapping[str, object] = MappingProxyType({}),
    ) -> Answer | Asking:
        """The verdict on the first `values` of `blobs`, or how it is waited for.

        `more` is what else goes with the question.
        """
        document = {
            "kind": "judge",
            "context": context.value,
            "details": list(details),
            "values": values,
            **more,
        }
        data = b"".join(pack(document, blobs))
        try:
            return self._ask(data)
        except (OSError, _GoneError, EndingError) as error:
            return _no_answer(str(error))

    def close(self) -> None:
        """Hang up every lane that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _ask(self, data: bytes) -> Answer | Asking:
        if self._idle:
            lane = self._idle.pop()
            try:
                return self._asked(lane, data)
            except (OSError, _GoneError):
                lane.close()  # the daemon was started again, perhaps
        if self._lanes >= _MOST_LANES:
            raise _GoneError("too much of it is held or judged at once")
        return self._asked(self._open(), data)

    def _asked(self, lane: "_Lane", data: bytes) -> Answer | Asking:
        lane.send(data)
        answer = lane.receive(wait=True)
        return Asking(lane, self._loop) if answer is None else answer

    def _open(self) -> "_Lane":
        path = self._find()
        try:
            connection = connect_socket(path, _SECONDS)
        except OSError as error:
            why = error.strerror or str(error)
            raise _GoneError(
                f"none at {path}: {why}; start it with: redlane start"
            ) from error
        # The kernel's own timeouts: Python's would cost a system call each time.
        limit = _TIMEVAL.pack(int(_SECONDS), 0)
        connection.settimeout(None)
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, limit)
        self._lanes += 1
        return _Lane(connection, self._idle.append, self._count_down)

    def _count_down(self) -> None:
        self._lanes -= 1


class _GoneError(Exception):
    """There will be no answer."""


class _Lane:
    """A connection on which one question at a time is asked."""

    def __init__(
        self,
        connection: socket.socket,
        give_back: Callable[["_Lane"], None],
        closed: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._give_back = give_back
        self._closed = closed
        self._greeting = LANE
        self._received = bytearray()
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    @property
    def descriptor(self) -> int:
        return self._connection.fileno()

    def send(self, data: bytes) -> None:
        self._connection.sendall(self._greeting + data)
        self._greeting = b""

    def receive(self, *, wait: bool) -> Answer | None:
        """The answer, None while it is on its way; raises _GoneError."""
        if wait and not self._poll.poll(_SOON_MILLISECONDS):
            return None
        try:
            frame = self._take()
        except (OSError, ProxyFrameError) as error:
            self.close()
            raise _GoneError(f"the daemon's answer: {error}") from None
        if frame is None:
            return None
        self._give_back(self)
        return _read(frame)

    def close(self) -> None:
        if self.descriptor >= 0:
            self._connection.close()
            self._closed()

    def _take(self) -> ProxyFrame | None:
        received = self._received
        while True:
            piece = self._connection.recv(_PIECE)
            if not piece:
                raise ProxyFrameError("it has hung up")
            received += piece
            if len(received) >= HEAD_BYTES:
                head = bytes(received[:HEAD_BYTES])
                if len(received) >= HEAD_BYTES + body_length(head):
                    break
            if not self._poll.poll(0):
                return None
        frame = unpack(head, bytes(received[HEAD_BYTES:]))
        received.clear()
        return frame


def find_socket() -> Path:
    """The shell socket of the daemon to ask; inside a session the kernel says which."""
    place = locate(b"", usual_place(os.environ))
    return Path(os.fsdecode(place.socket)).with_name(SHELL_SOCKET)


def _read(frame: ProxyFrame) -> Answer:
    document: Mapping[str, Any] = frame.document
    try:
        decision = Decision(document["verdict"])
        if decision is Decision.MODIFY and not frame.blobs:
            return _no_answer("the rewritten content is missing")
        # A flag that comes back was not held: it is no permission.
        return Answer(
            blocked=decision in {Decision.BLOCK, Decision.FLAG},
            policy=document["policy"],
            reason=str(document["reason"]),
            suggestion=document["suggestion"],
            event=document["event"],
            contents=frame.blobs if decision is Decision.MODIFY else (),
            failed=document["refused"] is not None,
            tools=tuple((str(how), str(why)) for how, why in document.get("tools", ())),
            again=document.get("again") is True,
        )
    except (KeyError, TypeError, ValueError):
        return _no_answer("its answer is not understood")


def _no_answer(reason: str) -> Answer:
    return Answer(
        blocked=True,
        reason=f"the daemon cannot be asked: {reason}",
        failed=True,
    )
