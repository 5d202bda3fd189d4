"""Takes secrets out of what is written down: the event log keeps no credential.

Better a word too many than a key: what looks like a secret counts as one. RE2 keeps
the time linear in the length of the text, whatever it holds.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import re2

__all__ = [
    "LONGEST_EXCERPT",
    "REDACTED",
    "Hidden",
    "excerpt",
    "redact",
    "redact_details",
    "redact_reason",
    "redacted",
]

REDACTED = "[redacted]"
"""What stands in the place of a secret."""

LONGEST_EXCERPT = 2_000
"""How many characters of a content an event keeps."""

_CONTEXT = 200
"""How many characters before a secret tell where it stands."""

_OVERHANG = 4_096
"""How far past the excerpt secrets are looked for, so that none is cut in two."""

_SHAPES = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[^-]*-----(?s:.*?)(?:-----END [^-]*-----|\z)",
    r"\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\bya29\.[0-9A-Za-z_\-]{10,}",
    r"\bgh[pousr]_[0-9A-Za-z]{16,}",
    r"\bgithub_pat_[0-9A-Za-z_]{16,}",
    r"\bglpat-[0-9A-Za-z_\-]{16,}",
    r"\bxox[a-z]-[0-9A-Za-z\-]{8,}",
    r"\bxapp-[0-9A-Za-z\-]{8,}",
    r"\bhooks\.slack\.com/services/[0-9A-Za-z/]+",
    r"\bsk-[0-9A-Za-z_\-]{16,}",
    r"\b[rsp]k_(?:live|test)_[0-9A-Za-z]{8,}",
    r"\bwhsec_[0-9A-Za-z+/=]{8,}",
    r"\bnpm_[0-9A-Za-z]{30,}",
    r"\bpypi-[0-9A-Za-z_\-]{16,}",
    r"\bhf_[0-9A-Za-z]{20,}",
    r"\beyJ[0-9A-Za-z_\-]{6,}\.[0-9A-Za-z_\-]{6,}(?:\.[0-9A-Za-z_\-]*)?",
)
"""Secrets that are known by their form alone."""

_VALUE = (
    r"""(?:\\*"(?:[^"\\]|\\[^"])*(?:\\*")?"""
    r"""|'[^']*'?"""
    r"""|[^\s"'&;,\\]+)"""
)
"""One value, quoted or not, in a shell command, JSON or JSON inside of JSON."""

_NAME = (
    r"[\w\-.]*(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_\-]?key"
    r"|access[_\-]?key|private[_\-]?key|credential|authorization)[\w\-.]*"
)

_NAMED = (
    r"(?i:(\bauthorization\b\\*[\"']?\s*[:=]\s*\\*[\"']?))[^\"'\\\r\n]+",
    r"(?i:(\bcookie\b\\*[\"']?\s*:\s*\\*[\"']?))[^\"'\\\r\n]+",
    rf"(?i:({_NAME}\\*[\"']?\s*(?:=|:)\s*)){_VALUE}",
    rf"(?i:(--?{_NAME}\s+)){_VALUE}",
    r"(\s(?:-u|--user|--proxy-user)[ =]?[\"']?)[^\s:\"']+:[^\s\"']+",
    r"(\b[A-Za-z][A-Za-z0-9+.\-]*://)[^\s/@\"'?#]+(?:@)",
)
"""Secrets that are known by what stands before them, which is kept."""


def _join(patterns: tuple[str, ...]) -> str:
    return "|".join(f"(?:{each})" for each in patterns)


_ANY = re2.compile(_join((*_SHAPES, *_NAMED)))
_STEPS = (
    (re2.compile(f"()(?:{_join(_SHAPES)})"), ""),
    *((re2.compile(each), "") for each in _NAMED[:-1]),
    (re2.compile(_NAMED[-1]), "@"),
)
"""Patterns whose first group is kept, and what comes after the secret's place."""


def redact(text: str) -> str:
    """`text` with everything that looks like a credential replaced."""
    return redacted(text)[0]


class Hidden(NamedTuple):
    """What was taken out, what stood before it, and whether its form told it alone."""

    before: str
    secret: str
    by_form: bool


def redacted(text: str) -> tuple[str, tuple[Hidden, ...]]:
    """The same, and what was taken out, perhaps with secrets that were out already."""
    if _ANY.search(text) is None:
        return text, ()
    hidden: list[Hidden] = []
    for pattern, after in _STEPS:
        whole, by_form = text, pattern is _STEPS[0][0]

        def replaced(
            found: re2._Match,
            after: str = after,
            whole: str = whole,
            *,
            by_form: bool = by_form,
        ) -> str:
            kept: str = found[1]
            before = whole[max(0, found.start() - _CONTEXT) : found.start()] + kept
            hidden.append(Hidden(before, found[0][len(kept) :], by_form))
            return f"{kept}{REDACTED}{after}"

        text = pattern.sub(replaced, text)
    return text, tuple(hidden)


@lru_cache(maxsize=1024)
def redact_reason(text: str) -> str:
    """The same of a verdict's reason: they are few, and each comes again and again."""
    return redact(text)


def redact_details(details: Mapping[str, object]) -> dict[str, object]:
    """What a match type told besides, in order of its names; each is a short value."""
    return {
        name: _redacted(name, details[name])
        for name in sorted(details)
        if redact(name) == name
    }


def _redacted(name: str, value: object) -> object:
    """A value whose name says that it is a secret is none to write down."""
    if redact(f"{name}=x") != f"{name}=x":
        return REDACTED
    return redact(value) if isinstance(value, str) else value


def excerpt(data: bytes, longest: int = LONGEST_EXCERPT) -> str:
    """The beginning of `data` as text without secrets; `…` shows that it goes on."""
    if not data:
        return ""
    widest = 4 * (longest + _OVERHANG)
    text = data[:widest].decode(errors="replace")[: longest + _OVERHANG]
    clean = redact(text)
    if len(clean) <= longest and len(data) <= widest:
        return clean
    return clean[:longest] + "…"
