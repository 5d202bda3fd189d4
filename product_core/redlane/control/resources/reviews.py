"""`/api/reviews`: what the yellow lane holds, and the decisions about it."""

import time

import falcon

from redlane.control.bodies import optional, read_object, required
from redlane.control.protocol import review_document
from redlane.state.reviews import Reviews

__all__ = ["ReviewCollection", "ReviewItem"]

_LONGEST_NOTE = 500
_DECISIONS = ("allow", "block")


class ReviewCollection:
    """`GET` lists what is held; with `over=true` what was held lately as well."""

    def __init__(self, reviews: Reviews) -> None:
        """Show `reviews`."""
        self._reviews = reviews

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """List them, oldest first."""
        over = request.get_param_as_bool("over", default=False)
        now = time.monotonic()
        response.media = {
            "reviews": [
                review_document(each, each.deadline - now)
                for each in self._reviews.list(over=over)
            ]
        }


class ReviewItem:
    """One review: `GET` shows it whole, `POST` `{decision, note?}` decides it."""

    def __init__(self, reviews: Reviews) -> None:
        """Show and decide `reviews`."""
        self._reviews = reviews

    def on_get(
        self, _: falcon.Request, response: falcon.Response, review_id: str
    ) -> None:
        """Show the review."""
        review = self._reviews.get(review_id)
        if review is None:
            raise _no_review(review_id)
        response.media = review_document(review, review.deadline - time.monotonic())

    def on_post(
        self, request: falcon.Request, response: falcon.Response, review_id: str
    ) -> None:
        """Decide the review, once; 409 when it is over already."""
        body = read_object(request)
        decision = required(body, "decision", str)
        if decision not in _DECISIONS:
            raise falcon.HTTPBadRequest(
                description="'decision' must be 'allow' or 'block'"
            )
        note = optional(body, "note", str)
        if note is not None and len(note) > _LONGEST_NOTE:
            raise falcon.HTTPBadRequest(
                description=f"'note' may have at most {_LONGEST_NOTE} characters"
            )
        if self._reviews.get(review_id) is None:
            raise _no_review(review_id)
        by = f"process {request.context.pid}"
        decided = self._reviews.decide(review_id, decision, by=by, note=note)
        response.media = review_document(decided, 0)


def _no_review(review_id: str) -> falcon.HTTPNotFound:
    return falcon.HTTPNotFound(description=f"there is no review {review_id!r}")
