"""What comes over a connection, in pieces as long as the reader wants them."""

import select
import socket
import struct
import time

from redlane.wire.frames import FrameError

__all__ = ["Incoming"]

_PIECE = 64 * 1024
_LARGE_PIECE = 1024 * 1024
_TIMEVAL = struct.Struct("@ll")


class Incoming:
    """Reads as much as is there at once, and gives it out as it is asked for.

    The connection stays blocking, so that what comes whole, as nearly everything does,
    costs one system call; the deadlines are those of polls and of the kernel.
    """

    def __init__(
        self, connection: socket.socket, seconds: float, begun: bytes = b""
    ) -> None:
        """Once something begins, `seconds` is how long it may take, either way.

        `begun` has come already.
        """
        self._connection = connection
        self._seconds = seconds
        self._deadline = 0.0
        self._buffer = bytearray(begun)
        connection.setblocking(True)  # noqa: FBT003  # positional only
        limit = _TIMEVAL.pack(int(seconds), 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def head(self, length: int) -> bytes | None:
        """The beginning of the next message, awaited for ever.

        None: it is hung up. Raises OSError or FrameError, as all here.
        """
        if not self._buffer:
            self._buffer += self._connection.recv(_PIECE)
            if not self._buffer:
                return None
        self._deadline = time.monotonic() + self._seconds
        return self.take(length)

    def take(self, length: int) -> bytes:
        """The next so many bytes."""
        while len(self._buffer) < length:
            self._read(min(length - len(self._buffer), _LARGE_PIECE))
        taken = bytes(memoryview(self._buffer)[:length])
        del self._buffer[:length]
        return taken

    def skip(self, length: int) -> None:
        """Let so many bytes go by that nobody looks at."""
        while length:
            length -= len(self.take(min(length, _PIECE)))

    def _read(self, most: int) -> None:
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        left = self._deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise TimeoutError
        piece = self._connection.recv(most)
        if not piece:
            raise FrameError("the frame ends too early")
        self._buffer += piece
