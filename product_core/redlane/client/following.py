"""What comes next, over and over: the part that waiting and asyncio have in common."""

from collections.abc import Sequence
from typing import Protocol

from redlane.client.errors import RefusedError
from redlane.client.operations import Document, Operation, events, reviews
from redlane.errors import DaemonError

__all__ = ["Backoff", "EventFollower", "Follower", "ReviewFollower"]

_WAIT_SECONDS = 50
_MOST_EVENTS = 1000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0
_TOO_MANY, _STOPPING = 429, 503


class Follower(Protocol):
    """Knows what to ask for next, and what is new in the answer."""

    def next(self) -> Operation:
        """What to ask for; the daemon answers when there is something."""
        ...

    def take(self, answer: Document) -> Sequence[Document]:
        """What is new."""
        ...


class EventFollower:
    """Every event from now on, or from `after` on; filters as `events` has them."""

    def __init__(self, after: str | None = None, **filters: str | int | None) -> None:
        """Nothing is known yet."""
        self._filters = {"limit": _MOST_EVENTS, **filters}
        self._after = after

    def next(self) -> Operation:
        """What came behind the last event that is known."""
        return events(
            after=self._after or "", wait_seconds=_WAIT_SECONDS, **self._filters
        )

    def take(self, answer: Document) -> Sequence[Document]:
        """The events of an answer, oldest first."""
        self._after = str(answer["last"])
        found: Sequence[Document] = answer["events"]
        return found


class ReviewFollower:
    """What is held, whenever it is not what it was: each time the whole list."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._revision = ""

    def next(self) -> Operation:
        """What is held once it has changed."""
        return reviews(after=self._revision, wait_seconds=_WAIT_SECONDS)

    def take(self, answer: Document) -> Sequence[Document]:
        """The list, if it is another one."""
        revision = str(answer["revision"])
        is_news, self._revision = revision != self._revision, revision
        return [answer] if is_news else []


class Backoff:
    """How long to wait before a daemon that was away is asked again, in seconds."""

    def __init__(self) -> None:
        """It was there the last time."""
        self._pause = _FIRST_PAUSE

    def after(self, error: DaemonError) -> float:
        """The pause after a failure; raises it again where asking again is no use."""
        if isinstance(error, RefusedError) and error.status not in (
            _TOO_MANY,
            _STOPPING,
        ):
            raise error
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        return pause

    def reset(self) -> None:
        """It has answered."""
        self._pause = _FIRST_PAUSE
