"""The event log, with a way to wait for what comes next."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path

from redlane.state.event import Event
from redlane.state.events import EventLog
from redlane.state.history import Filter, History
from redlane.state.tally import RefusedCalls, Tally
from redlane.state.verdict_log import log_verdict

__all__ = ["BEGINNING", "EventFeed"]

BEGINNING = "start"
"""Stands for an event before the first one since the daemon's start."""

_MOST_RECENT = 500


class EventFeed(EventLog):
    """Appends events, and lets readers follow them; safe for several threads."""

    def __init__(self, directory: Path) -> None:
        """Write below `directory`."""
        super().__init__(directory)
        self._path = directory
        self._came = threading.Condition()
        self._recent: deque[Event] = deque(maxlen=_MOST_RECENT)
        self._count = 0
        self._closed = False
        self._refused = RefusedCalls(self._logged)

    def append(self, event: Event) -> None:
        """Write one event, then wake who waits for it; raises when it cannot."""
        self._refused.expect(event)
        super().append(event)
        self._refused.add(event)
        with self._came:
            self._recent.append(event)
            self._count += 1
            self._came.notify_all()
        log_verdict(event)

    def read(self, wanted: Filter, limit: int) -> list[Event]:
        """The last `limit` events that are wanted, oldest first."""
        return History(self._path).read(wanted, limit)

    def counts(self, wanted: Filter) -> list[Mapping[str, object]]:
        """The wanted events counted, the most frequent first."""
        return Tally(History(self._path).stream(wanted)).rows()

    def refused_calls(self, session: str) -> list[Mapping[str, object]]:
        """How many system calls of a session were refused, by policy and call."""
        return self._refused.of(session)

    def _logged(self, session: str) -> Iterator[Event]:
        return History(self._path).stream(Filter(session=session))

    def last(self, owner: int | None = None) -> str:
        """The id of the newest event since the start, or else `BEGINNING`.

        With `owner`, of that user's sessions: nobody learns when others are judged.
        """
        wanted = Filter(owner=owner)
        with self._came:
            newest = filter(wanted.accepts, reversed(self._recent))
            return next((each.id for each in newest), BEGINNING)

    def after(
        self, event_id: str, wanted: Filter, limit: int, seconds: float
    ) -> list[Event]:
        """The wanted events behind the one with this id; waits for one if need be.

        An event so old that it is not remembered any more is looked up in the log.
        """
        deadline = time.monotonic() + seconds
        with self._came:
            place = self._place(event_id)
            start = self._count if place is None else place
        if place is None:
            older = History(self._path).after(event_id, wanted, limit)
            if older:
                return older
        with self._came:
            while True:
                fresh = list(self._recent)[-max(1, self._count - start) :]
                behind = fresh if self._count > start else []
                found = [each for each in behind if wanted.accepts(each)]
                left = deadline - time.monotonic()
                if found or left <= 0 or self._closed:
                    return found[:limit]
                self._came.wait(left)

    def stop_waiting(self) -> None:
        """Let every reader go that waits for more."""
        with self._came:
            self._closed = True
            self._came.notify_all()

    def _place(self, event_id: str) -> int | None:
        """How many events there had been with this one; None when it is forgotten."""
        first = self._count - len(self._recent)
        if event_id == BEGINNING:
            return first
        for place, event in enumerate(self._recent):
            if event.id == event_id:
                return first + place + 1
        return None
