"""Several processes that serve: started, restarted when one dies, and ended together.

The master serves nothing and has one thread, so that it can fork. A worker that finds
the master gone (its end of a pipe is closed) ends too, so that none is left behind.
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Master", "Work"]

Work = Callable[[int, Callable[[], None]], None]
"""What a worker does, given its number and what to call when it serves."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_TURN_SECONDS = 1.0
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 10.0
_HEALTHY_SECONDS = 60.0
_STOP_SECONDS = 40.0
"""Longer than a worker takes at most: then there is something wrong with it."""

_FAILED = 1

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _WorkerSlot:
    """One worker's place: its process, if it lives, and when it may start again."""

    number: int
    pid: int = 0
    started_at: float = 0.0
    due_at: float = 0.0
    delay: float = _FIRST_DELAY


class Master:
    """Keeps `count` workers at `work` until a signal says to stop."""

    def __init__(
        self,
        count: int,
        work: Work,
        *,
        ready: Callable[[], None],
        stopping: Callable[[], None],
        each_turn: Callable[[], None],
    ) -> None:
        """`ready` is called when all workers serve, `each_turn` every second."""
        self._places = [_WorkerSlot(number) for number in range(count)]
        self._work = work
        self._ready = ready
        self._stopping = stopping
        self._each_turn = each_turn
        self._unready = count
        self._asked_to_stop = 0
        self._ends = False
        self._wakes, self._wake = _pipe()
        self._readies, self._say_ready = _pipe()
        self._master_lives, self._held_by_master = os.pipe()

    def run(self) -> int:
        """Start the workers and look after them; the exit code when all have ended."""
        for number in (*_SIGNALS, signal.SIGCHLD):
            signal.signal(number, self._take_signal)
        signal.set_wakeup_fd(self._wake)
        while not self._asked_to_stop:
            self._start_due()
            self._turn()
            if self._unready and self._is_hopeless():
                return self._stop(_FAILED)
        return self._stop(0)

    def _take_signal(self, number: int, _frame: object) -> None:
        self._asked_to_stop += number in _SIGNALS

    def _turn(self) -> None:
        """Wait for something to happen, a second at most, and see what did."""
        select.select([self._wakes, self._readies], [], [], self._longest_wait())
        _read(self._wakes)
        self._reap()
        said = len(_read(self._readies))
        if self._unready:
            self._unready = max(self._unready - said, 0)
            if not self._unready:
                self._ready()
        self._each_turn()

    def _longest_wait(self) -> float:
        """How long to wait: until the next worker may start, a second at most."""
        if self._ends:
            return _TURN_SECONDS
        now = time.monotonic()
        waits = [each.due_at - now for each in self._places if not each.pid]
        return max(0.0, min([_TURN_SECONDS, *waits]))

    def _is_hopeless(self) -> bool:
        """Whether a worker ended before all had begun: others will fare no better."""
        return any(not each.pid for each in self._places)

    def _start_due(self) -> None:
        now = time.monotonic()
        for place in self._places:
            if not place.pid and now >= place.due_at:
                place.started_at = now
                place.pid = self._fork(place.number)

    def _fork(self, number: int) -> int:
        # A signal between the fork and the worker's own handlers would be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            self._be_worker(number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        return pid

    def _be_worker(self, number: int) -> None:
        """Do the work; the process ends here, whatever happens."""
        code = _FAILED
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._held_by_master)
            threading.Thread(target=self._end_with_master, daemon=True).start()
            self._work(number, self._tell_ready)
            code = 0
        except BaseException:
            _log.exception("A worker failed.", extra={"worker": number})
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _tell_ready(self) -> None:
        os.write(self._say_ready, b".")

    def _end_with_master(self) -> None:
        os.read(self._master_lives, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _reap(self) -> None:
        """Note which workers have ended, and when they may start again."""
        for place in self._places:
            pid, status = os.waitpid(place.pid, os.WNOHANG) if place.pid else (0, 0)
            if not pid:
                continue
            now = time.monotonic()
            if now - place.started_at > _HEALTHY_SECONDS:
                place.delay = _FIRST_DELAY
            place.pid, place.due_at = 0, now + place.delay
            place.delay = min(2 * place.delay, _LONGEST_DELAY)
            if not self._ends:
                code = os.waitstatus_to_exitcode(status)
                fields = {"worker": place.number, "exit_code": code}
                _log.warning("A worker has ended.", extra=fields)

    def _stop(self, code: int) -> int:
        """Pass the signal on and wait; at a second one, or too late, kill."""
        asked = self._asked_to_stop
        self._ends = True
        self._stopping()
        deadline = time.monotonic() + _STOP_SECONDS
        self._send(signal.SIGTERM)
        while any(each.pid for each in self._places):
            if self._asked_to_stop > max(asked, 1) or time.monotonic() > deadline:
                self._send(signal.SIGKILL)
                code = code or _FAILED
            self._turn()
        return code

    def _send(self, number: signal.Signals) -> None:
        for place in self._places:
            if place.pid:
                os.kill(place.pid, number)


def _pipe() -> tuple[int, int]:
    ends = os.pipe()
    for each in ends:
        os.set_blocking(each, False)  # takes no keyword
    return ends


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""
