"""What is held: what a decision is about, and what comes of it."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Protocol

from redlane.engine.boundary import one_line
from redlane.model.content import Content, Reader
from redlane.model.policy import Action
from redlane.model.verdict import Decision, Verdict
from redlane.processes import SUPERVISOR, Process, ProcessUnreadableError, ancestry
from redlane.state.redaction import redact
from redlane.state.review import Decider, Review, ReviewState

__all__ = [
    "NO_MORE",
    "Circumstances",
    "decided",
    "inside_of",
    "lineage",
    "subject_of",
    "told_of",
]


_MOST_INSIDE, _MOST_TEXTS = 64 * 1024, 200
_MORE = "…".encode()
_MOST_PROCESSES = 64


class Earlier(Protocol):
    """What was decided on texts, for what they start."""

    def find(self, verdict: Verdict) -> Review | None:
        """The decision that holds for what is flagged now as well, if there is one."""
        ...

    def keep(self, verdict: Verdict, review: Review) -> bool:
        """Remember what was decided on it; whether anything may come of that."""
        ...


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides about what is done, besides the content.

    `details` tell people of it, a line each; it would be done in `cwd`, and `witness`
    gives a digest of what it would use, as that is: None where not all can be told.
    `earlier` knows what was decided before on a text of which it is a part.
    """

    details: tuple[str, ...] = ()
    cwd: str | None = None
    witness: Callable[[], bytes | None] = bytes
    earlier: Earlier | None = None


NO_MORE = Circumstances()


def subject_of(
    contents: Sequence[Content], verdict: Verdict, session: str, around: Circumstances
) -> bytes:
    """A digest of all that somebody decides on: nothing else is the same again.

    Empty where not all of it can be told, so that no two are the same.
    """
    witnessed = around.witness()
    if witnessed is None:
        return b""
    parts = (
        session.encode(),
        verdict.context.encode(),
        (verdict.policy or "").encode(),
        (verdict.role or "").encode(),
        verdict.reason.encode(errors="surrogateescape"),
        verdict.ruleset.encode(),
        *chain.from_iterable(map(_parts_of, contents)),
        b"" if verdict.content is None else b"+" + verdict.content,
        os.fsencode(around.cwd or ""),
        witnessed,
        *(each.encode(errors="surrogateescape") for each in around.details),
    )
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return digest.digest()


def _parts_of(content: Content) -> tuple[bytes, ...]:
    """A content as it came, and all that a Block sees of it."""
    views = content.views(Action.BLOCK, Reader.PATTERN)
    return (content.context.encode(), content.data, b"%d" % len(views), *views)


def inside_of(contents: Sequence[Content]) -> tuple[bytes, ...]:
    """What a Flag sees besides the first content as it came.

    That are its commands one by one, what scripts and encodings hold, and what a shell
    has run before; the last is `…` where there is more than people read. Nothing is
    left out for standing in the content: it may stand in a comment there.
    """
    data = contents[0].data if contents else b""
    found: dict[bytes, None] = {}
    left = _MOST_INSIDE
    for content in contents:
        views = content.views(Action.FLAG, Reader.PATTERN)
        for text in (content.history, content.data, *views):
            if text in (b"", data) or text in found:
                continue
            left -= len(text)
            if left < 0 or len(found) == _MOST_TEXTS:
                return (*found, _MORE)
            found[text] = None
    return tuple(found)


def lineage(pid: int | None) -> tuple[tuple[int, str], ...]:
    """Ids and names of who asks and of who started that, as far as they can be told.

    Above a session's supervisor nothing belongs to the session.
    """
    try:
        found = None if pid is None else ancestry(pid, _supervises, _MOST_PROCESSES)
    except ProcessUnreadableError:
        return ()
    return tuple((e.pid, e.name) for e in found.processes) if found else ()


def _supervises(process: Process) -> bool:
    return process.name == SUPERVISOR


def told_of(review: Review | None) -> dict[str, Any]:
    """What an event tells of a review, without secrets."""
    if review is None:
        return {}
    votes = ({**asdict(e), "reason": redact(e.reason)} for e in review.votes)
    return {
        "review": review.id,
        "decided_by": review.decided_by,
        "by": review.by,
        "note": redact(review.note) if review.note else None,
        "votes": tuple(votes),
    }


def decided(flagged: Verdict, review: Review, *, is_new: bool) -> Verdict:
    """What becomes of a flagged content, by how its review ended, now or before."""
    before = "" if is_new else "as decided before: "
    reason = f"{before}{_outcome(review)}; {flagged.reason}{_part(flagged)}"
    if not review.goes_on:
        return replace(
            flagged,
            decision=Decision.BLOCK,
            reason=reason,
            content=None,
            modified_by=None,
        )
    decision = Decision.ALLOW if flagged.content is None else Decision.MODIFY
    return replace(flagged, decision=decision, reason=reason)


def _part(flagged: Verdict) -> str:
    """What it was about, where that is not all of it."""
    if flagged.matched is None:
        return ""
    return f": {one_line(flagged.matched.decode(errors='replace'))}"


def _outcome(review: Review) -> str:
    by = "a person" if review.decided_by is Decider.PERSON else review.by
    note = f": {review.note}" if review.note else ""
    match review.state:
        case ReviewState.ALLOWED:
            return f"held and allowed by {by}{note}"
        case ReviewState.BLOCKED:
            return f"held and blocked by {by}{note}"
        case ReviewState.EXPIRED:
            left = "which lets it go on" if review.goes_on else "so it is blocked"
            return f"held and not decided in {review.timeout_seconds:g} s, {left}"
        case _:
            by = f" by {review.by}" if review.by else ""
            return f"held and taken back{by}, so it is blocked"
