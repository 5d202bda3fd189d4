"""Connections on which many questions are asked: one at a time on each.

Each connection has a thread of its own. Whoever hangs up while something is
held takes its review back.
"""

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Protocol

from redlane.engine.boundary import fail_closed
from redlane.judging.answers import blocked, failed, notice_of
from redlane.judging.connection_limit import ConnectionLimit
from redlane.judging.hangup import Hangup
from redlane.judging.memory_quota import MemoryQuota
from redlane.judging.service import OnHold
from redlane.state.review import Review
from redlane.state.sessions import Session
from redlane.wire.answer import Answer
from redlane.wire.frames import (
    HEAD_BYTES,
    FrameError,
    blobs_of,
    body_length,
    document_length,
    read_document,
)
from redlane.wire.held import HeldNotice
from redlane.wire.incoming import Incoming
from redlane.wire.question import Question, QuestionError, read_question

__all__ = ["CountedSession", "QuestionHandler", "QuestionServer"]

_MOST_CONNECTIONS = 512
_MOST_OF_USER = 64
_MOST_BYTES_OF_USER = 64 * 1024 * 1024
_FRAME_SECONDS = 30.0

_log = logging.getLogger(__name__)

CountedSession = Callable[[str], str | None]
"""By a session's id, the name under which its questions are counted, if they are."""


class QuestionHandler(Protocol):
    """What becomes of the questions of one connection."""

    def session(self, question: Question) -> Session | None:
        """Whose question it is; None when there is no running session of theirs.

        The contents of the question are not there yet.
        """
        ...

    def refusal(self) -> Answer:
        """The answer to a question that is nobody's."""
        ...

    def answer(self, question: Question, session: Session, on_hold: OnHold) -> Answer:
        """The answer; what it raises is a Block."""
        ...


class QuestionServer:
    """Serves connections until they are hung up, or `close` is called."""

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
        self._connections_of = ConnectionLimit(_MOST_OF_USER, counted)
        self._quota = MemoryQuota(_MOST_BYTES_OF_USER, counted)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False

    def serve(
        self,
        connection: socket.socket,
        handler: QuestionHandler,
        begun: bytes = b"",
        over: Callable[[], None] = lambda: None,
    ) -> None:
        """Serve a connection in a thread of its own, as `handler` answers.

        `begun` has come over it already. `over` is called when it is hung up, which one
        too many is at once.
        """
        with self._lock:
            refused = self._closed or len(self._open) >= _MOST_CONNECTIONS
            if not refused:
                self._open.add(connection)
        try:
            if not refused:
                self._start(connection, handler, begun, over)
                return
        except RuntimeError:
            _log.exception("no more threads for connections")
        self._hang_up(connection, over)

    def _start(
        self,
        connection: socket.socket,
        handler: QuestionHandler,
        begun: bytes,
        over: Callable[[], None],
    ) -> None:
        threading.Thread(
            target=self._run,
            args=(connection, handler, begun, over),
            name="questions",
            daemon=True,
        ).start()

    def close(self) -> None:
        """Hang up every connection, whatever is asked there."""
        with self._lock:
            self._closed = True
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _run(
        self,
        connection: socket.socket,
        handler: QuestionHandler,
        begun: bytes,
        over: Callable[[], None],
    ) -> None:
        try:
            incoming = Incoming(connection, _FRAME_SECONDS, begun)
            while self._serve_one(connection, handler, incoming):
                pass
        except (OSError, FrameError) as error:
            _log.debug("a connection has ended: %s", error)
        finally:
            self._hang_up(connection, over)

    def _hang_up(self, connection: socket.socket, over: Callable[[], None]) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()
        over()

    def _serve_one(
        self, connection: socket.socket, handler: QuestionHandler, incoming: Incoming
    ) -> bool:
        """Answer one question; False when the connection is hung up in place of one."""
        head = incoming.head(HEAD_BYTES)
        if head is None:
            return False
        length = document_length(head)
        left = body_length(head) - length
        document = read_document(incoming.take(length))
        try:
            question = read_question(document)
        except QuestionError as error:
            incoming.skip(left)
            _send(connection, failed(str(error)))
            return True
        session = handler.session(question)
        if session is None:
            incoming.skip(left)
            _send(connection, handler.refusal())
            return True
        with ExitStack() as stack:
            full = self._why_full(stack, session, left)
            if full:
                incoming.skip(left)
                answer = blocked(full)
            else:
                blobs = blobs_of(document, incoming.take(left))
                asked = partial(question.with_blobs, blobs)
                answer = self._answered(connection, handler, asked, session)
            _send(connection, answer)
        return True

    def _why_full(self, stack: ExitStack, session: Session, size: int) -> str:
        """Why a user's question has no place; one that has keeps it with `stack`."""
        if self._counted(session.id) is None:  # as on a daemon of one user
            return ""
        leave = self._connections_of.enter(session.id)
        if leave is None:
            return "too many requests of yours at once"
        stack.callback(leave)
        if not stack.enter_context(self._quota.taken(session.id, size)):
            return "too much of yours is in work"
        return ""

    def _answered(
        self,
        connection: socket.socket,
        handler: QuestionHandler,
        asked: Callable[[], Question],
        session: Session,
    ) -> Answer:
        """The answer; whatever goes wrong while it is sought is a Block."""
        with Hangup(connection) as hangup:

            def answer() -> Answer:
                question = asked()

                def on_hold(review: Review) -> None:
                    hangup.call(lambda: self._take_back(review.id))
                    if question.tells_held:
                        _send(connection, notice_of(review))

                return handler.answer(question, session, on_hold)

            return fail_closed(answer, failed)


def _send(connection: socket.socket, told: Answer | HeldNotice) -> None:
    connection.sendall(b"".join(told.pieces()))
