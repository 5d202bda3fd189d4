"""The service's log: one JSON object a line on standard error, or journal entries.

A sentence that reads alone, plus fields (`extra=`) to search for; never a token, a
password, a body, an address or what a request was about.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

from redlane_hub.clock import timestamp
from redlane_hub.server.journal import JournalHandler, is_journal

__all__ = ["JsonLines", "start_logging"]

_OWN_FIELDS = frozenset(
    vars(logging.makeLogRecord({})).keys() | {"asctime", "message", "taskName"}
)


class JsonLines(logging.Formatter):
    """A record as one line: level, time, logger, process, message, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; a traceback is a field of it."""
        line: dict[str, object] = {
            "time": timestamp(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            "logger": record.name,
            "process": record.process,
        }
        for name, value in _fields_of(record).items():
            line.setdefault(name, value)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _fields_of(record: logging.LogRecord) -> dict[str, object]:
    """What was given as `extra=`."""
    found = vars(record).items()
    return {name: value for name, value in found if name not in _OWN_FIELDS}


def _without_the_request(record: logging.LogRecord) -> bool:
    """Have waitress say that something failed, not for whom: the traceback remains."""
    record.msg, record.args = "The web server failed.", ()
    return True


def start_logging(level: str, environ: Mapping[str, str]) -> None:
    """Log records of `level` (debug, info, warning, error) and above.

    Where standard error is the journal's, they go there with their fields.
    """
    handler: logging.Handler
    if is_journal(environ):
        handler = JournalHandler(_fields_of)
        handler.setFormatter(logging.Formatter())
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    web = logging.getLogger("waitress")
    # It warns for every request that has to wait, and says nothing of any use at info.
    web.setLevel(logging.ERROR)
    web.filters = [_without_the_request]
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = False
