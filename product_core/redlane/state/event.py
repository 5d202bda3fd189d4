"""One line of the event log: what was judged, how and why."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from dataclasses import fields as fields_of

__all__ = ["FIRST_LINK", "Event", "encode", "link_of"]

FIRST_LINK = "0" * 64
"""What the first event of a log names as the one before it."""


@dataclass(frozen=True, slots=True)
class Event:
    """A verdict, or with `review` a decision about what was held.

    `content`, `details` and `modified` are excerpts without secrets; `time` is UTC,
    ISO 8601. `score` and `answer_details`, in order of their names, are what the match
    type of `policy` told besides. `unknown_words` counts those of scripts that are
    known only when they run. `decided_by` tells whose decision it was, `by` and `note`
    who that is and what they said, and `votes` what jurors did.
    `prev` and `hash` chain the events of one session: `hash` covers all other fields.
    """

    id: str
    time: str
    session: str
    context: str
    verdict: str
    lane: str
    policy: str | None
    reason: str
    role: str | None
    latency_ms: float
    content: str
    modified: str | None = None
    modified_by: str | None = None
    pid: int | None = None
    ruleset: str = ""
    review: str | None = None
    decided_by: str | None = None
    by: str | None = None
    note: str | None = None
    votes: tuple[Mapping[str, object], ...] = ()
    details: str = ""
    restriction: bool = False
    score: float | None = None
    answer_details: Mapping[str, object] = field(default_factory=dict)
    unknown_words: int = 0
    prev: str = ""
    hash: str = ""


_encode = json.JSONEncoder(separators=(",", ":")).encode
_encode_sorted = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_NAMES = sorted({each.name for each in fields_of(Event)} - {"hash"})


def encode(event: Event, prev: str) -> tuple[bytes, str]:
    """The line of `event` behind the one whose hash is `prev`, and its own hash."""
    # Every verdict waits for this: not asdict(), and what is hashed is the line's text.
    fields = {name: getattr(event, name) for name in _NAMES}
    fields["prev"] = prev
    text = _encode(fields)
    link = _hash(text)
    return f'{text[:-1]},"hash":"{link}"}}\n'.encode(), link


def link_of(line: bytes) -> tuple[str, str] | None:
    """The `prev` and `hash` of a line whose hash is right; None for any other line."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    link, prev = fields.pop("hash", None), fields.get("prev")
    if not isinstance(link, str) or not isinstance(prev, str):
        return None
    return (prev, link) if _hash(_encode_sorted(fields)) == link else None


def _hash(text: str) -> str:
    """The hash of an event's other fields, as JSON with its keys in order."""
    return hashlib.sha256(text.encode()).hexdigest()
