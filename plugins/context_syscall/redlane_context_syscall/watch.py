"""Looks after threads that answer calls: who hangs, and for whom nobody waits.

It rests while nothing is under way, so that an idle session costs no wake-ups.
"""

import os
import select
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from errno import EINTR
from typing import Protocol

from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.pending import interruption

__all__ = ["Quick", "Watch"]

_TICK_SECONDS = 0.1
_WAITING_SECONDS = 0.2
_MOST_TICKS = 10
"""How many ticks a call may take that is answered without Python: they wait for nothing
but the caller's memory, which can be a file system's that does not answer."""


class Quick(Protocol):
    """What answers calls without a word to the loop (`HotSource`)."""

    def answering(self) -> int:
        """The id of the call that is being answered; 0: none."""
        ...

    def calls(self) -> int:
        """How many there have been."""
        ...

    def wake_by(self, descriptor: int) -> None:
        """Have an eventfd written to with the next call."""
        ...

    def stand_down(self) -> None:
        """Leave everything to the loop."""
        ...


class Watch:
    """A thread that passes the lead on, and interrupts waits that are in vain."""

    SIGNAL = signal.SIGRTMIN + 3

    def __init__(
        self,
        is_valid: Callable[[int], bool],
        pass_lead: Callable[[int | None], bool],
        quick: Quick | None = None,
    ) -> None:
        """`is_valid` tells whether a call is still to be answered.

        `pass_lead` takes it from a thread, or from whichever has it.
        """
        self._is_valid = is_valid
        self._pass_lead = pass_lead
        self._quick = quick
        self._quick_call, self._quick_calls, self._quick_ticks = 0, 0, 0
        self._busy: dict[int, Notification] = {}
        self._waiting: dict[int, Notification] = {}
        self._interrupted: dict[int, int] = {}
        # A signal must only meet a thread that waits: it would break an answer off.
        self._lock = threading.Lock()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._resting = False
        self._over = False

    def start(self) -> None:
        """Watch from now on."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._over = True
        os.eventfd_write(self._wake, 1)

    def begin(self, thread: int, notification: Notification) -> None:
        """A thread has received a call."""
        self._busy[thread] = notification
        if self._resting:
            self._resting = False
            os.eventfd_write(self._wake, 1)

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
        os.eventfd_write(self._wake, 1)

    def _run(self) -> None:
        before: dict[int, Notification] = {}
        was_woken = False
        while not self._over:
            now = self._under_way()
            self._interrupt_vain()
            for thread, notification in now.items():
                if before.get(thread) is notification:
                    self._pass_on(thread, notification)
            # Calls come in flocks: to rest between two of them, and be woken by the
            # second, would cost each more than its answer does.
            if self._is_quick_busy() or now or before or was_woken:
                self._pause(_TICK_SECONDS)
                was_woken = False
            else:
                was_woken = self._sleep()
            before = now

    def _pass_on(self, thread: int, notification: Notification) -> None:
        """Have another lead, if the thread is still at this call.

        With the lock, so that it stays there: one that has gone on receives again, and
        two must not.
        """
        with self._lock:
            if self._busy.get(thread) is notification and self._pass_lead(thread):
                self._waiting[thread] = notification

    def _is_quick_busy(self) -> bool:
        """Whether calls are answered without Python; one that hangs there is left."""
        if self._quick is None:
            return False
        calls, call = self._quick.calls(), self._quick.answering()
        is_same = call != 0 and (call, calls) == (self._quick_call, self._quick_calls)
        is_busy = call != 0 or calls != self._quick_calls
        self._quick_ticks = self._quick_ticks + 1 if is_same else 0
        self._quick_call, self._quick_calls = call, calls
        if self._quick_ticks >= _MOST_TICKS:
            self._quick.stand_down()
            if self._pass_lead(None):
                self._quick = None
        return is_busy

    def _pause(self, seconds: float | None) -> bool:
        """Wait to be woken, at most so long; whether it came to that."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        was_woken = bool(poll.poll(None if seconds is None else seconds * 1000))
        if was_woken:
            os.eventfd_read(self._wake)
        return was_woken

    def _under_way(self) -> dict[int, Notification]:
        """The calls that are being answered, without those that are known to wait."""
        busy, waiting = dict(self._busy), dict(self._waiting)
        return {thread: each for thread, each in busy.items() if thread not in waiting}

    def _sleep(self) -> bool:
        """Rest until the next call, or until those that wait are to be looked at.

        Whether something has come up.
        """
        self._resting = True
        if self._quick is not None:
            self._quick.wake_by(self._wake)
        was_woken = True
        if not self._has_begun():  # one may have meanwhile
            was_woken = self._pause(_WAITING_SECONDS if self._waiting else None)
        self._resting = False
        return was_woken

    def _has_begun(self) -> bool:
        quick = self._quick
        if quick is not None and quick.calls() != self._quick_calls:
            return True
        return bool(self._under_way())

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
