"""`/api/reviews`: what the yellow lane holds, and the decisions about it."""

import time

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import optional, read_object, required
from redlane.control.protocol import review_document
from redlane.state.reviews import Review, Reviews

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
        caller = caller_of(request)
        response.media = {
            "reviews": [
                review_document(each, each.deadline - now)
                for each in self._reviews.list(over=over)
                if caller.sees(each.session)
            ]
        }


class ReviewItem:
    """One review: `GET` shows it whole, `POST` `{decision, note?}` decides it."""

    def __init__(self, reviews: Reviews) -> None:
        """Show and decide `reviews`."""
        self._reviews = reviews

    def on_get(
        self, request: falcon.Request, response: falcon.Response, review_id: str
    ) -> None:
        """Show the review."""
        review = self._found(request, review_id)
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
        self._found(request, review_id)
        by = caller_of(request).name
        decided = self._reviews.decide(review_id, decision, by=by, note=note)
        response.media = review_document(decided, 0)

    def _found(self, request: falcon.Request, review_id: str) -> Review:
        """The review, if it is there for the caller; 404 otherwise."""
        review = self._reviews.get(review_id)
        if review is None or not caller_of(request).sees(review.session):
            raise falcon.HTTPNotFound(description=f"there is no review {review_id!r}")
        return review
