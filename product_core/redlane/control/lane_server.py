"""Lanes: on each, one question at a time is answered.

A lane is a connection, and has a thread of its own. Whoever hangs up while something is
held takes its review back.
"""

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress

from redlane.control.crowd import Crowd
from redlane.control.hangup import Hangup
from redlane.control.incoming import Incoming
from redlane.control.lane_questions import Desk, block_frame
from redlane.control.proxy_frames import (
    HEAD_BYTES,
    ProxyFrame,
    ProxyFrameError,
    body_length,
    document_length,
    frame_of,
    pack,
    read_document,
)
from redlane.control.room import Room
from redlane.state.reviews import Review
from redlane.state.sessions import Session

__all__ = ["CountedSession", "LaneServer"]

_MOST_LANES = 512
_MOST_OF_USER = 64
_MOST_BYTES_OF_USER = 64 * 1024 * 1024
_FRAME_SECONDS = 30.0

_log = logging.getLogger(__name__)

CountedSession = Callable[[str], str | None]
"""By a session's id, the name under which its questions are counted, if they are."""


class LaneServer:
    """Serves lanes until they are hung up, or `close` is called."""

    def __init__(
        self,
        take_back: Callable[[str], None],
        counted: CountedSession = lambda _: None,
    ) -> None:
        """`take_back` lets go of a review that nobody awaits.

        By `counted` the questions of one user are bounded, and what they hold.
        """
        self._take_back = take_back
        self._counted = counted
        self._crowd = Crowd(_MOST_OF_USER, counted)
        self._room = Room(_MOST_BYTES_OF_USER, counted)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False

    def serve(
        self,
        lane: socket.socket,
        desk: Desk,
        begun: bytes = b"",
        over: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve a lane in a thread of its own, as `desk` answers.

        `begun` has come over it already. `over` is called when it is hung up, which one
        too many is at once.
        """
        with self._lock:
            refused = self._closed or len(self._open) >= _MOST_LANES
            if not refused:
                self._open.add(lane)
        try:
            if not refused:
                self._start(lane, desk, begun, over)
                return
        except RuntimeError:
            _log.exception("no more threads for lanes")
        self._hang_up(lane, over)

    def _start(
        self, lane: socket.socket, desk: Desk, begun: bytes, over: Callable[[], None]
    ) -> None:
        threading.Thread(
            target=self._run, args=(lane, desk, begun, over), name="lane", daemon=True
        ).start()

    def close(self) -> None:
        """Hang up every lane, whatever is asked there."""
        with self._lock:
            self._closed = True
            for lane in self._open:
                with suppress(OSError):
                    lane.shutdown(socket.SHUT_RDWR)

    def _run(
        self, lane: socket.socket, desk: Desk, begun: bytes, over: Callable[[], None]
    ) -> None:
        try:
            incoming = Incoming(lane, _FRAME_SECONDS, begun)
            while self._serve_one(lane, desk, incoming):
                pass
        except (OSError, ProxyFrameError) as error:
            _log.debug("a lane has ended: %s", error)
        finally:
            self._hang_up(lane, over)

    def _hang_up(self, lane: socket.socket, over: Callable[[], None]) -> None:
        with self._lock:
            self._open.discard(lane)
        lane.close()
        over()

    def _serve_one(self, lane: socket.socket, desk: Desk, incoming: Incoming) -> bool:
        """Answer one question; False when the lane is hung up in place of one."""
        head = incoming.head(HEAD_BYTES)
        if head is None:
            return False
        length = document_length(head)
        left = body_length(head) - length
        document = read_document(incoming.take(length))
        session = desk.session(document)
        if session is None:
            incoming.skip(left)
            _send(lane, desk.refusal())
            return True
        if self._counted(session.id) is None:  # as on a daemon of one user
            frame = frame_of(document, incoming.take(left))
            _send(lane, self._answered(lane, desk, frame, session))
            return True
        with ExitStack() as stack:
            full = self._why_full(stack, session, left)
            if full:
                incoming.skip(left)
                answer = block_frame(full)
            else:
                frame = frame_of(document, incoming.take(left))
                answer = self._answered(lane, desk, frame, session)
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

    def _answered(
        self, lane: socket.socket, desk: Desk, frame: ProxyFrame, session: Session
    ) -> ProxyFrame:
        with Hangup(lane) as hangup:

            def on_hold(review: Review) -> None:
                hangup.call(lambda: self._take_back(review.id))

            return desk.answer(frame, on_hold, session)


def _send(lane: socket.socket, answer: ProxyFrame) -> None:
    lane.sendall(b"".join(pack(answer.document, answer.blobs)))
