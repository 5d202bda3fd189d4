"""The shapes that the control API answers in."""

import os
from collections.abc import Mapping
from dataclasses import asdict

from redlane.gate import Judgement
from redlane.judging.shell_answers import text_of
from redlane.model.problem import Finding
from redlane.state.review import Review, ReviewState

__all__ = ["finding_document", "judgement_document", "review_document"]

Document = Mapping[str, object]


def judgement_document(judgement: Judgement) -> Document:
    """The object that `redlane validate` prints, with the event's id and the time."""
    return {
        **judgement.verdict.document(),
        "restriction": judgement.verdict.restriction,
        "kill": judgement.verdict.kill,
        "event": judgement.event,
        "review": judgement.review,
        "latency_ms": judgement.latency_ms,
    }


def review_document(review: Review, seconds_left: float) -> Document:
    """One review, with all of its content."""
    waiting = review.state is ReviewState.WAITING
    return {
        "id": review.id,
        "session": review.session,
        "role": review.role,
        "context": review.context,
        "cwd": None if review.cwd is None else text_of(os.fsencode(review.cwd)),
        "pid": review.pid,
        "processes": [{"pid": pid, "name": name} for pid, name in review.processes],
        "policy": review.policy,
        "reason": review.reason,
        "content": text_of(review.content),
        "matched": None if review.matched is None else text_of(review.matched),
        "inside": [text_of(each) for each in review.inside],
        "details": list(review.details),
        "modified": None if review.modified is None else text_of(review.modified),
        "subject": review.subject.hex() or None,
        "created": review.created,
        "deadline": review.ends,
        "seconds_left": round(max(0.0, seconds_left), 1) if waiting else None,
        "timeout_action": review.timeout_action,
        "waits_for": review.waits_for if waiting else None,
        "state": review.state.value,
        "votes": [asdict(each) for each in review.votes],
        "decided_by": review.decided_by,
        "by": review.by,
        "note": review.note,
    }


def finding_document(finding: Finding) -> Document:
    """A load error or warning, as `config check --json` has it."""
    return {
        "file": finding.file,
        "subject": finding.subject,
        "message": finding.message,
    }
