"""A secret for each review, that a link bears: who has it may decide, once."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews

__all__ = ["PATH", "AnswerLinks"]

PATH = "/answer"
"""What stands before the secret."""

_SECRET_BYTES = 32
_MOST_KEPT = 4096


class AnswerLinks:
    """The links of what is held; safe for several threads."""

    def __init__(self, reviews: Reviews, base: Callable[[], str | None]) -> None:
        """Links begin with `base()`; None: there are none."""
        self._reviews = reviews
        self._base = base
        self._lock = threading.Lock()
        self._secrets: OrderedDict[str, str] = OrderedDict()
        self._ids: dict[str, str] = {}

    def link(self, review: Review) -> str | None:
        """The link to a review, the same each time; None where nobody could follow."""
        base = self._base()
        if base is None or review.state is not ReviewState.WAITING:
            return None
        with self._lock:
            secret = self._secrets.get(review.id)
            if secret is None:
                secret = secrets.token_urlsafe(_SECRET_BYTES)
                self._secrets[review.id], self._ids[secret] = secret, review.id
            while len(self._secrets) > _MOST_KEPT:
                self._ids.pop(self._secrets.popitem(last=False)[1])
        return f"{base}{PATH}/{secret}"

    def forget(self) -> None:
        """Have no link count any more."""
        with self._lock:
            self._secrets.clear()
            self._ids.clear()

    def review(self, secret: str) -> Review | None:
        """The review that a secret is for, over or not; None: there is none."""
        if self._base() is None:
            return None
        review_id = self._ids.get(secret)
        return None if review_id is None else self._reviews.get(review_id)
