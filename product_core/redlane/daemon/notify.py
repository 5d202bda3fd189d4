"""Telling systemd how the service is (sd_notify), where there is a systemd to tell."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

__all__ = ["Notifier"]

_MICROSECONDS = 1_000_000
_SECONDS = 5.0
_PINGS_A_PERIOD = 2
"""As sd_watchdog_enabled(3) advises: one ping may come late."""


class Notifier:
    """Sends states to the service manager; does nothing when there is none."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Look for the manager's socket, and how often its watchdog wants a ping."""
        address = environ.get("NOTIFY_SOCKET", "")
        # A name in the abstract namespace is written with an @.
        self._address = f"\0{address[1:]}" if address[:1] == "@" else address
        self.watchdog_seconds = _watchdog_seconds(environ) if address else None
        """How often to call `alive`; None when nobody wants to hear it."""

    def ready(self) -> None:
        """The service answers, after a start or a reload."""
        self._send("READY=1")

    def reloading(self) -> None:
        """The service reads its files again."""
        # The moment tells the manager which reload the next READY=1 belongs to.
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        """The service is about to end."""
        self._send("STOPPING=1")

    def alive(self) -> None:
        """The service still does what it is for."""
        self._send("WATCHDOG=1")

    def failed(self, reason: str) -> None:
        """The service does not start, and why: a line that `systemctl status` shows."""
        self._send(f"STATUS={' '.join(reason.split())}")

    def _send(self, state: str) -> None:
        if not self._address:
            return
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
        with socket.socket(socket.AF_UNIX, kind) as sending, suppress(OSError):
            # Should the manager be gone, or not listen: serving is what matters.
            sending.settimeout(_SECONDS)
            sending.sendto(f"{state}\nMAINPID={os.getpid()}".encode(), self._address)


def _watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    period = environ.get("WATCHDOG_USEC", "")
    meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    if not meant or not period.isdecimal() or not int(period):
        return None
    return int(period) / _MICROSECONDS / _PINGS_A_PERIOD
