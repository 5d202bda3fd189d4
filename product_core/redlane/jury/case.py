"""What jurors are told of what is held: no secrets, and no more than they can take."""

import re
from collections.abc import Iterator

from redlane.model.reviewing import ReviewRequest
from redlane.state.redaction import REDACTED, redact_reason, redacted
from redlane.state.review import Review

__all__ = ["request_of"]

MOST_TOLD = 64 * 1024
"""The most bytes of a content that jurors are told, and of its details."""

_OVERHANG = 4 * 1024
_QUOTE = r"""\\*["']?"""
_PLAIN = re.compile(
    rf"{_QUOTE}(?:(?:Bearer|Basic) )?"
    rf"(?:{re.escape(REDACTED)}|[\w+/=.:~@%-])*{_QUOTE}",
    re.ASCII,
)
"""What may be a secret and cannot be a command, or more words than one."""


def request_of(review: Review) -> ReviewRequest:
    """The request; `truncated` also where what is a secret may be something else."""
    content, is_whole = _told(review.content)
    lines, left = [], MOST_TOLD
    for line in _lines(review):
        told, whole = _told(line, left)
        left -= len(told.encode())
        is_whole &= whole
        lines.append(told)
    return ReviewRequest(
        context=review.context,
        content=content,
        policy=review.policy,
        reason=redact_reason(review.reason),
        session=review.session,
        role=review.role,
        details=tuple(filter(None, lines)),
        truncated=not is_whole,
    )


def _lines(review: Review) -> Iterator[bytes]:
    """What decides besides; of a long command the part that matters first."""
    if review.matched is not None:
        yield b"matched: " + review.matched
    for detail in review.details:
        yield detail.encode(errors="surrogateescape")
    if review.modified is not None:
        yield b"rewritten: " + review.modified


def _told(data: bytes, most: int = MOST_TOLD) -> tuple[str, bool]:
    """Text without secrets, and whether whoever reads it has seen all."""
    text = data[: most + _OVERHANG].decode(errors="replace")
    clean, hidden = redacted(text)
    is_whole = len(data) <= most and "\ufffd" not in text
    is_whole &= all(map(_PLAIN.fullmatch, hidden))
    encoded = clean.encode()
    if len(encoded) <= most:
        return clean, is_whole
    return encoded[:most].decode(errors="ignore"), False
