"""A secret for each review, that a link bears: with a password, it decides once."""

import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable

from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews

__all__ = ["PATH", "AnswerLinks"]

PATH = "/answer"
"""What stands before the secret."""

_SECRET_BYTES = 32
_MOST_KEPT = 4096
_MOST_TRIES = 10


class AnswerLinks:
    """The links of what is held; safe for several threads."""

    def __init__(self, reviews: Reviews, base: Callable[[], str | None]) -> None:
        """Links begin with `base()`; None: there are none."""
        self._reviews = reviews
        self._base = base
        self._lock = threading.Lock()
        self._secrets: OrderedDict[str, str] = OrderedDict()
        self._ids: dict[str, str] = {}
        self._tries: Counter[str] = Counter()

    def link(self, review: Review) -> str | None:
        """The link to a review, the same each time; None where nobody could follow."""
        base = self._base()
        if base is None or review.state is not ReviewState.WAITING:
            return None
        with self._lock:
            secret = self._secrets.get(review.id)
            if secret is None:
                self._make_room()
                secret = secrets.token_urlsafe(_SECRET_BYTES)
                self._secrets[review.id], self._ids[secret] = secret, review.id
        return f"{base}{PATH}/{secret}"

    def review(self, secret: str) -> Review | None:
        """The review that a secret is for, over or not; None: there is none."""
        with self._lock:
            review_id = self._ids.get(secret)
        if review_id is None or self._base() is None:
            return None
        return self._reviews.get(review_id)

    def tried(self, secret: str) -> bool:
        """Count a wrong password; whether that was the last that the link takes."""
        with self._lock:
            review_id = self._ids.get(secret)
            if review_id is None:
                return False
            self._tries[review_id] += 1
            is_last = self._tries[review_id] >= _MOST_TRIES
            if is_last:
                del self._ids[secret]
        return is_last

    def forget(self) -> None:
        """Have no link count any more."""
        with self._lock:
            self._secrets.clear()
            self._ids.clear()
            self._tries.clear()

    def _make_room(self) -> None:
        """Forget the oldest that are over; fewer are held than are kept."""
        while len(self._secrets) >= _MOST_KEPT:
            over = (each for each in self._secrets if not self._is_held(each))
            review_id = next(over, next(iter(self._secrets)))
            self._ids.pop(self._secrets.pop(review_id), None)
            del self._tries[review_id]

    def _is_held(self, review_id: str) -> bool:
        review = self._reviews.get(review_id)
        return review is not None and review.state is ReviewState.WAITING
