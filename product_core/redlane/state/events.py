"""The event log: one append-only, hash-chained file of JSON lines a session.

An event is one `write` of one line, so that a kill loses at most the line under way. A
torn line is closed off when the file is opened again, and what cannot be written
raises: the gate blocks what it cannot record.
"""

import os
import re
import threading
from collections import OrderedDict
from pathlib import Path

from redlane.errors import RedlaneError
from redlane.state.event import FIRST_LINK, Event, encode, link_of

__all__ = ["SUFFIX", "EventLog", "log_path"]

SUFFIX = "-events.jsonl"
"""How the file of a session ends; before it stands the session's id."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OPEN = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST_OPEN = 64
"""How many files stay open; sessions come and go, and theirs are opened again."""

_LONGEST_LINE = 1 << 20
"""No line is longer: excerpts are bounded, and no character takes over 12 bytes."""


def log_path(directory: Path, session: str) -> Path:
    """The file of a session; raises for an id that could name a file elsewhere."""
    if not _SESSION.fullmatch(session):
        raise RedlaneError(f"{session!r} is no session id")
    return directory / f"{session}{SUFFIX}"


class EventLog:
    """Appends events; safe for several threads."""

    def __init__(self, directory: Path) -> None:
        """Write below `directory`, which is made when the first event comes."""
        self._directory = directory
        self._files: dict[str, _LogFile] = {}
        self._open: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def append(self, event: Event) -> None:
        """Write one event behind the last of its session; raises when it cannot."""
        with self._lock:
            log_file = self._files.get(event.session)
            if log_file is None:
                log_file = _LogFile(log_path(self._directory, event.session))
                self._files[event.session] = log_file
            self._open[event.session] = None
            self._open.move_to_end(event.session)
            idle = None
            if len(self._open) > _MOST_OPEN:
                idle = self._files[self._open.popitem(last=False)[0]]
        if idle is not None:
            idle.close()
        try:
            log_file.append(event)
        except OSError as error:
            raise RedlaneError(
                f"the event log {log_file.path} cannot be written: "
                f"{error.strerror or error}"
            ) from error

    def close(self, session: str | None = None) -> None:
        """Close the file of one session, or of all; a further event opens it again."""
        with self._lock:
            names = list(self._files) if session is None else [session]
            for each in names:
                self._open.pop(each, None)
            closed = [self._files.pop(each, None) for each in names]
        for log_file in closed:
            if log_file is not None:
                log_file.close()


class _LogFile:
    """One open file and the hash of its last event."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._link: str | None = None

    def append(self, event: Event) -> None:
        with self._lock:
            descriptor = self._open()
            line, link = encode(event, self._link or FIRST_LINK)
            written = os.write(descriptor, line)
            if written != len(line):
                self._close()
                raise OSError(f"{self._name}: only {written} bytes were written")
            self._link = link

    def close(self) -> None:
        with self._lock:
            self._close()

    def _open(self) -> int:
        """The descriptor of the file that stands under the name now.

        A file that was removed or replaced is begun anew; the chain goes on from the
        last event that this process wrote, so that the gap shows.
        """
        if self._descriptor is not None:
            if self._is_in_place(self._descriptor):
                return self._descriptor
            self._close()
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._name, _OPEN, 0o600)
        try:
            link = _mend(descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        self._link = self._link or link
        self._descriptor = descriptor
        return descriptor

    def _is_in_place(self, descriptor: int) -> bool:
        mine = os.fstat(descriptor)
        try:
            named = os.lstat(self._name)
        except FileNotFoundError:
            return False
        return (mine.st_dev, mine.st_ino) == (named.st_dev, named.st_ino)

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _mend(descriptor: int) -> str:
    """Close off a torn last line; the hash of the last whole event."""
    os.fchmod(descriptor, 0o600)
    size = os.fstat(descriptor).st_size
    start = max(0, size - _LONGEST_LINE)
    tail = os.pread(descriptor, size - start, start)
    if tail and not tail.endswith(b"\n"):
        os.write(descriptor, b"\n")
    for line in reversed(tail.splitlines()):
        link = link_of(line)
        if link is not None:
            return link[1]
    return FIRST_LINK
