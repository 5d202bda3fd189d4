"""A client's person is asked whether to go on waiting for what is held.

That is a question of the client's own (elicitation), where it shows such. The person
can give up what waits, and allow nothing: clients run in sessions.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from redlane.contexts.mcp.answers import denials, refusals
from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame, MessageKind
from redlane.mcp.pending import PendingFrame, PendingFrames
from redlane.messages import single_line
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer
from redlane.wire.held import HeldNotice

__all__ = ["Asking", "giving_up", "notification", "who_decides"]

_PREFIX = "redlane-held-"
_MOST_SHOWN = 200
_MOST_KNOWN = 1_000
_THE_JURY = "the jury"
_LEAST_SECONDS = 1.0
"""A refusal that comes sooner is a program's, which has shown it to nobody."""

_NOT_AWAITED = Answer(Decision.BLOCK, "it was held, and you gave it up")
_WAIT, _GIVE_UP = "wait", "give up"
_SCHEMA = {
    "type": "object",
    "properties": {
        "answer": {
            "type": "string",
            "title": "Answer",
            "enum": [_WAIT, _GIVE_UP],
            "enumNames": ["Go on waiting", "Give it up"],
            "default": _WAIT,
        }
    },
    "required": ["answer"],
}


@dataclass(frozen=True, slots=True)
class _Asked:
    """The question about one case, and when it was asked, in seconds."""

    case: PendingFrame
    at: float


class Asking:
    """Asks the clients of one session, and takes what they answer."""

    def __init__(
        self,
        give_up: Callable[[PendingFrame], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """What a person does not want to wait for is given up by `give_up`."""
        self._give_up = give_up
        self._clock = clock
        self._may_ask = False
        self._open: dict[str, _Asked] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    def learn(self, frame: MessageFrame) -> None:
        """See from what a client sends first whether it shows questions."""
        for message in frame.messages:
            if message.method == "initialize":
                self._may_ask = _shows_forms(message.params)

    def held(self, case: PendingFrame, notice: HeldNotice) -> None:
        """Ask about a message that waits to be decided by a person."""
        self.over(case)
        if not self._may_ask or notice.whose == _THE_JURY:
            return
        id_ = f"{_PREFIX}{notice.review}"
        self._open[id_] = _Asked(case, self._clock())
        self._known[id_] = None
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)
        _tell(case, {**_question(case.frame, notice), "id": id_})

    def over(self, case: PendingFrame) -> None:
        """Have the client ask no longer about what is decided."""
        for id_, asked in list(self._open.items()):
            if asked.case is case:
                del self._open[id_]
                _tell(case, notification("cancelled", {"requestId": id_}))

    def takes(self, frame: MessageFrame) -> bool:
        """Whether a frame answers questions of ours alone: the server asked no such."""
        ours = [each for each in frame.messages if self._is_ours(each)]
        for each in ours:
            asked = self._open.pop(str(each.id), None)
            if asked is not None and self._gives_up(each, asked):
                self._give_up(asked.case)
        return bool(ours) and len(ours) == len(frame.messages)

    def _is_ours(self, message: JsonRpcMessage) -> bool:
        is_answer = message.kind is MessageKind.RESPONSE
        return is_answer and isinstance(message.id, str) and message.id in self._known

    def _gives_up(self, answer: JsonRpcMessage, asked: _Asked) -> bool:
        """What is dismissed, or was shown to nobody, goes on waiting."""
        result = answer.body.get("result")
        if not isinstance(result, dict):
            return False
        content = result.get("content")
        if result.get("action") == "accept" and isinstance(content, dict):
            return bool(content.get("answer") == _GIVE_UP)
        is_late = self._clock() - asked.at >= _LEAST_SECONDS
        return is_late and result.get("action") == "decline"


def giving_up(
    calls: PendingFrames, results: PendingFrames
) -> Callable[[PendingFrame], None]:
    """Gives up a case of either direction: who waits for it is refused."""

    def give_up(case: PendingFrame) -> None:
        owner, frame = case.owner, case.frame
        if calls.drop(case):
            line = refusals(frame, MessageKind.REQUEST, _NOT_AWAITED)
            if line is not None:
                owner.to_client.send(line)
            calls.send(case, b"")
        elif results.drop(case):
            back = denials(frame)
            if back is not None:
                owner.to_server.send(back)
            line = refusals(frame, MessageKind.RESPONSE, _NOT_AWAITED)
            results.send(case, line or b"")

    return give_up


def who_decides(notice: HeldNotice) -> str:
    """In a few words: who, until when, and where it is shown."""
    until = f"{notice.whose} decides within {notice.seconds} s"
    return f"{until} (redlane review show {notice.review})"


def notification(name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """A notification of MCP."""
    return _request(f"notifications/{name}", params)


def _shows_forms(params: Mapping[str, Any]) -> bool:
    """Whether a client has said that it shows questions, and not as pages alone."""
    capabilities = params.get("capabilities")
    found = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(found, dict) and (not found or "form" in found)


def _question(frame: MessageFrame, notice: HeldNotice) -> dict[str, Any]:
    named = (each.params.get("name") for each in frame.messages)
    tools = ", ".join(each for each in named if isinstance(each, str))[:_MOST_SHOWN]
    what = f"the call of {single_line(tools)}" if tools else "what the server sent"
    message = (
        f"Redlane holds {what}: {who_decides(notice)}, elsewhere. You may go on "
        "waiting or give it up; nothing that you answer here allows it."
    )
    params = {"message": message, "requestedSchema": _SCHEMA}
    return _request("elicitation/create", params)


def _request(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _tell(case: PendingFrame, message: Mapping[str, Any]) -> None:
    case.owner.to_client.tell(json.dumps(message).encode() + b"\n")
