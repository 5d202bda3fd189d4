"""What the yellow lane holds: contents that wait for a decision (decision: Flag).

A review stands for exactly one content of one session, is decided at most once, and
its decision is used at most once. Nothing that is not decided ever goes on by itself,
unless the settings say so.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from redlane.errors import RedlaneError, UsageError
from redlane.state.clock import iso_time
from redlane.state.quota_keys import QuotaKey

__all__ = ["Review", "ReviewState", "Reviews", "ReviewsFullError"]

MOST_HELD = 64
MOST_HELD_OF_SESSION = 16
MOST_HELD_BYTES = 128 * 1024 * 1024
MOST_HELD_OF_SHARE = 16
MOST_HELD_BYTES_OF_SHARE = 32 * 1024 * 1024
"""The bounds of one user, where a daemon serves several."""
MOST_REMEMBERED = 200
"""How many reviews that are over stay to be shown, with the beginning of each."""

LONGEST_REMEMBERED = 10_000

_MOST_FULL_SHARES = 4

LONGEST_SLEEP = 60.0
"""How many seconds a waiter sleeps before it looks at the clock again."""


class ReviewState(StrEnum):
    """How a review stands; all but the first are final."""

    WAITING = "waiting"
    ALLOWED = "allowed"
    BLOCKED = "blocked"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class ReviewsFullError(RedlaneError):
    """So much is held already that nothing more can be: Block."""


@dataclass(frozen=True, slots=True)
class Review:
    """One held content: exactly what came and, if a Modify applied, what would go on.

    `details` say, a line each, what else decides about what it does.
    `deadline` is on the clock of the table; `timeout_action` is `block` or `allow`.
    `decided_by` says who decided, `note` what they said to it.
    """

    id: str
    session: str
    context: str
    content: bytes
    policy: str | None
    reason: str
    created: str
    deadline: float
    timeout_seconds: float
    timeout_action: str = "block"
    details: tuple[str, ...] = ()
    modified: bytes | None = None
    state: ReviewState = ReviewState.WAITING
    decided_by: str | None = None
    note: str | None = None

    @property
    def size(self) -> int:
        """How many bytes it holds."""
        return _size(self.content, self.modified, self.details)

    @property
    def goes_on(self) -> bool:
        """Whether the content may go on."""
        if self.state is ReviewState.EXPIRED:
            return self.timeout_action == "allow"
        return self.state is ReviewState.ALLOWED


class Reviews:
    """Everything that is held, by id; safe for several threads."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: os.urandom(8).hex(),
        quota_key: QuotaKey | None = None,
    ) -> None:
        """An empty table; `clock` counts the seconds that a review may take.

        With `quota_key` no user takes the room of others.
        """
        self._quota_key = quota_key
        self._clock = clock
        self._wall_clock = wall_clock
        self._new_id = new_id
        self._changed = threading.Condition()
        self._held: dict[str, Review] = {}
        self._unused: dict[str, Review] = {}
        self._over: OrderedDict[str, Review] = OrderedDict()
        self._closed = False

    def park(  # noqa: PLR0913  # the parts of a review
        self,
        content: bytes,
        session: str,
        policy: str | None,
        reason: str,
        timeout: float,
        *,
        context: str = "",
        details: tuple[str, ...] = (),
        modified: bytes | None = None,
        timeout_action: str = "block",
    ) -> Review:
        """Hold a content for at most `timeout` seconds; raises ReviewsFullError."""
        with self._changed:
            self._expire()
            self._check_room(session, _size(content, modified, details))
            review = Review(
                id=self._new_id(),
                session=session,
                context=context,
                content=content,
                policy=policy,
                reason=reason,
                created=iso_time(self._wall_clock()),
                deadline=self._clock() + timeout,
                timeout_seconds=timeout,
                timeout_action=timeout_action,
                details=details,
                modified=modified,
            )
            self._held[review.id] = review
            self._changed.notify_all()
            return review

    def wait(self, review: Review) -> Review:
        """The review once it is over; its decision is used up by this one call."""
        with self._changed:
            while True:
                self._expire()
                if review.id in self._unused:
                    return self._unused.pop(review.id)
                if review.id not in self._held:
                    raise UsageError(f"the decision of review {review.id} was used")
                left = self._held[review.id].deadline - self._clock()
                self._changed.wait(min(max(left, 0.0), LONGEST_SLEEP))

    def decide(
        self, review_id: str, decision: str, *, by: str, note: str | None = None
    ) -> Review:
        """Decide `allow` or `block`, once; raises UsageError when it is too late."""
        states = {"allow": ReviewState.ALLOWED, "block": ReviewState.BLOCKED}
        if decision not in states:
            raise UsageError(f"a decision is 'allow' or 'block', not {decision!r}")
        with self._changed:
            self._expire()
            review = self._held.get(review_id)
            if review is None:
                raise UsageError(self._why_not(review_id))
            return self._finish(
                replace(review, state=states[decision], decided_by=by, note=note)
            )

    def cancel(self, review_id: str) -> None:
        """Block what is held, because whoever asked has gone."""
        with self._changed:
            self._expire()
            if review_id in self._held:
                self._cancel(self._held[review_id])

    def release(self, review_id: str) -> None:
        """Let go of a review that nobody waits for; harmless when it is over."""
        with self._changed:
            if review_id in self._held:
                self._cancel(self._held[review_id])
            self._unused.pop(review_id, None)

    def cancel_session(self, session: str) -> None:
        """Block everything that is held of one session: it was frozen or has ended."""
        with self._changed:
            for review in list(self._held.values()):
                if review.session == session:
                    self._cancel(review)

    def close(self) -> None:
        """Block everything that is held, and hold nothing any more."""
        with self._changed:
            self._closed = True
            for review in list(self._held.values()):
                self._cancel(review)
            self._changed.notify_all()

    def wait_until(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until something has changed that makes it so, or the time is up."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or is_so(), seconds)

    def get(self, review_id: str) -> Review | None:
        """The review as it is now, or None."""
        with self._changed:
            self._expire()
            return self._held.get(review_id) or self._over.get(review_id)

    def list(self, *, over: bool = False) -> tuple[Review, ...]:
        """What is held, oldest first; with `over` what was held lately as well."""
        with self._changed:
            self._expire()
            past = self._over.values() if over else ()
            return (*past, *self._held.values())

    def _check_room(self, session: str, size: int) -> None:
        if self._closed:
            raise ReviewsFullError("nothing is held any more: the daemon is stopping")
        if self._quota_key is not None:
            self._check_room_of_user(self._quota_key, session, size)
        mine = sum(each.session == session for each in self._held.values())
        held = sum(each.size for each in self._held.values())
        if mine >= MOST_HELD_OF_SESSION:
            raise ReviewsFullError(
                f"session {session!r} has {mine} contents held already"
            )
        most, most_bytes = MOST_HELD, MOST_HELD_BYTES
        if self._quota_key is not None:  # several users together may have more than one
            most, most_bytes = most * _MOST_FULL_SHARES, most_bytes * 2
        if len(self._held) >= most or held + size > most_bytes:
            raise ReviewsFullError(f"{len(self._held)} contents are held already")

    def _check_room_of_user(self, quota_key: QuotaKey, session: str, size: int) -> None:
        name = quota_key(session)
        same = [each for each in self._held.values() if quota_key(each.session) == name]
        held = sum(each.size for each in same)
        if len(same) >= MOST_HELD_OF_SHARE or held + size > MOST_HELD_BYTES_OF_SHARE:
            raise ReviewsFullError(f"{name} has {len(same)} contents held already")

    def _why_not(self, review_id: str) -> str:
        review = self._over.get(review_id)
        if review is None:
            return f"there is no review {review_id!r}"
        by = f" by {review.decided_by}" if review.decided_by else ""
        return f"review {review_id!r} is over: {review.state}{by}"

    def _expire(self) -> None:
        now = self._clock()
        for review in list(self._held.values()):
            if review.deadline <= now:
                self._finish(replace(review, state=ReviewState.EXPIRED))

    def _cancel(self, review: Review) -> None:
        self._finish(replace(review, state=ReviewState.CANCELLED))

    def _finish(self, review: Review) -> Review:
        """Put a review that is over where its waiter and the list find it."""
        del self._held[review.id]
        self._unused[review.id] = review
        modified = review.modified
        self._over[review.id] = replace(
            review,
            content=review.content[:LONGEST_REMEMBERED],
            details=_beginning(review.details),
            modified=None if modified is None else modified[:LONGEST_REMEMBERED],
        )
        if len(self._over) > MOST_REMEMBERED:
            self._over.popitem(last=False)
        self._changed.notify_all()
        return review


def _size(content: bytes, modified: bytes | None, details: tuple[str, ...]) -> int:
    return len(content) + len(modified or b"") + sum(map(len, details))


def _beginning(details: tuple[str, ...]) -> tuple[str, ...]:
    """So many of the first lines as are remembered."""
    left, kept = LONGEST_REMEMBERED, []
    for line in details:
        if left <= 0:
            break
        kept.append(line[:left])
        left -= len(line) + 1
    return tuple(kept)
