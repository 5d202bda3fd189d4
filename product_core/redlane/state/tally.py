"""Counts events by what judged them: how often which policy said what."""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.state.event import Event

__all__ = ["RefusedCalls", "Tally"]

_MOST_ROWS = 500
_MOST_SESSIONS = 256
_OTHERS = "(others)"
_REPEATED = re.compile(r"^([0-9]{1,15}) times$", re.MULTILINE)
_CALL = re.compile(r'\{"syscall":"([a-z0-9_]{1,40})"')

_Key = tuple[str, str, str | None, str | None]


class Tally:
    """Rows of a context, a verdict, a policy and a system call; bounded."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        """Count these to begin with."""
        self._counts: dict[_Key, int] = {}
        for event in events:
            self.add(event)

    def add(self, event: Event) -> None:
        """Count one event, which may stand for many that were the same."""
        key = (event.context, event.verdict, event.policy, _call(event))
        if key not in self._counts and len(self._counts) >= _MOST_ROWS:
            key = (event.context, event.verdict, _OTHERS, None)
        repeated = _REPEATED.search(event.details)
        count = int(repeated[1]) if repeated else 1
        self._counts[key] = self._counts.get(key, 0) + count

    def rows(self) -> list[Mapping[str, object]]:
        """All of them, the most frequent first."""
        names = ("context", "verdict", "policy", "syscall")
        most_first = sorted(
            self._counts.items(), key=lambda row: (-row[1], str(row[0]))
        )
        return [
            {"count": count, **dict(zip(names, key, strict=True))}
            for key, count in most_first
        ]


class RefusedCalls:
    """How many system calls of each session were refused; for several threads.

    What was before the daemon's start is read from the log, once a session.
    """

    def __init__(self, logged: Callable[[str], Iterable[Event]]) -> None:
        """`logged` has the events of a session that stand in the log."""
        self._logged = logged
        self._lock = threading.Lock()
        self._of: OrderedDict[str, Tally] = OrderedDict()

    def expect(self, event: Event) -> None:
        """An event is about to be written: what stands in the log is without it."""
        if _is_refused(event):
            with self._lock:
                self._tally(event.session)

    def add(self, event: Event) -> None:
        """An event was written."""
        if _is_refused(event):
            with self._lock:
                tally = self._of.get(event.session)
                if tally is not None:
                    tally.add(event)

    def of(self, session: str) -> list[Mapping[str, object]]:
        """The refused calls of a session by `policy` and `syscall`."""
        with self._lock:
            rows = self._tally(session).rows()
        return [
            {name: row[name] for name in ("count", "policy", "syscall")} for row in rows
        ]

    def _tally(self, session: str) -> Tally:
        found = self._of.get(session)
        if found is None:
            found = Tally(filter(_is_refused, self._logged(session)))
            self._of[session] = found
            if len(self._of) > _MOST_SESSIONS:
                self._of.popitem(last=False)
        self._of.move_to_end(session)
        return found


def _is_refused(event: Event) -> bool:
    return event.context == Context.SYSCALL and event.verdict == Decision.BLOCK


def _call(event: Event) -> str | None:
    """The system call that an event is about: the first that its content tells."""
    if event.context != Context.SYSCALL:
        return None
    found = _CALL.match(event.content)
    return found[1] if found else None
