"""`GET /api/reviews`: a list, and the revision of that very list."""

import falcon
from falcon import testing

from redlane.control.followers import Followers
from redlane.control.resources.reviews import ReviewCollection
from redlane.membership.callers import Caller, Who
from redlane.membership.resolver import Membership, MembershipState
from redlane.state.review import Review
from redlane.state.reviews import Reviews

ASKS = Caller(1, 0, Who.ADMINISTRATOR, Membership(MembershipState.OUTSIDE))


def park(reviews: Reviews, content: bytes) -> Review:
    return reviews.park(content, "s", "flag", "odd", 600)


class Meanwhile(Reviews):
    """Something else comes while the list is made."""

    def seconds_left(self, review: Review) -> float:
        if len(self.list()) == 1:
            park(self, b"second")
        return super().seconds_left(review)


def listed(reviews: Reviews) -> tuple[list[str], str]:
    """The contents that are answered, and their revision."""
    response = falcon.Response()
    request = falcon.Request(testing.create_environ())
    request.context.caller = ASKS
    ReviewCollection(reviews, Followers()).on_get(request, response)
    contents = [each["content"] for each in response.media["reviews"]]
    return contents, response.media["revision"]


def test_what_comes_while_it_is_answered_is_another_revision() -> None:
    reviews = Meanwhile()
    park(reviews, b"first")

    first, revision = listed(reviews)
    then, another = listed(reviews)

    assert (first, then) == (["first"], ["first", "second"])
    assert revision != another
