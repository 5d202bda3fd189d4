"""Sends messages one after the other, beside what is held: nothing waits for it."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from redlane.engine.boundary import fail_closed, one_line
from redlane.execution import Command, Stop, run_all
from redlane.execution.seats import Seats, Work
from redlane.model.settings import Review as ReviewSettings
from redlane.model.settings import Webhook
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews
from redlane.webhook.child import WORDS, task
from redlane.webhook.message import SIGNATURE, body_of, signature

__all__ = ["Webhooks"]

_SECONDS, _SECONDS_OF_AWAY = 10.0, 3.0
_TRIES = 2
_MOST_WAITING, _MOST_TOLD = 256, 4096

_log = logging.getLogger(__name__)


class Webhooks:
    """Tells of reviews; safe for several threads.

    Sessions take turns, so that none buries what another has asked for, and what is
    over before anybody was told that it was held is told only if it was decided. What
    cannot be told is told in the log.
    """

    def __init__(
        self,
        reviews: Reviews,
        settings: Callable[[], ReviewSettings],
        clock: Callable[[], float] = time.time,
        link: Callable[[Review], str | None] = lambda _: None,
    ) -> None:
        """Tell whom the `settings` name; `clock` gives the seconds that are signed.

        `link` is where a review can be answered, if anywhere.
        """
        self._reviews = reviews
        self._settings = settings
        self._clock = clock
        self._link = link
        self._seats = Seats(1)
        self._stop = Stop()
        self._lock = threading.Condition()
        self._waiting = 0
        self._left_out = 0
        self._told: OrderedDict[str, ReviewState] = OrderedDict()
        self._is_away = False

    @contextmanager
    def told(self, review: Review) -> Iterator[None]:
        """Tell of a review before the block, and of how it ended behind it."""
        if self._settings().webhook is None:
            yield
            return
        held = self._give(review)
        try:
            yield
        finally:
            # What nobody waits for any more takes no place of what somebody does.
            self._done(self._seats.take_back(review.session, (held,)))
            self._give_over(review)

    def close(self, seconds: float) -> None:
        """Send what waits for so long, and then no more."""
        with self._lock:
            self._lock.wait_for(lambda: not self._waiting, seconds)
            left = self._waiting
        self._stop.set()
        if left:
            _log.warning("the webhook was not told %d times: stopping", left)

    def _give_over(self, review: Review) -> None:
        with self._lock:
            over = self._reviews.get(review.id)
            if over is None or not self._is_news(over):
                return
            is_left_out = self._waiting >= _MOST_WAITING
            self._left_out += is_left_out
        if not is_left_out:
            self._give(review)

    def _give(self, review: Review) -> Work:
        work = partial(self._take, review.id)
        with self._lock:
            self._waiting += 1
        try:
            self._seats.give(review.session, work)
        except RuntimeError as error:  # no thread is left
            self._done(1)
            _log.warning("the webhook was not told of review %s: %s", review.id, error)
        return work

    def _done(self, count: int) -> int:
        """So many wait no more; how many were left out since the last time."""
        with self._lock:
            self._waiting -= count
            self._lock.notify_all()
            left_out = self._left_out if count else 0
            self._left_out -= left_out
        return left_out

    def _take(self, review_id: str) -> None:
        """Tell what there is to tell of a review; raises nothing."""
        why = fail_closed(partial(self._tell, review_id), lambda why: why)
        if why:
            _log.warning("the webhook was not told: %s", one_line(why))
        if left_out := self._done(1):
            _log.warning("the webhook was not told %d times: too many wait", left_out)

    def _tell(self, review_id: str) -> str:
        """Why it was not taken, or ""."""
        webhook, review = self._settings().webhook, self._news(review_id)
        if webhook is None or review is None:
            return ""
        body = body_of(review, webhook.format, self._link(review))
        seconds = _SECONDS_OF_AWAY if self._is_away else _SECONDS
        why = ""
        for _ in range(1 if self._is_away else _TRIES):
            if self._stop.is_set:
                return "the daemon is stopping"
            why = self._send(webhook, body, seconds)
            if not why:
                break
        self._is_away = bool(why)
        return why

    def _news(self, review_id: str) -> Review | None:
        """The review as it is to be told now; None where there is nothing new of it."""
        with self._lock:
            review = self._reviews.get(review_id)
            if review is None or not self._is_news(review):
                return None
            self._told[review.id] = review.state
            self._told.move_to_end(review.id)
            while len(self._told) > _MOST_TOLD:
                self._told.popitem(last=False)
            return review

    def _is_news(self, review: Review) -> bool:
        """Whether nobody was told this; of what nobody decided only if it was held."""
        told = self._told.get(review.id)
        if review.state is ReviewState.CANCELLED:
            return told is ReviewState.WAITING
        return told is not review.state

    def _send(self, webhook: Webhook, body: bytes, seconds: float) -> str:
        """Why it was not taken, or ""."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "redlane",
            SIGNATURE: signature(webhook.secret, int(self._clock()), body),
        }
        asked = task(webhook.url, headers, body, seconds)
        command = Command(WORDS, asked, keeps_output=True, most_output=64 * 1024)
        (ending,) = run_all([command], seconds=seconds, stop=self._stop)
        if ending.failure is None and ending.status == 0:
            return ""
        return ending.failure or ending.output.decode(errors="replace") or ending.told
