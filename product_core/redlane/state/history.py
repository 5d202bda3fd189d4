"""Reads the event log back: filtered, followed, and checked for what is missing."""

import heapq
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from redlane.state.event import FIRST_LINK, Event, link_of
from redlane.state.events import SUFFIX, log_path
from redlane.state.owners import new_id, owner_of

__all__ = ["Filter", "History", "broken_links"]

_FIELDS = frozenset(field.name for field in fields(Event))
_NEEDED = ("id", "time", "session", "context", "verdict")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events are wanted; None asks for nothing.

    `owner` is the user whose sessions they are of. `since` is an ISO time in UTC as
    events carry it: those at or after it.
    """

    session: str | None = None
    since: str | None = None
    verdict: str | None = None
    context: str | None = None
    policy: str | None = None
    owner: int | None = None

    def accepts(self, event: Event) -> bool:
        """Whether the event is wanted."""
        return (
            (self.since is None or event.time >= self.since)
            and self.session in (None, event.session)
            and self.verdict in (None, event.verdict)
            and self.context in (None, event.context)
            and self.policy in (None, event.policy)
            and (self.owner is None or self.owner == owner_of(event.session))
        )


class History:
    """The events of a directory; remembers how far it has read."""

    def __init__(self, directory: Path) -> None:
        """Read below `directory`, which need not be there yet."""
        self._directory = directory
        self._offsets: dict[Path, int] = {}

    def read(self, wanted: Filter, limit: int | None = None) -> list[Event]:
        """The wanted events in order of time, the last `limit` of them.

        What is no event, such as a line that a kill cut short, is passed over. Never
        more than `limit` of one file, and of those before it, are kept in memory.
        """
        newest: list[Event] = []
        for path in self._files(wanted):
            of_file = deque(self._from_file(path, wanted), maxlen=limit)
            merged = heapq.merge(newest, of_file, key=attrgetter("time"))
            newest = list(deque(merged, maxlen=limit))
        return newest

    def stream(self, wanted: Filter) -> Iterator[Event]:
        """The wanted events, file by file; one of them is in memory at a time."""
        for path in self._files(wanted):
            yield from self._from_file(path, wanted)

    def after(self, event_id: str, wanted: Filter, limit: int) -> list[Event]:
        """The first wanted events behind the one with this id, `limit` of them.

        Without such an event, the last ones. Never more than that is kept in memory.
        """
        every = Filter(owner=wanted.owner)
        files = [self._from_file(path, every) for path in self._files(every)]
        behind = heapq.merge(*files, key=attrgetter("time"))
        last: deque[Event] = deque(maxlen=limit)
        for event in behind:
            if event.id == event_id:
                return list(islice(filter(wanted.accepts, behind), limit))
            if wanted.accepts(event):
                last.append(event)
        return list(last)

    def new(self, wanted: Filter) -> list[Event]:
        """The wanted events that came since the last call of `read` or `new`."""
        found = [
            event
            for path in self._files(wanted)
            for event in self._from_file(path, wanted, self._offsets.get(path, 0))
        ]
        return sorted(found, key=attrgetter("time"))

    def _files(self, wanted: Filter) -> list[Path]:
        if wanted.session is not None:
            path = log_path(self._directory, wanted.session)
            return [path] if path.is_file() else []
        begin = "" if wanted.owner is None else new_id("", wanted.owner)
        return sorted(self._directory.glob(f"{begin}*{SUFFIX}"))

    def _from_file(self, path: Path, wanted: Filter, start: int = 0) -> Iterator[Event]:
        """The wanted events behind `start`; a file that shrank is read from its top."""
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(start if start <= size else 0)
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                self._offsets[path] = stream.tell()
                event = _event(line)
                if event is not None and wanted.accepts(event):
                    yield event


def broken_links(path: Path) -> list[str]:
    """What is wrong with the chain of one file, one line for each place."""
    problems = []
    expected = FIRST_LINK
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            link = link_of(line)
            if link is None:
                problems.append(f"{path} line {number}: not a whole event")
                continue
            if link[0] != expected:
                problems.append(f"{path} line {number}: the event before it is missing")
            expected = link[1]
    return problems


def _event(line: bytes) -> Event | None:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or any(
        not isinstance(value.get(each), str) for each in _NEEDED
    ):
        return None
    known = {key: each for key, each in value.items() if key in _FIELDS}
    try:
        return Event(**known)
    except TypeError:
        return None
