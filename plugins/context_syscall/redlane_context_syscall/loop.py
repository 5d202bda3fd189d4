"""Answers what a listener tells: one thread receives, and none can hold up the tree.

The thread that has received a call also answers it: no other has to be woken. One that
is going to wait (a FIFO, a program to ask) passes the lead to another first; should one
hang where nobody foresaw it, the watch passes it on.
"""

import logging
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from errno import EAGAIN, EPERM
from typing import Protocol

from redlane_context_syscall.adopting import lifted
from redlane_context_syscall.calls import (
    GIVEN,
    GO_ON,
    Answer,
    Descriptor,
    Failure,
    Handler,
    Value,
)
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.watch import Quick, Watch

__all__ = ["Loop", "Source"]

_MOST_THREADS = 32_768
_STACK_BYTES = 256 * 1024

_log = logging.getLogger(__name__)


class Source(Protocol):
    """Where calls come from: the listener, or what answers the plain ones before us."""

    def receive(self) -> Notification | None:
        """The next call; None when nobody is left to make one."""
        ...


class Loop:
    """Serves one listener until its tree has gone, or `stop`.

    This is the fail-closed boundary: whatever a handler raises is a refusal.
    """

    def __init__(
        self,
        listener: Listener,
        handlers: Mapping[int, Handler],
        otherwise: Handler,
        on_failure: Callable[[Notification, BaseException], None],
        source: Source | None = None,
        quick: Quick | None = None,
    ) -> None:
        """Answer call number n by `handlers[n]`, any that is not there by `otherwise`.

        `on_failure` is told what a handler raised that is no answer to a caller.
        `quick` is the source once more where that answers calls itself.
        """
        self._listener = listener
        self._source = source or listener
        self._handlers = handlers
        self._otherwise = otherwise
        self._on_failure = on_failure
        self._on_loss: Callable[[str], None] = lambda _: None
        self._changed = threading.Condition()
        self._leader = 0
        self._idle = 0
        self._threads = 0
        self._over = False
        self._watch = Watch(listener.is_valid, self._pass_lead, quick)

    def start(self, on_loss: Callable[[str], None]) -> None:
        """Serve from now on; `on_loss` is told why, should that become impossible.

        To be called by the main thread: only that one may take signals.
        """
        signal.signal(self._watch.SIGNAL, _interrupt)
        signal.siginterrupt(self._watch.SIGNAL, True)  # noqa: FBT003  # positional only
        self._on_loss = on_loss
        self._watch.start()
        with self._changed:
            self._add_thread()

    def stop(self) -> None:
        """Receive nothing more; a thread in the kernel ends with the tree."""
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._watch.stop()

    def blocking(self, notification: Notification) -> None:
        """Let another thread receive: the caller of this may wait for long.

        Raises OSError (EAGAIN) when too many wait already.
        """
        me = threading.get_ident()
        with self._changed:
            if self._leader == me:
                if not self._idle and self._threads >= _MOST_THREADS:
                    raise OSError(EAGAIN, "too many calls wait at once")
                self._elect()
        self._watch.waiting(me, notification)

    def _pass_lead(self, thread: int | None) -> bool:
        """Elect another in place of a thread, or whichever leads, that hangs."""
        with self._changed:
            if thread not in (None, self._leader) or self._over:
                return False
            if not self._idle and self._threads >= _MOST_THREADS:
                return False
            with suppress(OSError):  # no thread to be had: at the next look, perhaps
                self._elect()
                return True
        return False

    def _elect(self) -> None:
        """Have another lead; to be called with the lock. Raises OSError (EAGAIN)."""
        if not self._idle:
            self._add_thread()
        self._leader = 0
        self._changed.notify()

    def _add_thread(self) -> None:
        """Start a thread; to be called with the lock. Raises OSError (EAGAIN)."""
        self._threads += 1
        before = threading.stack_size(_STACK_BYTES)
        try:
            # A thread begins as who starts it, and has to be the supervisor for good.
            with lifted():
                threading.Thread(target=self._run, name="syscalls", daemon=True).start()
        except RuntimeError as error:
            self._threads -= 1
            raise OSError(EAGAIN, "no thread can be started") from error
        finally:
            threading.stack_size(before)

    def _run(self) -> None:
        """Lead, then wait for the next time; one thread in reserve is enough."""
        others = signal.valid_signals() - {self._watch.SIGNAL}
        signal.pthread_sigmask(signal.SIG_BLOCK, others)
        try:
            while self._take_lead():
                self._lead(threading.get_ident())
        except Exception as error:  # noqa: BLE001  # the boundary, see above
            _log.exception("the supervisor of system calls failed")
            self._lose(f"it failed: {error!r}")
        finally:
            with self._changed:
                self._threads -= 1

    def _take_lead(self) -> bool:
        with self._changed:
            if self._leader and self._idle:
                return False
            self._idle += 1
            try:
                self._changed.wait_for(lambda: self._over or not self._leader)
            finally:
                self._idle -= 1
            if self._over:
                return False
            self._leader = threading.get_ident()
            return True

    def _lead(self, me: int) -> None:
        """Receive and answer for as long as this thread has the lead."""
        receive, watch = self._source.receive, self._watch
        handlers, otherwise = self._handlers, self._otherwise
        while self._leader == me and not self._over:
            notification = receive()
            if notification is None:
                self.stop()
                return
            watch.begin(me, notification)
            try:
                answer = handlers.get(notification.number, otherwise)(notification)
            except InterruptedError:
                answer = Failure(watch.interruption(me))
            except OSError as error:
                answer = Failure(error.errno or EPERM)
            except Exception as error:  # noqa: BLE001  # the boundary, see above
                answer = Failure(EPERM)
                self._tell(notification, error)
            finally:
                watch.end(me)
            self._send(notification, answer)

    def _tell(self, notification: Notification, error: BaseException) -> None:
        _log.error("system call %d failed", notification.number, exc_info=error)
        try:
            self._on_failure(notification, error)
        except Exception:  # noqa: BLE001  # the boundary, see above
            _log.exception("a failure could not be reported")

    def _send(self, notification: Notification, answer: Answer) -> None:
        listener = self._listener
        if isinstance(answer, Descriptor):
            self._inject(notification, answer)
        elif answer is GIVEN:
            return
        elif answer is GO_ON:
            listener.go_on(notification.id)
        elif isinstance(answer, Failure):
            listener.answer(notification.id, error=answer.errno)
        else:
            listener.answer(notification.id, value=answer.value)

    def _inject(self, notification: Notification, answer: Descriptor) -> None:
        """Give the caller an open file; undo what was made where there is no room.

        We let go of it before the caller goes on: who closes what it has just written
        may run it at once (ETXTBSY while we have it), unlock it, or end a pipe.
        """
        result: Answer
        try:
            number = self._listener.hand_over(
                notification.id, answer.number, close_on_exec=answer.close_on_exec
            )
            result = Value(number) if number >= 0 else GIVEN
        except OSError as error:
            if answer.undo is not None:
                answer.undo()
            result = Failure(error.errno or EPERM)
        finally:
            answer.close()
        self._send(notification, result)

    def _lose(self, reason: str) -> None:
        self.stop()
        self._on_loss(reason)


def _interrupt(*_: object) -> None:
    """A signal that only wakes a thread from a call."""
