"""The event log, with a way to wait for what comes next."""

import threading
import time
from collections import deque
from pathlib import Path

from redlane.control.verdict_log import log_verdict
from redlane.state.event import Event
from redlane.state.events import EventLog
from redlane.state.history import Filter, History

__all__ = ["BEGINNING", "EventStream"]

BEGINNING = "start"
"""Stands for an event before the first one since the daemon's start."""

_MOST_RECENT = 500


class EventStream(EventLog):
    """Appends events, and lets readers follow them; safe for several threads."""

    def __init__(self, directory: Path) -> None:
        """Write below `directory`."""
        super().__init__(directory)
        self._path = directory
        self._came = threading.Condition()
        self._recent: deque[Event] = deque(maxlen=_MOST_RECENT)
        self._closed = False

    def append(self, event: Event) -> None:
        """Write one event, then wake who waits for it; raises when it cannot."""
        super().append(event)
        with self._came:
            self._recent.append(event)
            self._came.notify_all()
        log_verdict(event)

    def read(self, wanted: Filter, limit: int) -> list[Event]:
        """The last `limit` events that are wanted, oldest first."""
        return History(self._path).read(wanted, limit)

    @property
    def last(self) -> str:
        """The id of the newest event since the start, or else `BEGINNING`."""
        with self._came:
            return self._recent[-1].id if self._recent else BEGINNING

    def after(
        self, event_id: str, wanted: Filter, limit: int, seconds: float
    ) -> list[Event]:
        """The wanted events behind the one with this id; waits for one if need be.

        An event so old that it is not remembered any more is looked up in the log.
        """
        deadline = time.monotonic() + seconds
        with self._came:
            known = {BEGINNING, *(each.id for each in self._recent)}
            while event_id in known:
                behind = self._behind(event_id)
                found = [each for each in behind if wanted.accepts(each)]
                left = deadline - time.monotonic()
                if found or left <= 0 or self._closed:
                    return found[:limit]
                self._came.wait(left)
        return History(self._path).after(event_id, wanted, limit)

    def stop_waiting(self) -> None:
        """Let every reader go that waits for more."""
        with self._came:
            self._closed = True
            self._came.notify_all()

    def _behind(self, event_id: str) -> list[Event]:
        recent = list(self._recent)
        for place, event in enumerate(recent):
            if event.id == event_id:
                return recent[place + 1 :]
        return recent
