"""What is told of a review, without secrets, and signed so that nobody forges it."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any

from redlane.model.visible import on_one_line
from redlane.state.redaction import Redactor
from redlane.state.review import Review, ReviewState

__all__ = ["FORMATS", "SIGNATURE", "body_of", "signature"]

SIGNATURE = "Redlane-Signature"
"""The header that bears `signature`."""

_MOST_DETAILS, _LONGEST_DETAIL = 20, 500
_NO_PREVIEWS = 4
"""What Discord calls SUPPRESS_EMBEDS."""
_LONGEST_PART, _LONGEST_SHOWN = 200, 400
_CONTROLS = str.maketrans({"<": "⟨U+003C⟩", "`": "⟨U+0060⟩"})
"""What begins a link or a mention in a chat, or ends a text that is as it was typed."""


def body_of(review: Review, format_name: str, link: str | None = None) -> bytes:
    """The body of a message, in one of FORMATS; at `link` it can be answered."""
    return json.dumps(FORMATS[format_name](review, link)).encode()


def signature(secret: str, moment: int, body: bytes) -> str:
    """`t=SECONDS,v1=HEX`: HMAC-SHA256 of the seconds since 1970, a dot and the body."""
    signed = f"{moment}.".encode() + body
    made = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={moment},v1={made}"


def _whole(review: Review, link: str | None) -> Any:  # noqa: ANN401  # JSON
    """`event`, a line of `text` for people, and the `review`."""
    is_held = review.state is ReviewState.WAITING
    told = {"event": "held" if is_held else "decided", "text": _line(review, link)}
    return {**told, "review": _document(review) | {"answer": link}}


def _for_teams(review: Review, link: str | None) -> Any:  # noqa: ANN401  # JSON
    """A card of one text, as workflows of Microsoft Teams take it."""
    card: dict[str, object] = {
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "TextBlock", "text": _line(review, None), "wrap": True}],
    }
    if link is not None:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Answer", "url": link}]
    kind = "application/vnd.microsoft.card.adaptive"
    return {
        "type": "message",
        "attachments": [{"contentType": kind, "content": card}],
    }


FORMATS: Mapping[str, Callable[[Review, str | None], Any]] = {
    "json": _whole,
    "slack": lambda review, link: {"text": _line(review, link), "unfurl_links": False},
    "mattermost": lambda review, link: {"text": _line(review, link)},
    "google-chat": lambda review, link: {"text": _line(review, link)},
    "discord": lambda review, link: {
        "content": _line(review, link),
        "flags": _NO_PREVIEWS,
        "allowed_mentions": {"parse": []},
    },
    "teams": _for_teams,
}
"""What a message is made of, by the name of who is to show it."""


def _redactor(review: Review) -> Redactor:
    others = (*review.inside, review.modified or b"")
    return Redactor(review.content, review.details, others)


def _document(review: Review) -> dict[str, Any]:
    clean = _redactor(review)
    details = clean.lines(review.details[:_MOST_DETAILS])
    matched, modified = review.matched, review.modified
    is_cut = len(review.details) > _MOST_DETAILS or bool(review.inside)
    is_cut |= any(len(each) > _LONGEST_DETAIL for each in details)
    texts = {
        "content": clean.excerpt(review.content),
        "matched": None if matched is None else clean.excerpt(matched),
        "modified": None if modified is None else clean.excerpt(modified),
    }
    is_cut |= any(each is not None and each.endswith("…") for each in texts.values())
    return {
        "id": review.id,
        "state": review.state.value,
        "context": review.context,
        **texts,
        "details": [each[:_LONGEST_DETAIL] for each in details],
        "truncated": is_cut,
        "policy": review.policy,
        "reason": clean.text(review.reason),
        "session": review.session,
        "role": review.role,
        "created": review.created,
        "deadline": review.ends,
        "decided_by": review.decided_by,
        "by": review.by,
        "note": clean.text(review.note) if review.note else None,
        "votes": [
            {"juror": e.juror, "vote": e.vote, "reason": clean.text(e.reason)}
            for e in review.votes
        ],
    }


def _line(review: Review, link: str | None) -> str:
    if review.state is not ReviewState.WAITING:
        return _decided(review)
    return _held(review) if link is None else f"{_held(review)}, or {link}"


def _held(review: Review) -> str:
    clean = _redactor(review)
    what = _quoted(clean.excerpt(review.content, _LONGEST_PART))
    if review.matched is not None:
        part = _quoted(clean.excerpt(review.matched, _LONGEST_PART))
        what = f"{part} (in: {what})"
    more = len(review.inside) + (review.modified is not None)
    besides = f", and {more} texts besides" if more else ""
    return (
        f"redlane holds until {review.ends}: {what}{besides} "
        f"({_quoted(clean.text(review.reason))}); redlane review show {review.id}"
    )


def _decided(review: Review) -> str:
    clean = _redactor(review)
    by = f" by {_quoted(review.by)}" if review.by else ""
    note = f": {_quoted(clean.text(review.note))}" if review.note else ""
    return f"redlane: {review.id} is {review.state.value}{by}{note}"


def _quoted(text: str) -> str:
    """A text of others, so that no chat takes it for more than that."""
    shown = on_one_line(text).translate(_CONTROLS)
    is_whole = len(shown) <= _LONGEST_SHOWN
    return f"`{shown if is_whole else f'{shown[:_LONGEST_SHOWN]}…'}`"
