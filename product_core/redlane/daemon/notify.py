"""Telling systemd how the service is (sd_notify), where there is a systemd to tell."""

import os
from collections.abc import Mapping

__all__ = ["Notifier"]


class Notifier:
    """Sends states to the service manager; does nothing when there is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Look for the manager's socket, and for the bindings of libsystemd."""
        self._daemon = None
        if environ.get("NOTIFY_SOCKET"):
            try:
                from systemd import daemon  # noqa: PLC0415  # bindings are optional
            except ImportError:
                return
            self._daemon = daemon

    def ready(self) -> None:
        """The service answers, after a start or a reload."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The service reads its files again."""
        self._send("RELOADING=1")

    def stopping(self) -> None:
        """The service is about to end."""
        self._send("STOPPING=1")

    def _send(self, state: str) -> None:
        if self._daemon is not None:
            self._daemon.notify(f"{state}\nMAINPID={os.getpid()}")
