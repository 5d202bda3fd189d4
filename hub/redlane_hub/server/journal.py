"""The service's log as entries of the systemd journal, with fields to search for.

The journal's own protocol (systemd's JOURNAL_NATIVE_PROTOCOL): a datagram of fields, so
that no library is needed.
"""

import logging
import os
import socket
from collections.abc import Callable, Mapping

__all__ = ["JournalHandler", "is_journal"]

_SOCKET = "/run/systemd/journal/socket"
_STDERR = 2
_DEBUG_PRIORITY = 7
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)


def is_journal(environ: Mapping[str, str]) -> bool:
    """Whether standard error is the journal's; the variable alone may be inherited."""
    try:
        status = os.fstat(_STDERR)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


class JournalHandler(logging.Handler):
    """Sends each record; its `extra` fields are named REDLANE_HUB_…."""

    def __init__(
        self,
        fields_of: Callable[[logging.LogRecord], Mapping[str, object]],
        address: str = _SOCKET,
    ) -> None:
        """`fields_of` tells what a record holds besides its message."""
        super().__init__()
        self._fields_of = fields_of
        self._address = address

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; like every handler, without an exception for the caller."""
        try:
            fields = {
                "MESSAGE": self.format(record),
                "PRIORITY": _priority(record.levelno),
                "SYSLOG_IDENTIFIER": "redlane-hub",
                "LOGGER": record.name,
                "CODE_FILE": record.pathname,
                "CODE_LINE": record.lineno,
                "CODE_FUNC": record.funcName,
            }
            for name, value in self._fields_of(record).items():
                fields[f"REDLANE_HUB_{name.upper()}"] = value
            entry = b"".join(_encoded(*each) for each in fields.items())
            kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
            with socket.socket(socket.AF_UNIX, kind) as sending:
                sending.sendto(entry, self._address)
        except (OSError, TypeError, ValueError):
            self.handleError(record)


def _priority(level: int) -> int:
    """The priority of syslog for a level of `logging`."""
    for least, priority in _PRIORITIES:
        if level >= least:
            return priority
    return _DEBUG_PRIORITY


def _encoded(name: str, value: object) -> bytes:
    """One field; with its length before it, a value may hold line breaks."""
    data = str(value).encode(errors="backslashreplace")
    return b"%b\n%b%b\n" % (name.encode(), len(data).to_bytes(8, "little"), data)
