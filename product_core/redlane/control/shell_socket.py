"""The shell socket: the wrapper's questions, each on a connection of its own.

Every command waits for this, so a thread that sleeps in accept() does all of it: no
other has to be woken. Threads are added when none is left waiting, and never end.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

from redlane.control.hangup import Hangup
from redlane.control.peers import Peer, peer_of
from redlane.control.protocol import held_line
from redlane.control.shell_frames import Frame, FrameError, read_frame
from redlane.state.reviews import Review

__all__ = ["ShellSocket"]

_WAITING_THREADS = 2
_MOST_THREADS = 96
_READ_SECONDS = 5.0
_WRITE_SECONDS = 5.0
_PAUSE_SECONDS = 0.2

_log = logging.getLogger(__name__)

Answer = Callable[[Frame, Peer, Callable[[Review], None]], bytes]


class ShellSocket:
    """Serves a listening socket until `drain` is called."""

    def __init__(
        self,
        listener: socket.socket,
        answer: Answer,
        take_back: Callable[[str], None],
    ) -> None:
        """Answer with `answer`; `take_back` lets go of a review that nobody awaits."""
        self._listener = listener
        self._answer = answer
        self._take_back = take_back
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

        A `shared` listener is somebody else's too and stays open: what comes in until
        this process ends is not answered.
        """
        with self._changed:
            self._draining = True
        if not shared:
            with suppress(OSError):  # this alone wakes the threads
                self._listener.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> None:
        """Wait until everything is answered, but no longer than so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, max(0.0, seconds))

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
            if not self._draining:  # an error that nobody foresaw ends this thread
                self._add_thread()

    def _serve_next(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # Too many open files, or the end, which the loop sees.
            time.sleep(0 if self._draining else _PAUSE_SECONDS)
            return
        self._begin()
        try:
            with connection, suppress(FrameError, OSError):
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
            if self._draining:
                self._changed.notify_all()

    def _serve(self, connection: socket.socket) -> None:
        """Answer one question; raises FrameError or OSError when there is none."""
        if self._draining:
            return
        with closing(peer_of(connection)) as peer:
            frame = read_frame(connection, _READ_SECONDS)
            connection.settimeout(_WRITE_SECONDS)
            with Hangup(connection) as hangup:

                def on_hold(review: Review) -> None:
                    hangup.call(lambda: self._take_back(review.id))
                    with suppress(OSError):  # a client that went is told nothing
                        connection.sendall(held_line(review))

                answer = self._answer(frame, peer, on_hold)
            connection.sendall(answer)
