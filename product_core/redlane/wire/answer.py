"""What the daemon answers to a question, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from redlane.errors import RedlaneError
from redlane.model.verdict import Decision
from redlane.wire.frames import Frame, pack

__all__ = ["Answer", "AnswerError", "ToolStatus", "WhyUnjudged", "read_answer"]

ToolStatus = tuple[str, str]
"""How a tool stands, and why if that is not well."""


class AnswerError(RedlaneError):
    """What was answered is no answer."""


class WhyUnjudged(StrEnum):
    """Why there is no verdict, for whoever must know that there is none."""

    CREDENTIAL = "credential"
    """The credential is that of no running session."""
    SESSION = "session"
    """Whoever asks is in no session, or is not served."""
    UNANSWERED = "unanswered"
    """Nobody could be asked; only who asks says so."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of something.

    `contents` is what it was rewritten to, piece by piece. `reviewed`: a person has
    decided it. `tools` tells how each of several tools stands; `again`: that has
    changed since it was told. `leads`: the session's programs are led into the proxy,
    whatever they know of it. With `refused` there is no verdict, and it is a Block.
    """

    decision: Decision
    reason: str = ""
    policy: str | None = None
    suggestion: str | None = None
    event: str | None = None
    modified_by: str | None = None
    contents: tuple[bytes, ...] = ()
    reviewed: bool = False
    refused: WhyUnjudged | None = None
    tools: tuple[ToolStatus, ...] = ()
    again: bool = False
    leads: bool = False

    @classmethod
    def unanswered(cls, reason: str) -> "Answer":
        """The Block for what nobody could be asked about."""
        return cls(Decision.BLOCK, reason, refused=WhyUnjudged.UNANSWERED)

    @property
    def blocked(self) -> bool:
        """Whether it must not go on: a Flag that comes back was held by nobody."""
        return self.decision in {Decision.BLOCK, Decision.FLAG}

    @property
    def flagged(self) -> bool:
        """Whether it is blocked because nobody has held it."""
        return self.decision is Decision.FLAG

    @property
    def content(self) -> bytes | None:
        """What it was rewritten to, where that is one piece."""
        return self.contents[0] if self.contents else None

    def pieces(self) -> list[bytes]:
        """What to send, in order."""
        document: dict[str, Any] = {"verdict": self.decision, "reason": self.reason}
        for name in ("policy", "suggestion", "event", "modified_by", "refused"):
            value = getattr(self, name)
            if value is not None:
                document[name] = value
        if self.reviewed:
            document["reviewed"] = True
        if self.tools:
            document["tools"] = self.tools
        if self.again:
            document["again"] = True
        if self.leads:
            document["leads"] = True
        return pack(document, self.contents)


def read_answer(frame: Frame) -> Answer:
    """The answer of a frame; raises AnswerError for another form."""
    document = frame.document
    try:
        decision = Decision(document["verdict"])
        refused = document.get("refused")
        answer = Answer(
            decision,
            str(document["reason"]),
            policy=_text(document, "policy"),
            suggestion=_text(document, "suggestion"),
            event=_text(document, "event"),
            modified_by=_text(document, "modified_by"),
            contents=frame.blobs if decision is Decision.MODIFY else (),
            reviewed=document.get("reviewed") is True,
            refused=None if refused is None else WhyUnjudged(refused),
            tools=tuple((str(how), str(why)) for how, why in document.get("tools", ())),
            again=document.get("again") is True,
            leads=document.get("leads") is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise AnswerError("the daemon's answer is not understood") from error
    if decision is Decision.MODIFY and not frame.blobs:
        raise AnswerError("the rewritten content is missing")
    return answer


def _text(document: Mapping[str, Any], name: str) -> str | None:
    value = document.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(name)
    return value
