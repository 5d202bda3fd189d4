"""Sends messages one after the other, beside what is held: nothing waits for it."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Full, Queue

from redlane.engine.boundary import one_line
from redlane.execution import Command, run_all
from redlane.model.settings import Review as ReviewSettings
from redlane.model.settings import Webhook
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.webhook.child import WORDS, task
from redlane.webhook.message import SIGNATURE, body_of, signature

__all__ = ["Webhooks"]

_SECONDS = 10.0
_TRIES = 2
_MOST_WAITING = 256

_log = logging.getLogger(__name__)


class Webhooks:
    """Tells of reviews; safe for several threads.

    What cannot be told is told in the log, and more than so many that wait are left
    out: an agent that floods does not fill the memory.
    """

    def __init__(
        self, reviews: Reviews, clock: Callable[[], float] = time.time
    ) -> None:
        """`clock` gives the seconds since 1970 that are signed."""
        self._reviews = reviews
        self._clock = clock
        self._waiting: Queue[tuple[Webhook, bytes]] = Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def told(self, review: Review, settings: ReviewSettings) -> Iterator[None]:
        """Tell of a review before the block, and of how it ended behind it."""
        if settings.webhook is None:
            yield
            return
        self._give(settings.webhook, review)
        try:
            yield
        finally:
            over = self._reviews.get(review.id)
            if over is not None:
                self._give(settings.webhook, over)

    def _give(self, webhook: Webhook, review: Review) -> None:
        try:
            self._waiting.put_nowait((webhook, body_of(review)))
        except Full:
            _log.warning("the webhook is not told of review %s: too many", review.id)
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._send_all, daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            webhook, body = self._waiting.get()
            why = ""
            for _ in range(_TRIES):
                why = self._send(webhook, body)
                if not why:
                    break
            else:
                _log.warning("the webhook was not told: %s", one_line(why))

    def _send(self, webhook: Webhook, body: bytes) -> str:
        """Why it was not taken, or ""."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "redlane",
            SIGNATURE: signature(webhook.secret, int(self._clock()), body),
        }
        asked = task(webhook.url, headers, body, _SECONDS)
        command = Command(WORDS, asked, keeps_output=True, most_output=64 * 1024)
        (ending,) = run_all([command], seconds=_SECONDS)
        if ending.failure is None and ending.status == 0:
            return ""
        return ending.failure or ending.output.decode(errors="replace") or ending.told
