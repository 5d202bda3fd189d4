"""One thread that waits for everything at once, and what it reads from and writes to.

Nothing here changes how a descriptor blocks: those of the client are the client's too.
"""

import os
import select
import socket
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress

__all__ = ["Inlet", "Loop", "Outlet"]

_READ = select.POLLIN | select.POLLHUP | select.POLLERR
_GONE = select.POLLHUP | select.POLLERR
_PIECE = 64 * 1024  # for more, memory is mapped anew with each read
_AT_ONCE = 4096
"""What a pipe takes without blocking when it takes anything (PIPE_BUF)."""


class Loop:
    """Calls back when a descriptor is ready."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self._poll = select.poll()
        self._calls: dict[int, Callable[[], None]] = {}

    def watch(self, descriptor: int, events: int, call: Callable[[], None]) -> None:
        """Have `call` called whenever one of `events` is there, or an error."""
        self._calls[descriptor] = call
        self._poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """Look at it no longer."""
        if self._calls.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def turn(self, seconds: float | None = None) -> None:
        """Wait until something is ready, and see to it."""
        limit = None if seconds is None else seconds * 1000
        for descriptor, _ in self._poll.poll(limit):
            call = self._calls.get(descriptor)
            if call is not None:  # what was called before may have put an end to it
                call()


class Inlet:
    """Reads what comes, as long as it is wanted."""

    def __init__(
        self,
        loop: Loop,
        descriptor: int,
        take: Callable[[bytes], None],
        end: Callable[[], None],
    ) -> None:
        """Give each piece to `take`, and call `end` when there is no more."""
        self._loop = loop
        self._descriptor = descriptor
        self._take = take
        self._end = end
        self._open = True
        self._watched = False
        self.want(wanted=True)

    def want(self, *, wanted: bool) -> None:
        """Read, or let it wait."""
        if wanted == self._watched or (wanted and not self._open):
            return
        self._watched = wanted
        if wanted:
            self._loop.watch(self._descriptor, _READ, self._read)
        else:
            self._loop.unwatch(self._descriptor)

    def close(self) -> None:
        """Read no more, whatever comes."""
        self._open = False
        self.want(wanted=False)

    def _read(self) -> None:
        try:
            piece = os.read(self._descriptor, _PIECE)
        except OSError:
            piece = b""
        if piece:
            self._take(piece)
        elif self._open:
            self.close()
            self._end()


class _Pipe:
    """A pipe, opened once more: how that blocks is nobody else's matter."""

    def __init__(self, descriptor: int) -> None:
        path = f"/proc/self/fd/{descriptor}"
        self._own = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def write(self, data: memoryview) -> int:
        return os.write(self._own, data)

    def close(self) -> None:
        os.close(self._own)


class _Socket:
    """A socket, which can be told at each call not to block."""

    def __init__(self, descriptor: int) -> None:
        self._own = socket.socket(fileno=os.dup(descriptor))

    def write(self, data: memoryview) -> int:
        return self._own.send(data, socket.MSG_DONTWAIT)

    def close(self) -> None:
        self._own.close()


class _Other:
    """Whatever else: it is asked before each small piece whether it takes one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)

    def write(self, data: memoryview) -> int:
        if not self._poll.poll(0):
            raise BlockingIOError
        return os.write(self._descriptor, data[:_AT_ONCE])

    def close(self) -> None:
        """The descriptor is not ours."""


def _sink(descriptor: int) -> _Pipe | _Socket | _Other:
    """How to write to a descriptor without ever blocking, nor changing it."""
    mode = os.fstat(descriptor).st_mode
    with suppress(OSError):  # a pipe may be another user's
        if stat.S_ISFIFO(mode):
            return _Pipe(descriptor)
        if stat.S_ISSOCK(mode):
            return _Socket(descriptor)
    return _Other(descriptor)


class Outlet:
    """Writes as much as goes, and keeps the rest."""

    def __init__(self, loop: Loop, descriptor: int, broken: Callable[[], None]) -> None:
        """Call `broken` once when nobody reads any more."""
        self._loop = loop
        self._descriptor = descriptor
        self._broken = broken
        self._unsent: deque[memoryview] = deque()
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLOUT)
        self._sink = _sink(descriptor)
        self.pending = 0
        """How many bytes are kept."""
        self.is_open = True
        self._wanted = -1
        self._watch()

    def write(self, data: bytes) -> None:
        """Send `data` behind all that was to be sent before."""
        if not self.is_open or not data:
            return
        self.pending += len(data)
        self._unsent.append(memoryview(data))
        if len(self._unsent) == 1:
            self._send()
            self._watch()

    def close(self) -> None:
        """Send nothing more."""
        if not self.is_open:  # its descriptor may be another's by now
            return
        self.is_open = False
        self._sink.close()
        self._loop.unwatch(self._descriptor)
        self._unsent.clear()
        self.pending = 0

    def _watch(self) -> None:
        """Wait until more goes; that nobody reads any more is noticed in any case."""
        wanted = select.POLLOUT if self._unsent else 0
        if self.is_open and wanted != self._wanted:
            self._wanted = wanted
            self._loop.watch(self._descriptor, wanted, self._resume)

    def _resume(self) -> None:
        if self._unsent:
            self._send()
            self._watch()
        elif any(event & _GONE for _, event in self._poll.poll(0)):
            self._break()

    def _break(self) -> None:
        self.close()
        self._broken()

    def _send(self) -> None:
        try:
            while self._unsent:
                piece = self._unsent[0]
                sent = self._sink.write(piece)
                self.pending -= sent
                if sent == len(piece):
                    self._unsent.popleft()
                else:
                    self._unsent[0] = piece[sent:]
        except BlockingIOError:
            return
        except OSError:
            self._break()
