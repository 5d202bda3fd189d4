"""The shell socket: the wrapper's questions, each on a connection of its own.

Every command waits for this, so a thread that sleeps in accept() does all of it: no
other has to be woken. Threads are added when none is left waiting, and never end.
What wakes one without a question is a connection of our own, which asks for nothing.
A connection for many questions goes on in a thread that is not one of these.
"""

import logging
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from redlane.execution import VERDICT_SECONDS, TimeLimit
from redlane.judging.connection_limit import ConnectionLimit, Counted
from redlane.judging.hangup import Hangup
from redlane.judging.health_probe import HealthProbe
from redlane.judging.memory_quota import MemoryQuota
from redlane.judging.shell_answers import ShellAnswer, block_line, held_line
from redlane.membership.peers import Peer, peer_of
from redlane.state.review import Review
from redlane.wire.behalf import LONGEST_BEHALF, behalf_in
from redlane.wire.limits import MOST_BODY_BYTES
from redlane.wire.shell_frames import (
    QuestionsBegunError,
    ShellFrame,
    ShellFrameError,
    read_frame,
)

__all__ = ["ShellSocket"]

_WAITING_THREADS = 2
_MOST_THREADS = 1280
_MOST_OF_USER = 64
_READ_SECONDS = 5.0
_WRITE_SECONDS = 5.0
_PAUSE_SECONDS = 0.2

_log = logging.getLogger(__name__)

Answer = Callable[[ShellFrame, Peer, Callable[[Review], None]], ShellAnswer]
ServeQuestions = Callable[[socket.socket, Peer, bytes], None]


class ShellSocket:
    """Serves a listening socket until `drain` is called."""

    def __init__(
        self,
        listener: socket.socket,
        path: Path,
        answer: Answer,
        take_back: Callable[[str], None],
        serve_questions: ServeQuestions,
        alive: Callable[[], None] = lambda: None,
        counted: Counted = lambda _: None,
        seconds: Callable[[], float] = lambda: VERDICT_SECONDS,
    ) -> None:
        """Answer with `answer`; `take_back` lets go of a review that nobody awaits.

        `path` is the listener's. `serve_questions` is given each connection on which
        many are to come, who opened it, and what has come over it. `alive` is called
        behind each `check`, when connections are accepted indeed. By `counted` those
        of one user are bounded, and what they send. A verdict on a command takes
        `seconds` at most, from when its connection is accepted.
        """
        self._listener = listener
        self._probe = HealthProbe(path)
        self._connections_of = ConnectionLimit(_MOST_OF_USER, counted)
        self._quota = MemoryQuota(MOST_BODY_BYTES, counted)
        self._answer = answer
        self.let_stand_for: Callable[[Peer, int], None] = lambda peer, _: peer.close()
        """Told a peer that says for which process it has connected."""
        self._take_back = take_back
        self._serve_questions = serve_questions
        self._alive = alive
        self._seconds = seconds
        self._is_checked = False
        self._changed = threading.Condition()
        self._threads = 0
        self._busy = 0
        self._draining = False

    def start(self) -> None:
        """Accept connections from now on."""
        self._threads = _WAITING_THREADS
        for _ in range(_WAITING_THREADS):
            self._add_thread()

    def drain(self, *, shared: bool) -> None:
        """Accept nothing more.

        A `shared` listener is somebody else's too and stays open: what comes in from
        now on waits there for the next daemon. What a thread takes before it knows is
        answered.
        """
        with self._changed:
            self._draining = True
            waiting = self._threads - self._busy
        if shared:
            for _ in range(waiting):
                self._probe.send()
        else:
            with suppress(OSError):  # this alone wakes the threads
                self._listener.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Wait until everything is answered, but no longer than so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._threads, max(0.0, seconds))
        # One of ours that is left in the queue would start the next daemon.
        while self._probe.unheard and _has_connection(self._listener):
            self._serve_next()

    def check(self) -> None:
        """Have `alive` called as soon as a thread accepts a connection."""
        self._is_checked = True
        self._probe.send()

    def _add_thread(self) -> None:
        try:
            threading.Thread(target=self._run, name="shell", daemon=True).start()
        except RuntimeError:
            _log.exception("no more threads for the shell socket")
            with self._changed:
                self._threads -= 1

    def _run(self) -> None:
        try:
            while not self._draining:
                self._serve_next()
        finally:
            self._leave()

    def _leave(self) -> None:
        """End this thread; after an error that nobody foresaw, another takes over."""
        with self._changed:
            draining = self._draining
            self._threads -= draining
            self._changed.notify_all()
        if not draining:
            self._add_thread()

    def _serve_next(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # Too many open files, or the end, which the loop sees.
            time.sleep(0 if self._draining else _PAUSE_SECONDS)
            return
        self._begin()
        if self._is_checked:
            self._is_checked = False
            self._alive()
        try:
            with connection, suppress(ShellFrameError, OSError):
                self._serve(connection)
        finally:
            self._end()

    def _begin(self) -> None:
        with self._changed:
            self._busy += 1
            growing = self._busy == self._threads < _MOST_THREADS
            self._threads += growing
        if growing:
            self._add_thread()

    def _end(self) -> None:
        with self._changed:
            self._busy -= 1

    def _serve(self, connection: socket.socket) -> None:
        """Answer one question; raises ShellFrameError or OSError when there is none."""
        with ExitStack() as stack:
            peer = stack.enter_context(closing(peer_of(connection)))
            if self._probe.is_one(peer):
                return
            leave = self._connections_of.enter(peer)
            if leave is None:
                connection.sendall(block_line("too many commands of yours at once"))
                return
            try:
                with TimeLimit(self._seconds()):
                    self._take_behalf(connection, peer)
                    self._serve_peer(connection, peer)
            except QuestionsBegunError as error:
                stack.pop_all()  # whoever serves it closes both
                self._serve_questions(connection.dup(), peer, error.begun)
            finally:
                leave()

    def _take_behalf(self, connection: socket.socket, peer: Peer) -> None:
        """Who asks, where that is not who has connected."""
        connection.settimeout(_READ_SECONDS)
        begun = connection.recv(LONGEST_BEHALF, socket.MSG_PEEK)
        if (behalf := behalf_in(begun)) is not None:
            process, length = behalf
            connection.recv(length)
            self.let_stand_for(peer, process)

    def _serve_peer(self, connection: socket.socket, peer: Peer) -> None:
        with ExitStack() as stack:

            def admit(size: int) -> None:
                if not stack.enter_context(self._quota.taken(peer, size)):
                    connection.sendall(block_line("too much of yours is in work"))
                    raise ShellFrameError("there is no room for it")

            frame = read_frame(connection, _READ_SECONDS, admit)
            self._serve_frame(connection, peer, frame)

    def _serve_frame(
        self, connection: socket.socket, peer: Peer, frame: ShellFrame
    ) -> None:
        connection.settimeout(_WRITE_SECONDS)
        with Hangup(connection) as hangup:

            def on_hold(review: Review) -> None:
                hangup.call(lambda: self._take_back(review.id))
                with suppress(OSError):  # a client that went is told nothing
                    connection.sendall(held_line(review))

            answer = self._answer(frame, peer, on_hold)
        if answer.lease is None:
            connection.sendall(answer.data)
            return
        with answer.lease as lease:
            socket.send_fds(connection, [answer.data], [lease.fileno()])


def _has_connection(listener: socket.socket) -> bool:
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    return poll.poll(0) == [(listener.fileno(), select.POLLIN)]
