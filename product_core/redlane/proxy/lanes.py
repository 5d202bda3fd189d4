"""Lanes to the daemon: one question at a time on each, as many as are needed."""

import asyncio
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    body_length,
    pack,
    unpack,
)

__all__ = ["Lanes"]

_MOST_IDLE = 32
_STREAM_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Lane:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Lanes:
    """Asks the daemon; whoever is cancelled while asking hangs up."""

    def __init__(self, hand_over: Callable[[socket.socket], None]) -> None:
        """`hand_over` gives the daemon its end of a new lane."""
        self._hand_over = hand_over
        self._idle: list[_Lane] = []

    async def ask(
        self, document: Mapping[str, Any], blobs: Sequence[bytes] = ()
    ) -> ProxyFrame:
        """The daemon's answer; raises OSError, EOFError or ProxyFrameError."""
        lane = self._idle.pop() if self._idle else await self._open()
        try:
            lane.writer.writelines(pack(document, blobs))
            await lane.writer.drain()
            head = await lane.reader.readexactly(HEAD_BYTES)
            body = await lane.reader.readexactly(body_length(head))
            answer = unpack(head, body)
        except BaseException:
            lane.writer.close()
            raise
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(lane)
        else:
            lane.writer.close()
        return answer

    async def _open(self) -> _Lane:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._hand_over(theirs)
                ours.setblocking(False)  # noqa: FBT003  # positional only
                streams = await asyncio.open_connection(sock=ours, limit=_STREAM_BYTES)
            except BaseException:
                ours.close()
                raise
        return _Lane(*streams)

    def close(self) -> None:
        """Hang up every lane that nobody uses."""
        for lane in self._idle:
            with suppress(OSError):
                lane.writer.close()
        self._idle.clear()
