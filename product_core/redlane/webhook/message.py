"""What is told of a review, without secrets, and signed so that nobody forges it."""

import hashlib
import hmac
import json
from typing import Any

from redlane.engine.boundary import one_line
from redlane.state.redaction import excerpt, redact_reason
from redlane.state.review import Review, ReviewState

__all__ = ["SIGNATURE", "body_of", "signature"]

SIGNATURE = "Redlane-Signature"
"""The header that bears `signature`."""


def body_of(review: Review) -> bytes:
    """A JSON object: `event`, a line of `text` for a chat, and the `review`."""
    is_held = review.state is ReviewState.WAITING
    told = {
        "event": "held" if is_held else "decided",
        "text": _held(review) if is_held else _decided(review),
        "review": _document(review),
    }
    return json.dumps(told).encode()


def signature(secret: str, moment: int, body: bytes) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 of the seconds since 1970, a dot and the body."""
    signed = f"{moment}.".encode() + body
    made = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={moment},v1={made}"


def _document(review: Review) -> dict[str, Any]:
    return {
        "id": review.id,
        "state": review.state.value,
        "context": review.context,
        "content": excerpt(review.content),
        "matched": None if review.matched is None else excerpt(review.matched),
        "details": [redact_reason(each) for each in review.details[:20]],
        "policy": review.policy,
        "reason": redact_reason(review.reason),
        "session": review.session,
        "role": review.role,
        "created": review.created,
        "deadline": review.ends,
        "decided_by": review.decided_by,
        "by": review.by,
        "note": redact_reason(review.note) if review.note else None,
        "votes": [
            {
                "juror": each.juror,
                "vote": each.vote,
                "reason": redact_reason(each.reason),
            }
            for each in review.votes
        ],
    }


def _held(review: Review) -> str:
    what = excerpt(review.content if review.matched is None else review.matched, 200)
    return (
        f"redlane holds until {review.ends}: {one_line(what)} "
        f"({one_line(redact_reason(review.reason))}); redlane review show {review.id}"
    )


def _decided(review: Review) -> str:
    by = f" by {one_line(review.by)}" if review.by else ""
    note = f": {one_line(redact_reason(review.note))}" if review.note else ""
    return f"redlane: {review.id} is {review.state.value}{by}{note}"
