"""The daemon's own log: sentences with fields, never what was judged.

What policies decided is in the event log; here is how the daemon itself fares.
"""

import logging
import os
import sys
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

from redlane.daemon.journal import JournalHandler, journal_of
from redlane.errors import DaemonError
from redlane.state.verdict_log import VERDICT_LOGGER

__all__ = ["start_logging"]

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_MOST_BYTES = 5 * 1024 * 1024
_KEPT = 3


class _Lines(logging.Formatter):
    """One record a line, the lines of a traceback indented below it."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's text; control characters in it are made visible."""
        first, *rest = super().format(record).splitlines() or [""]
        return "\n    ".join(_visible(each) for each in (first, *rest))


def start_logging(path: Path, environ: Mapping[str, str], *, to_stderr: bool) -> None:
    """Log to the file at `path` (mode 0600), and to standard error if asked to.

    Where standard error is the journal's, log there instead, and the verdicts as well.
    """
    journal = journal_of(environ) if to_stderr else None
    if journal is not None:
        handlers: list[logging.Handler] = [JournalHandler(journal)]
    else:
        handlers = [_file(path)]
        handlers += [logging.StreamHandler(sys.stderr)] if to_stderr else []
    formatter = _Lines(_FORMAT if journal is None else "%(message)s")
    for handler in handlers:
        handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)
    logging.getLogger("waitress").setLevel(logging.ERROR)
    verdicts = logging.getLogger(VERDICT_LOGGER)
    verdicts.setLevel(logging.ERROR if journal is None else logging.INFO)
    logging.raiseExceptions = False


def _file(path: Path) -> RotatingFileHandler:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, _OPEN, 0o600))
        return RotatingFileHandler(
            path, maxBytes=_MOST_BYTES, backupCount=_KEPT, encoding="utf-8"
        )
    except OSError as error:
        raise DaemonError(
            f"{path}: the log cannot be written: {error.strerror}"
        ) from error


def _visible(text: str) -> str:
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in text
    )
