"""The lanes between daemon and proxy: on each, one question at a time is answered.

A lane is a connection that the proxy opened, and has a thread of its own. Whoever hangs
up while something is held takes its review back.
"""

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from redlane.control.crowd import Crowd
from redlane.control.hangup import Hangup
from redlane.control.proxy_desk import ProxyDesk, block_frame
from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    ProxyFrameError,
    body_length,
    document_length,
    pack,
    unpack,
)
from redlane.control.room import Room
from redlane.state.reviews import Review
from redlane.state.sessions import Session

__all__ = ["ProxyLanes"]

_MOST_LANES = 512
_MOST_OF_USER = 64
_MOST_BYTES_OF_USER = 64 * 1024 * 1024
_FRAME_SECONDS = 30.0
_PIECE = 1024 * 1024

_log = logging.getLogger(__name__)

CountedSession = Callable[[str], str | None]
"""By a session's id, the name under which its questions are counted, if they are."""


class ProxyLanes:
    """Serves lanes until they are hung up, or `close` is called."""

    def __init__(
        self,
        desk: ProxyDesk,
        take_back: Callable[[str], None],
        counted: CountedSession = lambda _: None,
    ) -> None:
        """Answer as `desk` does; `take_back` lets go of a review nobody awaits.

        By `counted` the questions of one user are bounded, and what they hold.
        """
        self._desk = desk
        self._take_back = take_back
        self._crowd = Crowd(_MOST_OF_USER, counted)
        self._room = Room(_MOST_BYTES_OF_USER, counted)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False

    def serve(self, lane: socket.socket) -> None:
        """Serve a lane in a thread of its own; one too many is hung up."""
        with self._lock:
            refused = self._closed or len(self._open) >= _MOST_LANES
            if not refused:
                self._open.add(lane)
        if refused:
            lane.close()
            return
        try:
            threading.Thread(
                target=self._run, args=(lane,), name="lane", daemon=True
            ).start()
        except RuntimeError:
            _log.exception("no more threads for the proxy's lanes")
            self._hang_up(lane)

    def close(self) -> None:
        """Hang up every lane, whatever is asked there."""
        with self._lock:
            self._closed = True
            for lane in self._open:
                with suppress(OSError):
                    lane.shutdown(socket.SHUT_RDWR)

    def _run(self, lane: socket.socket) -> None:
        try:
            while self._serve_one(lane):
                pass
        except (OSError, ProxyFrameError) as error:
            _log.debug("a lane of the proxy has ended: %s", error)
        finally:
            self._hang_up(lane)

    def _hang_up(self, lane: socket.socket) -> None:
        with self._lock:
            self._open.discard(lane)
        lane.close()

    def _serve_one(self, lane: socket.socket) -> bool:
        """Answer one question; False when the lane is hung up in place of one."""
        lane.settimeout(None)
        head = _received(lane, HEAD_BYTES, None)
        if head is None:
            return False
        length = body_length(head)
        deadline = time.monotonic() + _FRAME_SECONDS
        document = _received(lane, document_length(head), deadline)
        if document is None:
            return False
        left = length - len(document)
        session = self._desk.session(_object(document))
        with ExitStack() as stack:
            full = "" if session is None else self._why_full(stack, session, left)
            if session is None or full:
                _discard(lane, left, deadline)
                answer = block_frame(
                    full or "there is no running session of that credential",
                    None if full else "credential",
                )
            else:
                blobs = _received(lane, left, deadline)
                if blobs is None:
                    return False
                frame = unpack(head, document + blobs)
                del blobs
                answer = self._answered(lane, frame)
            _send(lane, answer)
        return True

    def _why_full(self, stack: ExitStack, session: Session, size: int) -> str:
        """Why a user's question has no place; one that has keeps it with `stack`."""
        leave = self._crowd.enter(session.id)
        if leave is None:
            return "too many requests of yours at once"
        stack.callback(leave)
        if not stack.enter_context(self._room.taken(session.id, size)):
            return "too much of yours is in work"
        return ""

    def _answered(self, lane: socket.socket, frame: ProxyFrame) -> ProxyFrame:
        with Hangup(lane) as hangup:

            def on_hold(review: Review) -> None:
                hangup.call(lambda: self._take_back(review.id))

            return self._desk.answer(frame, on_hold)


def _object(document: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(document)
    except ValueError as error:
        raise ProxyFrameError("the frame cannot be read") from error
    if not isinstance(found, dict):
        raise ProxyFrameError("the frame holds no object")
    return found


def _received(lane: socket.socket, length: int, deadline: float | None) -> bytes | None:
    """Exactly so many bytes; None when the lane is hung up before them."""
    data = bytearray(length)
    view, done = memoryview(data), 0
    while done < length:
        _wait_until(lane, deadline)
        count = lane.recv_into(view[done : done + _PIECE])
        if not count:
            return None
        done += count
    return bytes(data)


def _discard(lane: socket.socket, length: int, deadline: float) -> None:
    """Read what nobody looks at: the next question comes behind it."""
    while length:
        _wait_until(lane, deadline)
        piece = lane.recv(min(length, _PIECE))
        if not piece:
            raise ProxyFrameError("the frame ends too early")
        length -= len(piece)


def _wait_until(lane: socket.socket, deadline: float | None) -> None:
    if deadline is not None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        lane.settimeout(left)


def _send(lane: socket.socket, answer: ProxyFrame) -> None:
    lane.settimeout(_FRAME_SECONDS)
    for piece in pack(answer.document, answer.blobs):
        lane.sendall(piece)
