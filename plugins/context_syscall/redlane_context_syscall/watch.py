"""Looks after threads that answer calls: who hangs, and for whom nobody waits.

It rests while nothing is under way, so that an idle session costs no wake-ups.
"""

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from errno import EINTR

from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.pending import interruption

__all__ = ["Watch"]

_TICK_SECONDS = 0.1
_WAITING_SECONDS = 0.2


class Watch:
    """A thread that passes the lead on, and interrupts waits that are in vain."""

    SIGNAL = signal.SIGRTMIN + 3

    def __init__(
        self, is_valid: Callable[[int], bool], pass_lead: Callable[[int], bool]
    ) -> None:
        """`is_valid` tells whether a call is still to be answered."""
        self._is_valid = is_valid
        self._pass_lead = pass_lead
        self._busy: dict[int, Notification] = {}
        self._waiting: dict[int, Notification] = {}
        self._interrupted: dict[int, int] = {}
        # A signal must only meet a thread that waits: it would break an answer off.
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._resting = False
        self._over = False

    def start(self) -> None:
        """Watch from now on."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._over = True
        self._wake.set()

    def begin(self, thread: int, notification: Notification) -> None:
        """A thread has received a call."""
        self._busy[thread] = notification
        if self._resting:
            self._resting = False
            self._wake.set()

    def end(self, thread: int) -> None:
        """A thread has an answer to its call; from here on nothing interrupts it."""
        with self._lock:
            del self._busy[thread]
            if self._waiting:
                self._waiting.pop(thread, None)
                self._interrupted.pop(thread, None)

    def interruption(self, thread: int) -> int:
        """The errno of a call whose wait was broken off, as its caller is to see it."""
        return self._interrupted.get(thread, EINTR)

    def waiting(self, thread: int, notification: Notification) -> None:
        """A thread waits for its call, and does not lead any more."""
        with self._lock:
            if self._busy.get(thread) is notification:
                self._waiting[thread] = notification
        self._wake.set()

    def _run(self) -> None:
        before: dict[int, Notification] = {}
        was_woken = False
        while not self._over:
            self._wake.clear()
            now = self._under_way()
            self._interrupt_vain()
            for thread, notification in now.items():
                if before.get(thread) is notification and self._pass_lead(thread):
                    self.waiting(thread, notification)
            # Calls come in flocks: to rest between two of them, and be woken by the
            # second, would cost each more than its answer does.
            if now or before or was_woken:
                self._wake.wait(_TICK_SECONDS)
                was_woken = False
            else:
                was_woken = self._sleep()
            before = now

    def _under_way(self) -> dict[int, Notification]:
        """The calls that are being answered, without those that are known to wait."""
        busy, waiting = dict(self._busy), dict(self._waiting)
        return {thread: each for thread, each in busy.items() if thread not in waiting}

    def _sleep(self) -> bool:
        """Rest until the next call, or until those that wait are to be looked at.

        Whether something has come up.
        """
        self._resting = True
        was_woken = True
        if not self._under_way():  # one may have begun meanwhile
            was_woken = self._wake.wait(_WAITING_SECONDS if self._waiting else None)
        self._resting = False
        return was_woken

    def _interrupt_vain(self) -> None:
        """Wake the threads that wait in vain: nobody else may ever do it.

        Their caller has gone, or has a signal to take, which may be what ends its wait.
        """
        for thread, notification in list(self._waiting.items()):
            errno = interruption(notification.pid)
            with self._lock:
                if self._waiting.get(thread) is not notification:
                    continue
                if errno or not self._is_valid(notification.id):
                    self._interrupted[thread] = errno or EINTR
                    with suppress(ProcessLookupError):
                        signal.pthread_kill(thread, self.SIGNAL)
