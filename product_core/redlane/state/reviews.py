"""What the yellow lane holds: contents that wait for a decision (decision: Flag).

A review stands for exactly one content of one session and is decided at most once. Its
decision is used once, unless whoever decides says that it is for the same again.
Nothing that is not decided ever goes on by itself, unless the settings say so.
"""

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from redlane.errors import RedlaneError, UsageError
from redlane.state.clock import iso_time, uptime
from redlane.state.grants import Grants
from redlane.state.quota_keys import QuotaKey
from redlane.state.review import CastVote, Decider, Review, ReviewState, size_of

__all__ = ["Reviews", "ReviewsFullError"]

_STOPPING = "the daemon, which stops"
MOST_HELD = 1024
"""Fewer than there are threads to answer: what is held waits in one."""
MOST_HELD_OF_SESSION = 64
MOST_HELD_BYTES = 128 * 1024 * 1024
MOST_HELD_OF_SHARE = 48
MOST_HELD_BYTES_OF_SHARE = 32 * 1024 * 1024
"""The bounds of one user, where a daemon serves several."""
MOST_REMEMBERED = 200
"""How many reviews that are over stay to be shown, with the beginning of each."""

LONGEST_REMEMBERED = 10_000

LONGEST_SLEEP = 60.0
"""How many seconds a waiter sleeps before it looks at the clock again."""


class ReviewsFullError(RedlaneError):
    """So much is held already that nothing more can be: Block."""


class Reviews:
    """Everything that is held, by id; safe for several threads."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = uptime,
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
        self._ended: dict[str, threading.Event] = {}
        self._unused: dict[str, Review] = {}
        self._over: OrderedDict[str, Review] = OrderedDict()
        self._grants: Grants[Review] = Grants(clock)
        self._counting: OrderedDict[str, None] = OrderedDict()
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
        matched: bytes | None = None,
        inside: tuple[bytes, ...] = (),
        timeout_action: str = "block",
        role: str | None = None,
        cwd: str | None = None,
        pid: int | None = None,
        subject: bytes = b"",
        waits_for: str = "a person",
        processes: tuple[tuple[int, str], ...] = (),
    ) -> Review:
        """Hold a content for at most `timeout` seconds; raises ReviewsFullError.

        Where the same was decided for this one, too, that review comes back.
        """
        with self._changed:
            self._expire()
            granted = None if self._closed else self._grants.use(subject)
            if granted is not None:
                return granted
            self._check_room(session, size_of(content, modified, details))
            now = self._wall_clock()
            review = Review(
                id=self._new_id(),
                session=session,
                context=context,
                content=content,
                policy=policy,
                reason=reason,
                created=iso_time(now),
                deadline=self._clock() + timeout,
                ends=iso_time(now + timeout),
                timeout_seconds=timeout,
                timeout_action=timeout_action,
                details=details,
                modified=modified,
                matched=matched,
                inside=inside,
                role=role,
                cwd=cwd,
                pid=pid,
                subject=subject,
                waits_for=waits_for,
                processes=processes,
            )
            self._held[review.id] = review
            self._ended[review.id] = threading.Event()
            self._changed.notify_all()
            return review

    def wait(self, review: Review) -> Review:
        """The review once it is over; its decision is used up by this one call."""
        while True:
            with self._changed:
                self._expire()
                if review.id in self._unused:
                    return self._unused.pop(review.id)
                if review.id not in self._held:
                    raise UsageError(f"the decision of review {review.id} was used")
                ended = self._ended[review.id]
                left = self.seconds_left(self._held[review.id])
            ended.wait(min(left, LONGEST_SLEEP))

    def seconds_left(self, review: Review) -> float:
        """How long it may still take."""
        return max(0.0, review.deadline - self._clock())

    def decide(  # the parts of a decision
        self,
        review_id: str,
        decision: str,
        *,
        by: str,
        note: str | None = None,
        decider: Decider = Decider.PERSON,
        times: int | None = None,
        seconds: float | None = None,
    ) -> Review:
        """Decide `allow` or `block`, once; raises UsageError when it is too late.

        With `times` or `seconds` it is decided for the same again as well: so many in
        all, of those that are held now and that come, or so long.
        """
        _check_note(note)
        states = {"allow": ReviewState.ALLOWED, "block": ReviewState.BLOCKED}
        if decision not in states:
            raise UsageError(f"a decision is 'allow' or 'block', not {decision!r}")
        with self._changed:
            self._expire()
            review = self._held.get(review_id)
            if review is None:
                raise UsageError(self._why_not(review_id))
            made = replace(
                review, state=states[decision], decided_by=decider, by=by, note=note
            )
            if not (times is None and seconds is None):
                self._give(made, times, seconds)
            decided = self._finish(made)
            self._decide_alike(made)
            return decided

    def _give(self, made: Review, times: int | None, seconds: float | None) -> None:
        if not made.subject:
            raise UsageError(
                f"review {made.id!r} is decided once, since not all that it would use "
                "can be told: leave out how often and how long"
            )
        kept = replace(made, content=b"", modified=None, details=())
        left = None if times is None else times - 1
        self._grants.give(made.subject, made.session, kept, times=left, seconds=seconds)

    def revoke(self, review_id: str) -> None:
        """Have a decision count no more; raises UsageError when it does not already."""
        with self._changed:
            counted = review_id in self._counting
            self._counting.pop(review_id, None)
            granted = self._grants.revoke(lambda made: made.id == review_id)
            if not (granted or counted):
                raise UsageError(f"a decision of {review_id!r} does not count any more")

    def counts_for_more(self, review_id: str) -> None:
        """What is a part of that is decided by it as well, until it is revoked."""
        with self._changed:
            self._counting[review_id] = None
            while len(self._counting) > MOST_REMEMBERED:
                self._counting.popitem(last=False)

    def is_counting(self, review_id: str) -> bool:
        """Whether a decision counts for its parts, and was not taken back."""
        with self._changed:
            return review_id in self._counting

    def _decide_alike(self, made: Review) -> None:
        """Decide what is held of the same, as far as the decision goes."""
        for each in list(self._held.values()):
            alike = each.subject == made.subject
            if alike and (decided := self._grants.use(each.subject)):
                self._finish(
                    replace(
                        each,
                        state=decided.state,
                        decided_by=decided.decided_by,
                        by=decided.by,
                        note=decided.note,
                    )
                )

    def vote(self, review_id: str, vote: CastVote) -> None:
        """Keep what a juror said, while it is held."""
        with self._changed:
            if review := self._held.get(review_id):
                self._held[review_id] = replace(review, votes=(*review.votes, vote))
                self._changed.notify_all()

    def leave_to_person(self, review_id: str, timeout_action: str) -> None:
        """Nobody else decides; from now on that is done when the time is up."""
        with self._changed:
            if review := self._held.get(review_id):
                self._held[review_id] = replace(
                    review, timeout_action=timeout_action, waits_for="a person"
                )
                self._changed.notify_all()

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
            self._grants.end(session)
            for review in list(self._held.values()):
                if review.session == session:
                    self._cancel(review)

    def close(self) -> None:
        """Block everything that is held, and hold nothing any more."""
        with self._changed:
            self._closed = True
            self._grants.clear()
            for review in list(self._held.values()):
                self._cancel(replace(review, by=_STOPPING))
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
        most_bytes = MOST_HELD_BYTES
        if self._quota_key is not None:  # several users together may have more than one
            most_bytes *= 2
        if len(self._held) >= MOST_HELD or held + size > most_bytes:
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
        by = f" by {review.by}" if review.by else ""
        return f"review {review_id!r} is over: {review.state}{by}"

    def _expire(self) -> None:
        now = self._clock()
        for review in list(self._held.values()):
            if review.deadline <= now:
                self._finish(
                    replace(
                        review, state=ReviewState.EXPIRED, decided_by=Decider.TIMEOUT
                    )
                )

    def _cancel(self, review: Review) -> None:
        self._finish(replace(review, state=ReviewState.CANCELLED))

    def _finish(self, review: Review) -> Review:
        """Put a review that is over where its waiter and the list find it."""
        del self._held[review.id]
        self._ended.pop(review.id).set()
        self._unused[review.id] = review
        modified = review.modified
        self._over[review.id] = replace(
            review,
            content=review.content[:LONGEST_REMEMBERED],
            details=_beginning(review.details),
            inside=(),
            modified=None if modified is None else modified[:LONGEST_REMEMBERED],
        )
        if len(self._over) > MOST_REMEMBERED:
            self._over.popitem(last=False)
        self._changed.notify_all()
        return review


def _check_note(note: str | None) -> None:
    """Raise UsageError for what could be told to nobody."""
    try:
        (note or "").encode()
    except UnicodeEncodeError as error:
        raise UsageError("a note is text: this one has half a character") from error


def _beginning(details: tuple[str, ...]) -> tuple[str, ...]:
    """So many of the first lines as are remembered."""
    left, kept = LONGEST_REMEMBERED, []
    for line in details:
        if left <= 0:
            break
        kept.append(line[:left])
        left -= len(line) + 1
    return tuple(kept)
