"""Keeps a proxy running: from the first connection on, and again whenever it ends.

While there is none, connections wait at the listening socket; where it cannot be
started, they are hung up. One thread does all of it, and ends with the daemon: the
kernel kills the proxy when the thread that started it is gone.
"""

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum

from redlane.daemon.proxy_child import ProxyChild
from redlane.daemon.proxy_settings import LOOK_AGAIN
from redlane.engine.boundary import describe, one_line
from redlane.errors import RedlaneError

__all__ = ["ProxyState", "ProxyWatch"]

_READY_SECONDS = 60.0
_STEADY_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 10.0
_MOST_DOUBLINGS = 10
_STOP_SECONDS = 5.0

_log = logging.getLogger(__name__)


class ProxyState(StrEnum):
    """How the proxy is; IDLE: it starts with the first connection."""

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    FAILING = "failing"
    STOPPED = "stopped"


class ProxyWatch:
    """The proxy behind one listening socket; safe for several threads."""

    def __init__(
        self,
        command: Sequence[str],
        listener: socket.socket,
        settings: Callable[[], bytes],
        on_connection: Callable[[socket.socket], None],
    ) -> None:
        """Start with `command`, tell it `settings`, pass on its connections."""
        self._command = command
        self._listener = listener
        self._settings = settings
        self._on_connection = on_connection
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False
        self._wanted = False
        self._stale = False
        self._changed = False
        self._was_ready = False
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self.state = ProxyState.IDLE
        self.problem = ""
        """Why it could not be started the last time, or ""."""
        self.pid: int | None = None

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def want(self) -> None:
        """Start the proxy without waiting for a connection."""
        self._wanted = True
        os.eventfd_write(self._wake, 1)

    def refresh(self) -> None:
        """Tell the proxy the settings again."""
        self._stale = True
        os.eventfd_write(self._wake, 1)

    def look_again(self) -> None:
        """Tell the proxy that sessions are not what they were."""
        self._changed = True
        os.eventfd_write(self._wake, 1)

    def stop(self) -> None:
        """End the proxy, and watch no longer."""
        self._stopping = True
        os.eventfd_write(self._wake, 1)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        failures = 0
        while self._wait_until_wanted(failures):
            started = time.monotonic()
            reason = self._serve()
            if self._stopping:
                break
            steady = self._was_ready and time.monotonic() - started > _STEADY_SECONDS
            failures = 1 if steady else failures + 1
            self._failed(reason)
        self.state = ProxyState.STOPPED

    def _failed(self, reason: str) -> None:
        """Whoever waits for a proxy that does not start is told by being hung up."""
        if self._was_ready:
            _log.warning("the proxy has ended and is started again: %s", reason)
            self.state = ProxyState.STARTING
            return
        if reason != self.problem:
            _log.error("the proxy does not start: %s", reason)
        self.problem = reason
        self.state = ProxyState.FAILING
        with suppress(OSError):
            while True:
                self._listener.accept()[0].close()

    def _wait_until_wanted(self, failures: int) -> bool:
        """Wait a while after a failure, then until somebody wants it; False: no more.

        One that has run before is wanted already.
        """
        doubled = _PAUSE_SECONDS * 2 ** min(failures - 1, _MOST_DOUBLINGS)
        pause = min(doubled, _LONGEST_PAUSE_SECONDS) if failures else 0.0
        ends = time.monotonic() + pause
        while not self._stopping and (left := ends - time.monotonic()) > 0:
            self._wait(left)
        wanted = self._was_ready
        while not self._stopping and not (self._wanted or wanted):
            wanted = self._wait(None, self._listener)
        self._wanted = False
        return not self._stopping

    def _wait(
        self, seconds: float | None, listener: socket.socket | None = None
    ) -> bool:
        """Wait for a wake, or so long; True when somebody connects to `listener`."""
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if listener is not None:
            poll.register(listener, select.POLLIN)
        ready = dict(poll.poll(None if seconds is None else seconds * 1000))
        self._heard()
        return listener is not None and listener.fileno() in ready

    def _heard(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)

    def _serve(self) -> str:
        """Run one proxy to its end; how it ended."""
        self.state, self._was_ready = ProxyState.STARTING, False
        self._stale = False
        try:
            message = self._settings()
            child = ProxyChild(self._command, self._listener)
        except (OSError, RedlaneError) as error:
            return describe(error)
        self.pid = child.pid
        told = ""
        try:
            child.send(message)
            told = self._follow(child)
        except (TimeoutError, ValueError, RedlaneError) as error:
            told = describe(error)
        except OSError:  # it has ended: how, is told below
            told = ""
        finally:
            self.pid = None
            ended = child.end()
        return told or ended

    def _follow(self, child: ProxyChild) -> str:
        """Do what the proxy says until it ends; what it told of that, or ""."""
        deadline = time.monotonic() + _READY_SECONDS
        poll = select.poll()
        for each in (child.channel.fileno(), child.stderr, self._wake):
            poll.register(each, select.POLLIN)
        while not self._stopping:
            left = None if self._was_ready else deadline - time.monotonic()
            if left is not None and left <= 0:
                return f"it was not ready within {_READY_SECONDS:g} s"
            ready = dict(poll.poll(None if left is None else left * 1000))
            self._heard()
            if child.stderr in ready and not child.hear():
                poll.unregister(child.stderr)
            if child.channel.fileno() in ready:
                told = self._take(child)
                if told is not None:
                    return told
            if self._stale:
                self._stale = False
                child.send(self._settings())
            if self._changed:
                self._changed = False
                child.hint(LOOK_AGAIN)
        return ""

    def _take(self, child: ProxyChild) -> str | None:
        """Take one message; what ended it, or "" when it has hung up, else None."""
        message = child.receive()
        if message is None:
            return ""
        if message.connection is not None:
            self._on_connection(message.connection)
        elif "failed" in message.document:
            return one_line(str(message.document["failed"]))
        elif message.document.get("ready") is True and not self._was_ready:
            self._was_ready, self.problem = True, ""
            self.state = ProxyState.RUNNING
            _log.info("the proxy runs as process %d", child.pid)
        return None
