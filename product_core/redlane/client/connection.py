"""One connection to the daemon on which questions are asked, one after the other.

Most answers come within a fraction of a millisecond. To wait that long is cheaper than
to go once around an event loop, so it is done first; then whoever asks waits as usual.
Nothing here blocks longer than that.
"""

import select
import socket
from collections import deque
from contextlib import suppress
from itertools import islice

from redlane.errors import DaemonError
from redlane.wire.answer import Answer, AnswerError, read_answer
from redlane.wire.frames import HEAD_BYTES, Frame, FrameError, body_length, unpack
from redlane.wire.held import HeldNotice, read_held
from redlane.wire.question import Question

__all__ = ["ConnectionLostError", "QuestionConnection"]

_SOON_MILLISECONDS = 2
_PIECE = 64 * 1024  # for more, memory is mapped anew with each read
_MOST_PIECES = 256
"""How many pieces are sent at once: the kernel takes some more (IOV_MAX)."""


class ConnectionLostError(DaemonError):
    """There will be no answer on this connection."""


class QuestionConnection:
    """Asks over a connected socket, which it owns from here on."""

    def __init__(self, connection: socket.socket, greeting: bytes = b"") -> None:
        """Nothing is sent yet; `greeting` goes with the first question."""
        connection.setblocking(False)  # noqa: FBT003  # positional only
        self._socket = connection
        self._greeting = greeting
        self._unsent: deque[bytes | memoryview] = deque()
        self._received = bytearray()
        self.held: HeldNotice | None = None
        """What the daemon has said of the question: that it waits for a decision."""
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    def fileno(self) -> int:
        """The descriptor to wait for: until it is ready for one of `events`."""
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        """Whether some of the question is not sent yet."""
        return bool(self._unsent)

    @property
    def events(self) -> int:
        """What is waited for, as poll(2) has it."""
        return select.POLLOUT if self._unsent else select.POLLIN

    def ask(self, question: Question) -> None:
        """Send a question, as far as it goes; raises ConnectionLostError."""
        self.held = None
        # Not put together, for contents may be large.
        self._unsent.extend(question.pieces())
        if self._greeting:
            self._unsent.appendleft(self._greeting)
            self._greeting = b""
        self._send()

    def soon(self) -> Answer | None:
        """The answer, if it comes at once; raises ConnectionLostError."""
        if self._unsent or not self._poll.poll(_SOON_MILLISECONDS):
            return None
        return self.advance()

    def advance(self) -> Answer | None:
        """Do what goes; the answer, once it is whole. Raises ConnectionLostError."""
        if self._unsent:
            self._send()
            return None
        with suppress(BlockingIOError):
            try:
                piece = self._socket.recv(_PIECE)
            except OSError as error:
                if isinstance(error, BlockingIOError):
                    raise
                raise _lost(str(error)) from error
            if not piece:
                raise _lost("it has hung up")
            self._received += piece
        return self._answer()

    def close(self) -> None:
        """Hang up: what is held for the question is taken back."""
        self._socket.close()

    def _send(self) -> None:
        try:
            while self._unsent:
                some = islice(self._unsent, _MOST_PIECES)
                self._forget(self._socket.sendmsg(some))
        except BlockingIOError:
            return
        except OSError as error:
            raise _lost(str(error)) from error

    def _forget(self, sent: int) -> None:
        """Keep what is left behind so many bytes."""
        while self._unsent and sent >= len(self._unsent[0]):
            sent -= len(self._unsent.popleft())
        if sent:
            self._unsent[0] = memoryview(self._unsent[0])[sent:]

    def _answer(self) -> Answer | None:
        try:
            frame = self._frame()
            while frame is not None and (held := read_held(frame.document)):
                self.held = held
                frame = self._frame()
            if frame is None:
                return None
            self._received.clear()
            return read_answer(frame)
        except (FrameError, AnswerError) as error:
            raise _lost(str(error)) from error

    def _frame(self) -> Frame | None:
        """The first frame of what has come, if it is whole; raises FrameError."""
        received = self._received
        if len(received) < HEAD_BYTES:
            return None
        head = bytes(received[:HEAD_BYTES])
        end = HEAD_BYTES + body_length(head)
        if len(received) < end:
            return None
        body = bytes(received[HEAD_BYTES:end])
        del received[:end]
        return unpack(head, body)


def _lost(why: str) -> ConnectionLostError:
    return ConnectionLostError(f"the daemon's answer: {why}")
