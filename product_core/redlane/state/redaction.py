"""Takes secrets out of what is written down: the event log keeps no credential.

Better a word too many than a key: what looks like a secret counts as one. RE2 keeps
the time linear in the length of the text, whatever it holds.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import re2

__all__ = [
    "LONGEST_EXCERPT",
    "REDACTED",
    "Hidden",
    "Redactor",
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

_LEAST_VALUE = 6
"""Shorter ones are left where they stand alone: they would be in every word."""

_MOST_LOOKED_AT = 64 * 1024
_LONGEST_VALUE, _MOST_VALUES = 200, 200
"""Who has more secrets in one command than that has made them up."""

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


class Redactor:
    """Takes secrets out of texts about one content.

    What is a secret by its name in the content or in its details is one wherever it
    stands, also where the name is gone: in a command whose variables were filled in.
    """

    def __init__(
        self,
        content: bytes = b"",
        details: Iterable[str] = (),
        others: Iterable[bytes] = (),
    ) -> None:
        """Look for secrets in these texts, and in the arguments that `details` have."""
        arguments = " ".join(map(_argument, details))[:_MOST_LOOKED_AT]
        texts = (_looked_at(each) for each in (content, *others))
        hidden = chain.from_iterable(
            redacted(each)[1] for each in filter(None, (*texts, arguments))
        )
        values = dict.fromkeys(_bare(each.secret) for each in hidden)
        known = [e for e in values if _LEAST_VALUE <= len(e) <= _LONGEST_VALUE]
        # The longest first: one may begin with another.
        kept = sorted(known[:_MOST_VALUES], key=len, reverse=True)
        self._known = re2.compile("|".join(map(re2.escape, kept))) if kept else None

    def text(self, text: str) -> str:
        """`text` without secrets."""
        return self.known(redact(text))

    def known(self, text: str) -> str:
        """`text` without those that were found elsewhere."""
        return text if self._known is None else self._known.sub(REDACTED, text)

    def excerpt(self, data: bytes, longest: int = LONGEST_EXCERPT) -> str:
        """The beginning of `data` without secrets; `…` shows that it goes on."""
        return _cut(self.text(_beginning(data, longest)), data, longest)

    def lines(self, details: Iterable[str]) -> list[str]:
        """Details of a content without secrets."""
        return [self.text(each) for each in details]


def _looked_at(data: bytes) -> str:
    return data[:_MOST_LOOKED_AT].decode(errors="replace")


def _argument(detail: str) -> str:
    """The argument that a line of details has: `$1: x` has `x`."""
    return detail.partition(": ")[2] if detail.startswith("$") else ""


def _bare(secret: str) -> str:
    """The value without what it was quoted with."""
    value = secret.strip("\\\"'")
    return value.removeprefix("Bearer ").removeprefix("Basic ")


def _beginning(data: bytes, longest: int = LONGEST_EXCERPT) -> str:
    """So much of `data` that no secret in its excerpt is cut in two."""
    text = data[: 4 * (longest + _OVERHANG)].decode(errors="replace")
    return text[: longest + _OVERHANG]


def _cut(clean: str, data: bytes, longest: int) -> str:
    if len(clean) <= longest and len(data) <= 4 * (longest + _OVERHANG):
        return clean
    return clean[:longest] + "…"


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
