"""What jurors are told of what is held: no secrets, and no more than they can take."""

import re
from collections.abc import Iterator

from redlane.model.reviewing import ReviewRequest
from redlane.state.redaction import REDACTED, Hidden, Redactor, redacted
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
_RANDOM = re.compile(
    rf"""\\*["']?(?:{re.escape(REDACTED)}
    |(?=[\w+=~-]*[A-Za-z])(?=[\w+=~-]*[0-9])[\w+=~-]{{16,}})\\*["']?""",
    re.VERBOSE | re.ASCII,
)
"""What is too long and too mixed to be a word: no command, host, user or table."""
_JOINED = re.compile(
    r"""(?:[=:]|["']\s?:\ ?|:\ |(?<=\s)--?[\w.-]+\ )\Z""", re.VERBOSE | re.ASCII
)
"""What stands between a name and its secret within one word, one header or option."""
_HEADER = re.compile(
    r"""\b(?:authorization|cookie)\b\\*["']?:\ ?\Z""", re.IGNORECASE | re.VERBOSE
)
_LOGIN = re.compile(r"\bhttps?://\Z")
_OTHER_NAME = re.compile(
    r"file|path|dir|command|cmd|helper|program|exec|process|host|server|url|plugin|izer"
    r"|pwd|credentials|private.?key|stdin|table|bucket|database|name|[_-](?:db|id)\b"
    r"|^--?no-|^--?pass\S* $|^--?secret\b|^-u|^--user|^--proxy-user",
    re.IGNORECASE,
)
"""Names of options and variables whose values are not what is secret, or not surely."""
_SECRET_NAME = re.compile("token|secret|key|auth|cred|bearer", re.IGNORECASE)
_PART_OF_SHELL = re.compile(r"[\n;|&(){}`]")
_TALKERS = frozenset({"echo", "export", "printf"})
"""Programs whose arguments are no commands, no targets and no hosts."""
_RUNS = re.compile(
    r"""(?:^|[\s;|&(/'"`])(?:python[\d.]*|perl|ruby|node|php|lua|[gm]?awk|make|xargs|eval
    |source|(?:ba|da|z|k)?sh)(?:[\s;|&)'"`]|$)""",
    re.VERBOSE,
)
"""What runs texts, or makes something else of them: there any value may be code."""


def request_of(review: Review) -> ReviewRequest:
    """The request; `truncated` also where what is a secret may be something else."""
    others = (*review.inside, review.modified or b"")
    clean = Redactor(review.content, review.details, others)
    content, is_whole = _told(review.content, clean)
    lines, left = [], MOST_TOLD
    for line in _lines(review):
        if left <= 0:
            is_whole = False
            break
        told, whole = _told(line, clean, left)
        left -= len(told.encode())
        is_whole &= whole
        lines.append(told)
    return ReviewRequest(
        context=review.context,
        content=content,
        policy=review.policy,
        reason=clean.text(review.reason),
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


def _told(data: bytes, clean: Redactor, most: int = MOST_TOLD) -> tuple[str, bool]:
    """Text without secrets, and whether whoever reads it has seen all.

    What is a secret elsewhere and is used here has not been seen where it is used.
    """
    text = data[: most + _OVERHANG].decode(errors="replace")
    named, hidden = redacted(text)
    told = clean.known(named)
    is_whole = len(data) <= most and not text.endswith("…") and "\ufffd" not in text
    is_whole &= all(map(_is_surely_secret, hidden)) and told == named
    is_whole &= not (hidden and _RUNS.search(text))
    encoded = told.encode()
    if len(encoded) <= most:
        return told, is_whole
    return encoded[:most].decode(errors="ignore"), False


def _is_surely_secret(hidden: Hidden) -> bool:
    """Whether what was taken out can be nothing else: no command, path or option.

    Whoever judges does not see it, and an agent may give anything the form of a secret.
    """
    before = hidden.before
    if not _SECRET.fullmatch(hidden.secret):
        return False
    if _HEADER.search(before):
        return True
    if _LOGIN.search(before):
        return ":" in hidden.secret
    if _JOINED.search(before):
        name = before[len(before.rstrip().rpartition(" ")[0]) :].lstrip()
        if hidden.by_form and before.endswith(" ") and not _SECRET_NAME.search(name):
            return False
        is_random = hidden.by_form or bool(_RANDOM.fullmatch(hidden.secret))
        return is_random and not _OTHER_NAME.search(name)
    return hidden.by_form and _is_said(before)


def _is_said(before: str) -> bool:
    """Whether what comes next is an argument of a program that passes it on."""
    *_, part = _PART_OF_SHELL.split(before)
    words = part.split()
    if not part.endswith(" ") or not words or words[0] not in _TALKERS:
        return False
    return words[-1][-1] not in "<>"
