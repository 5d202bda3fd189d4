"""The daemon's log as entries of the systemd journal, with fields to search for."""

import logging
import os
from collections.abc import Mapping
from types import ModuleType

__all__ = ["JournalHandler", "journal_of"]

_STDERR = 2
_PRIORITIES = (
    (logging.CRITICAL, 2),
    (logging.ERROR, 3),
    (logging.WARNING, 4),
    (logging.INFO, 6),
)
_DEBUG_PRIORITY = 7


def journal_of(environ: Mapping[str, str]) -> ModuleType | None:
    """The bindings of the journal, if standard error goes there and they are installed.

    A program that was started from a service, with a standard error of its own, finds
    JOURNAL_STREAM in its environment too (systemd.exec(5)).
    """
    try:
        status = os.fstat(_STDERR)
        if environ.get("JOURNAL_STREAM") != f"{status.st_dev}:{status.st_ino}":
            return None
        from systemd import journal  # noqa: PLC0415  # bindings are optional
    except (ImportError, OSError):
        return None
    found: ModuleType = journal
    return found


class JournalHandler(logging.Handler):
    """Sends each record; what `extra={"fields": …}` holds is named REDLANE_…."""

    def __init__(self, journal: ModuleType) -> None:
        """Send with `journal`, the module of the bindings."""
        super().__init__()
        self._journal = journal

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; like every handler, without an exception for the caller."""
        try:
            lines = {
                "MESSAGE": self.format(record),
                "PRIORITY": _priority(record.levelno),
                "SYSLOG_IDENTIFIER": "redlane",
                "LOGGER": record.name,
                "CODE_FILE": record.pathname,
                "CODE_LINE": record.lineno,
                "CODE_FUNC": record.funcName,
                "THREAD_NAME": record.threadName,
            }
            for name, value in getattr(record, "fields", {}).items():
                if value is not None:
                    lines[f"REDLANE_{name.upper()}"] = value
            self._journal.sendv(*(_line(*each) for each in lines.items()))
        except (OSError, TypeError, ValueError):
            self.handleError(record)


def _priority(level: int) -> int:
    """The priority of syslog for a level of `logging`."""
    for least, priority in _PRIORITIES:
        if level >= least:
            return priority
    return _DEBUG_PRIORITY


def _line(name: str, value: object) -> bytes:
    return f"{name}={value}".encode(errors="backslashreplace")
