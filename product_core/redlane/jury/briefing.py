"""What jurors are told of what is held: no secrets, and no more than they can take."""

import re
from collections.abc import Iterator

from redlane.model.reviewing import ReviewRequest
from redlane.state.redaction import REDACTED, Hidden, redact_reason, redacted
from redlane.state.review import Review

__all__ = ["request_of"]

MOST_TOLD = 64 * 1024
"""The most bytes of a content that jurors are told, and of its details."""

_OVERHANG = 4 * 1024
_SECRET = re.compile(
    rf"""\\*["']?(?:(?:Bearer|Basic)\ )?
    (?:[A-Za-z0-9]|{re.escape(REDACTED)})(?:{re.escape(REDACTED)}|[\w+=.:%@-])*
    \\*["']?""",
    re.VERBOSE | re.ASCII,
)
"""What may be a secret, and is neither a path nor more words than one."""
_JOINED = re.compile(
    r"""(?:[=:]|://|["']\s?:\ ?|:\ |(?<=\s)--?[\w.-]+\ )\Z""", re.VERBOSE | re.ASCII
)
"""What stands between a name and its secret within one word, one header or option."""
_OTHER_NAME = re.compile(
    r"file|path|dir|command|cmd|helper|program|exec|process|host|server|url|plugin|izer"
    r"|^-u|^--user|^--proxy-user",
    re.IGNORECASE,
)
"""Names of options and variables whose values are not what is secret, or not surely."""
_PART_OF_SHELL = re.compile(r"[\n;|&(){}`]")
_TALKERS = frozenset({"curl", "echo", "export", "gh", "git", "printf", "wget"})
"""Programs whose arguments are no commands, no scripts and no packages."""


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
    for text in review.inside:
        yield b"inside: " + text
    if review.modified is not None:
        yield b"rewritten: " + review.modified


def _told(data: bytes, most: int = MOST_TOLD) -> tuple[str, bool]:
    """Text without secrets, and whether whoever reads it has seen all."""
    text = data[: most + _OVERHANG].decode(errors="replace")
    clean, hidden = redacted(text)
    is_whole = len(data) <= most and not text.endswith("…") and "\ufffd" not in text
    is_whole &= all(map(_is_surely_secret, hidden))
    encoded = clean.encode()
    if len(encoded) <= most:
        return clean, is_whole
    return encoded[:most].decode(errors="ignore"), False


def _is_surely_secret(hidden: Hidden) -> bool:
    """Whether what was taken out can be nothing else: no command, path or option.

    Whoever judges does not see it, and an agent may give anything the form of a secret.
    """
    before = hidden.before
    if not _SECRET.fullmatch(hidden.secret):
        return False
    if _JOINED.search(before):
        name = before.rsplit(None, 1)[-1]
        return not _OTHER_NAME.search(name)
    *_, part = _PART_OF_SHELL.split(before)
    words = part.split()
    is_argument = part.endswith(" ") and bool(words) and words[0] in _TALKERS
    return hidden.by_form and is_argument and words[-1][-1] not in "<>"
