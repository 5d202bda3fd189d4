"""Telling systemd how the service is (sd_notify), where there is a systemd to tell."""

import os
import socket
import time
from collections.abc import Mapping

__all__ = ["Notifier"]

_MICROSECOND = 1e-6


class Notifier:
    """Sends states to the service manager; does nothing when there is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A name in the abstract namespace is written with an @.
        self._address = f"\0{address[1:]}" if address[:1] == "@" else address
        self._every = _watchdog_seconds(environ)
        self._due = 0.0

    def ready(self) -> None:
        """The service answers."""
        self._send(f"READY=1\nMAINPID={os.getpid()}")

    def stopping(self) -> None:
        """The service is about to end."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """Tell the watchdog, if there is one and it is time to; cheap to call often."""
        now = time.monotonic()
        if self._every and now >= self._due:
            self._due = now + self._every
            self._send("WATCHDOG=1")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_UNIX, kind) as sending:
            try:
                sending.sendto(state.encode(), self._address)
            except OSError:
                # Whoever asked to be told is gone; serving is what matters.
                return


def _watchdog_seconds(environ: Mapping[str, str]) -> float:
    """How often the watchdog wants to hear of us; 0 for never."""
    period = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    return int(period) * _MICROSECOND / 3 if meant and period.isdecimal() else 0.0
