"""Lanes to the daemon: one question at a time on each, as many as are needed.

Most answers come within a fraction of a millisecond. To wait that long is cheaper than
to go once around the event loop, so it is done first; then the loop waits as usual.
"""

import asyncio
import select
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    body_length,
    pack,
    unpack,
)

__all__ = ["Asking", "Lanes"]

_MOST_IDLE = 32
_PIECE = 64 * 1024  # for more, memory is mapped anew with each read
_MOST_PIECES = 256
"""How many pieces are sent at once: the kernel takes some more (IOV_MAX)."""

_SOON_MILLISECONDS = 2


class _Lane:
    """A connection to the daemon, and what tells that there is something to read."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)

    def is_ready(self, milliseconds: int) -> bool:
        """Whether something is there within that time."""
        return bool(self._poll.poll(milliseconds))

    def close(self) -> None:
        self.connection.close()


class Asking:
    """A question on its way; it is over with an answer, or with `hang_up`."""

    def __init__(
        self,
        lane: _Lane,
        pieces: Sequence[bytes],
        give_back: Callable[[_Lane], None],
    ) -> None:
        """Send `pieces` over `lane`, and `give_back` the lane after the answer."""
        self._lane = lane
        self._unsent: deque[bytes | memoryview] = deque(
            pieces
        )  # not put together: they may be large
        self._received = bytearray()
        self._give_back = give_back
        self._send_what_fits()

    def _send_what_fits(self) -> None:
        with suppress(BlockingIOError):
            while self._unsent:
                some = islice(self._unsent, _MOST_PIECES)
                self._forget(self._lane.connection.sendmsg(some))

    def _forget(self, sent: int) -> None:
        """Keep what is left behind so many bytes."""
        while self._unsent and sent >= len(self._unsent[0]):
            sent -= len(self._unsent.popleft())
        if sent:
            self._unsent[0] = memoryview(self._unsent[0])[sent:]

    def soon(self) -> ProxyFrame | None:
        """The answer, if it comes at once; raises like `later`."""
        if self._unsent or not self._lane.is_ready(_SOON_MILLISECONDS):
            return None
        self._take(self._lane.connection.recv(_PIECE))
        return self._answer()

    async def later(self) -> ProxyFrame:
        """The answer, whenever it comes.

        Raises OSError, EOFError or ProxyFrameError; the lane is hung up then.
        """
        loop, connection = asyncio.get_running_loop(), self._lane.connection
        try:
            while self._unsent:
                await loop.sock_sendall(connection, self._unsent.popleft())
            while (answer := self._answer()) is None:
                self._take(await loop.sock_recv(connection, _PIECE))
        except BaseException:
            self.hang_up()
            raise
        return answer

    def hang_up(self) -> None:
        """Ask no more: what is held for this question is taken back."""
        self._lane.close()

    def _take(self, piece: bytes) -> None:
        if not piece:
            raise EOFError("the daemon has hung up")
        self._received += piece

    def _answer(self) -> ProxyFrame | None:
        received = self._received
        if len(received) < HEAD_BYTES:
            return None
        head = bytes(received[:HEAD_BYTES])
        if len(received) < HEAD_BYTES + body_length(head):
            return None
        answer = unpack(head, bytes(received[HEAD_BYTES:]))
        self._give_back(self._lane)
        return answer


class Lanes:
    """Asks the daemon."""

    def __init__(self, hand_over: Callable[[socket.socket], None]) -> None:
        """`hand_over` gives the daemon its end of a new lane."""
        self._hand_over = hand_over
        self._idle: list[_Lane] = []

    def ask(self, document: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> Asking:
        """Send a question; raises OSError."""
        lane = self._idle.pop() if self._idle else self._open()
        try:
            return Asking(lane, pack(document, blobs), self._keep)
        except BaseException:
            lane.close()
            raise

    def _open(self) -> _Lane:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._hand_over(theirs)
            except BaseException:
                ours.close()
                raise
        ours.setblocking(False)  # noqa: FBT003  # positional only
        return _Lane(ours)

    def _keep(self, lane: _Lane) -> None:
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(lane)
        else:
            lane.close()

    def close(self) -> None:
        """Hang up every lane that nobody uses."""
        for lane in self._idle:
            lane.close()
        self._idle.clear()
