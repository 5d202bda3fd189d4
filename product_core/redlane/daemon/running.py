"""The daemon while it serves: its two sockets, and what signals do to it."""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from redlane.control.app import create_app, shell_service
from redlane.control.server import ControlServer
from redlane.daemon.container import Container
from redlane.daemon.findings import fields_of, line_of
from redlane.daemon.listeners import Listeners
from redlane.daemon.notify import Notifier
from redlane.daemon.signals import handle_signals
from redlane.errors import RedlaneError
from redlane.judging.shell_socket import ShellSocket
from redlane.policies.loaded import Loaded

__all__ = ["Running"]

_DRAIN_SECONDS = 4.0

_log = logging.getLogger(__name__)


class Running:
    """Serves the control API and the shell wrapper until a signal ends it."""

    def __init__(
        self,
        parts: Container,
        listeners: Listeners,
        notifier: Notifier,
        verdict_seconds: Callable[[], float],
    ) -> None:
        """Nothing is accepted before `run`; a command's verdict has so many seconds."""
        self._parts = replace(parts, reload=self._load_again)
        self._load = parts.reload
        self._listeners = listeners
        self._notifier = notifier
        self._deadline = 0.0
        self._server = ControlServer(
            create_app(self._parts), listeners.control, parts.counted
        )
        self._shell = ShellSocket(
            listeners.shell,
            parts.paths.shell_socket,
            shell_service(parts).answer,
            parts.reviews.cancel,
            parts.members.serve,
            notifier.alive,
            parts.counted,
            verdict_seconds,
        )
        for each in (self._server, self._shell):
            each.let_stand_for = parts.authenticator.let_stand_for

    def take_signals(self) -> None:
        """Let signals end it, or reload the policies."""
        handle_signals(self._server.call, stop=self.stop, reload=self._reload_soon)

    def run(self) -> None:
        """Serve until `stop`."""
        if self._notifier.watchdog_seconds is not None:
            # A ping takes both: this loop turns, and a shell thread accepts.
            self._server.every(self._notifier.watchdog_seconds, self._shell.check)
        self._notifier.ready()
        _log.info("process %d serves %s", os.getpid(), self._parts.paths.socket)
        self._shell.start()
        self._server.run()
        self._shell.wait(self._deadline - time.monotonic())

    def stop(self) -> None:
        """Answer what runs, block what is held, and let `run` return."""
        _log.info("stopping")
        self._notifier.stopping()
        self._deadline = time.monotonic() + _DRAIN_SECONDS
        self._shell.drain(shared=self._listeners.shell_is_shared)
        self._server.drain(_DRAIN_SECONDS)
        self._parts.release_waiters()

    def _reload_soon(self) -> None:
        """Reload in a thread of its own: verdicts go on meanwhile."""
        threading.Thread(target=self._reload, name="reload", daemon=True).start()

    def _reload(self) -> None:
        try:
            self._load_again()
        except RedlaneError as error:
            _log.error("the reload changed nothing: %s", error)  # its message says all

    def _load_again(self) -> Loaded:
        """Load again, whoever asked for it; tells the manager and the log."""
        self._notifier.reloading()
        try:
            loaded = self._load()
        finally:
            self._notifier.ready()
        for error in loaded.errors:
            text = line_of(error)
            _log.error("the reload changed nothing: %s", text, extra=fields_of(error))
        return loaded
