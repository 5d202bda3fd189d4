"""Questions on lanes, whoever asks them: their form, and that of the answers.

What is no question of a known form is a Block, like every other failure.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redlane.control.proxy_frames import ProxyFrame
from redlane.engine.boundary import one_line
from redlane.errors import RedlaneError
from redlane.gate import Judgement
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.state.reviews import Review
from redlane.state.sessions import Session

__all__ = [
    "Desk",
    "LaneQuestion",
    "OnHold",
    "QuestionError",
    "answer_of",
    "block_frame",
    "failed_frame",
    "known_frame",
    "read_question",
    "verdict_frame",
]

OnHold = Callable[[Review], None]

_MOST_DETAILS = 20

_log = logging.getLogger(__name__)


class Desk(Protocol):
    """What becomes of the questions of one lane; it raises nothing."""

    def session(self, document: Mapping[str, object]) -> Session | None:
        """Whose question it is; None when there is no running session of theirs."""
        ...

    def refusal(self) -> ProxyFrame:
        """The answer to a question that is nobody's."""
        ...

    def answer(
        self, frame: ProxyFrame, on_hold: OnHold, session: Session | None = None
    ) -> ProxyFrame:
        """The answer; `session` is what `session` has given for it."""
        ...


class QuestionError(RedlaneError):
    """What is asked is no question."""


@dataclass(frozen=True, slots=True)
class LaneQuestion:
    """What is asked, apart from whose it is."""

    context: Context
    data: bytes
    texts: tuple[bytes, ...]
    problem: str
    details: tuple[str, ...]


def read_question(frame: ProxyFrame, contexts: Mapping[str, Context]) -> LaneQuestion:
    """The question of a frame, in one of `contexts`; raises QuestionError."""
    context = contexts.get(str(frame.document.get("context")))
    details = frame.document.get("details") or []
    if context is None or not frame.blobs or not isinstance(details, list):
        raise QuestionError("the question has not the form of one")
    data, *texts = frame.blobs
    lines = tuple(one_line(str(each)) for each in details[:_MOST_DETAILS])
    problem = one_line(str(frame.document.get("problem") or ""))
    return LaneQuestion(context, data, tuple(texts), problem, lines)


def answer_of(
    judgement: Judgement, pieces: Sequence[bytes] | None = None
) -> ProxyFrame:
    """The verdict; with a MODIFY goes the content, or the `pieces` that make it up."""
    verdict = judgement.verdict
    decision = verdict.decision
    blobs: tuple[bytes, ...] = ()
    if decision is Decision.MODIFY:
        if verdict.content is None:
            return block_frame("the rewritten content is missing")
        blobs = (verdict.content,) if pieces is None else tuple(pieces)
    document = {
        "verdict": decision.value,
        "policy": verdict.policy,
        "reason": verdict.reason,
        "suggestion": verdict.suggestion,
        "event": judgement.event,
        "modified_by": verdict.modified_by,
        "refused": None,
        "reviewed": judgement.review is not None,
    }
    return ProxyFrame(document, blobs)


def block_frame(reason: str, refused: str | None = None) -> ProxyFrame:
    """A Block that no event is written of; `refused` names what it is about."""
    return ProxyFrame(
        {
            "verdict": Decision.BLOCK.value,
            "policy": None,
            "reason": reason,
            "suggestion": None,
            "event": None,
            "modified_by": None,
            "refused": refused,
        }
    )


def verdict_frame(verdict: Verdict) -> ProxyFrame:
    """A verdict that nothing has come of yet."""
    frame = block_frame(verdict.reason)
    told = {"verdict": verdict.decision.value, "policy": verdict.policy}
    return ProxyFrame({**frame.document, **told})


def known_frame() -> ProxyFrame:
    """The answer to who asks nothing yet, and may."""
    return ProxyFrame({**block_frame("").document, "verdict": Decision.ALLOW.value})


def failed_frame(reason: str) -> ProxyFrame:
    """The Block that stands for a failure, of which the log knows."""
    _log.error("a question on a lane failed: %s", reason)
    return block_frame(f"blocked because of a failure: {reason}")
