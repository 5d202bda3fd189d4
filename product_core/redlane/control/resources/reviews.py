"""`/api/reviews`: what the yellow lane holds, and the decisions about it."""

import hashlib

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import optional, read_object, required
from redlane.control.documents import review_document
from redlane.control.followers import LONGEST_WAIT, Followers
from redlane.membership.callers import Caller
from redlane.state.review import Review, ReviewState
from redlane.state.reviews import Reviews
from redlane.wire.limits import MOST_DECISION_SECONDS, MOST_DECISION_TIMES

__all__ = ["ReviewCollection", "ReviewItem"]

_LONGEST_NOTE = 500
_DECISIONS = ("allow", "block")


class ReviewCollection:
    """`GET` lists what is held; with `over=true` what was held lately as well.

    With `after` (the `revision` of an earlier answer) it answers once something is held
    or over that was not so then, or after `wait` seconds.
    """

    def __init__(self, reviews: Reviews, followers: Followers) -> None:
        """Show `reviews`; who waits for them is one of `followers`."""
        self._reviews = reviews
        self._followers = followers

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """List them, oldest first."""
        over = request.get_param_as_bool("over", default=False)
        caller, after = caller_of(request), request.get_param("after")
        if after is not None:
            wait = request.get_param_as_int(
                "wait", default=0, min_value=0, max_value=LONGEST_WAIT
            )
            with self._followers.one(caller.uid):
                self._reviews.wait_until(
                    lambda: _revision(self._seen(caller)) != after, wait
                )
        seen = self._seen(caller)
        response.media = {
            "reviews": [
                review_document(each, self._reviews.seconds_left(each))
                for each in seen
                if over or each.state is ReviewState.WAITING
            ],
            # Of the same moment: what comes meanwhile is to be another revision.
            "revision": _revision(seen),
        }

    def _seen(self, caller: Caller) -> list[Review]:
        held = self._reviews.list(over=True)
        return [each for each in held if caller.sees(each.session)]


def _revision(seen: list[Review]) -> str:
    """Another text for each other list."""
    told = "".join(
        f"{each.id} {each.state} {len(each.votes)} {each.timeout_action} "
        for each in seen
    )
    return hashlib.sha256(told.encode()).hexdigest()[:16]


class ReviewItem:
    """One review: `GET` shows it whole, `POST` decides it.

    `{decision, note?, times?, seconds?}`: the last two for the same again, as well,
    which `DELETE` takes back.
    """

    def __init__(self, reviews: Reviews) -> None:
        """Show and decide `reviews`."""
        self._reviews = reviews

    def on_get(
        self, request: falcon.Request, response: falcon.Response, review_id: str
    ) -> None:
        """Show the review."""
        review = self._found(request, review_id)
        response.media = review_document(review, self._reviews.seconds_left(review))

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
        times = optional(body, "times", int)
        if times is not None and not 1 <= times <= MOST_DECISION_TIMES:
            raise falcon.HTTPBadRequest(
                description=f"'times' must be from 1 to {MOST_DECISION_TIMES}"
            )
        seconds = optional(body, "seconds", int)
        if seconds is not None and not 1 <= seconds <= MOST_DECISION_SECONDS:
            raise falcon.HTTPBadRequest(
                description=f"'seconds' must be from 1 to {MOST_DECISION_SECONDS}"
            )
        self._found(request, review_id)
        decided = self._reviews.decide(
            review_id,
            decision,
            by=caller_of(request).name,
            note=note,
            times=times,
            seconds=seconds,
        )
        response.media = review_document(decided, 0)

    def on_delete(
        self, request: falcon.Request, response: falcon.Response, review_id: str
    ) -> None:
        """Have its decision count no more for the same again; 409 when it does not."""
        self._found(request, review_id)
        self._reviews.revoke(review_id)
        response.status = falcon.HTTP_204

    def _found(self, request: falcon.Request, review_id: str) -> Review:
        """The review, if it is there for the caller; 404 otherwise."""
        review = self._reviews.get(review_id)
        if review is None or not caller_of(request).sees(review.session):
            raise falcon.HTTPNotFound(description=f"there is no review {review_id!r}")
        return review
