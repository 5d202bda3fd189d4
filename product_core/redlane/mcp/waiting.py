"""What a client is told while something of its own is held.

A client that shows its person questions (elicitation) asks whether to go on waiting;
one that shows how a call gets on has a line there, again and again, for some give up
what nothing is heard of. Neither can allow anything: clients run in sessions.
"""

import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from redlane.mcp.calls import is_judged
from redlane.mcp.frames import JsonRpcMessage, MessageFrame, MessageKind
from redlane.mcp.pending import PendingFrame
from redlane.messages import single_line
from redlane.wire.held import HeldNotice

__all__ = ["Waiting", "progress_of", "token_of"]

_PREFIX = "redlane-held-"
_MOST_SHOWN = 200
_MOST_KNOWN = 1_000
_THE_JURY = "the jury"
_EVERY_SECONDS = 20.0
_LEAST_SECONDS = 1.0
"""A refusal that comes sooner is a program's, which has shown it to nobody."""

_WAIT, _GIVE_UP = "wait", "give up"
_STEP = 0.001
"""So little that what the server tells later is more."""

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


@dataclass(slots=True)
class _Held:
    """What is told of one case: a line when it is due, and perhaps a question."""

    text: str
    asked: float
    due: float
    id: str | None = None
    told: int = 0


class Waiting:
    """Tells of held messages, and takes what is answered to that."""

    def __init__(
        self,
        tell: Callable[[bytes], None],
        give_up: Callable[[PendingFrame], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`tell` the client; what its person does not want to wait for is given up."""
        self._tell = tell
        self._give_up = give_up
        self._clock = clock
        self._may_ask = False
        self._held: dict[PendingFrame, _Held] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    @property
    def seconds_left(self) -> float | None:
        """How long there is nothing to tell; None: as long as nothing happens."""
        due = min((each.due for each in self._held.values()), default=None)
        return None if due is None else max(0.0, due - self._clock())

    def learn(self, frame: MessageFrame) -> None:
        """See from what a client sends first whether it shows questions."""
        for message in frame.messages:
            if message.method == "initialize":
                self._may_ask = _shows_forms(message.params)

    def held(self, case: PendingFrame, notice: HeldNotice) -> None:
        """Tell the client that a message waits to be decided."""
        self.over(case)
        now, by = self._clock(), f"{notice.whose} decides within {notice.seconds} s"
        where = f"redlane review show {notice.review}"
        held = _Held(f"held by Redlane: {by} ({where})", now, now)
        self._held[case] = held
        self.tick()
        if self._may_ask and notice.whose != _THE_JURY:
            held.id = f"{_PREFIX}{notice.review}"
            self._known[held.id] = None
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            self._send(_question(held.id, case.frame, by, where))

    def tick(self) -> None:
        """Tell what is due of the calls that wait."""
        now = self._clock()
        for case, held in self._held.items():
            if held.due <= now:
                held.due = now + _EVERY_SECONDS
                for message in filter(is_judged, case.frame.messages):
                    self._send(progress_of(message, held.text, held.told))
                held.told += 1

    def over(self, case: PendingFrame) -> None:
        """Have the client ask no longer about what is decided."""
        held = self._held.pop(case, None)
        if held is not None and held.id is not None:
            self._send(_request("notifications/cancelled", {"requestId": held.id}))

    def takes(self, frame: MessageFrame) -> bool:
        """Whether a frame answers questions of ours alone: the server asked no such."""
        ours = [each for each in frame.messages if self._is_ours(each)]
        for each in ours:
            for case, held in list(self._held.items()):
                if held.id == each.id:
                    held.id = None
                    if self._gives_up(each, held):
                        self._give_up(case)
        return bool(ours) and len(ours) == len(frame.messages)

    def _is_ours(self, message: JsonRpcMessage) -> bool:
        is_answer = message.kind is MessageKind.RESPONSE
        return is_answer and isinstance(message.id, str) and message.id in self._known

    def _gives_up(self, answer: JsonRpcMessage, held: _Held) -> bool:
        """What is dismissed, or was shown to nobody, goes on waiting."""
        result = answer.body.get("result")
        if not isinstance(result, dict):
            return False
        content = result.get("content")
        if result.get("action") == "accept" and isinstance(content, dict):
            return bool(content.get("answer") == _GIVE_UP)
        is_late = self._clock() - held.asked >= _LEAST_SECONDS
        return is_late and result.get("action") == "decline"

    def _send(self, message: Mapping[str, Any] | None) -> None:
        if message is not None:
            self._tell(json.dumps(message).encode() + b"\n")


def token_of(message: JsonRpcMessage) -> Mapping[str, str | int]:
    """By what a client follows a request, as `progressToken`; empty without one."""
    meta = message.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if isinstance(token, str | int) and not isinstance(token, bool):
        return {"progressToken": token}
    return {}


def progress_of(
    message: JsonRpcMessage, text: str, told: int
) -> Mapping[str, Any] | None:
    """How a call gets on, after so many such lines; None where nobody follows it."""
    token = token_of(message)
    if message.kind is not MessageKind.REQUEST or not token:
        return None
    params = {**token, "progress": told * _STEP, "message": text}
    return _request("notifications/progress", params)


def _shows_forms(params: Mapping[str, Any]) -> bool:
    """Whether a client has said that it shows questions, and not as pages alone."""
    capabilities = params.get("capabilities")
    found = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(found, dict) and (not found or "form" in found)


def _question(id_: str, frame: MessageFrame, by: str, where: str) -> Mapping[str, Any]:
    named = (each.params.get("name") for each in frame.messages)
    tools = ", ".join(each for each in named if isinstance(each, str))[:_MOST_SHOWN]
    what = f"the call of {single_line(tools)}" if tools else "what the server sent"
    message = (
        f"Redlane holds {what}: {by}, elsewhere ({where}). You may go on waiting or "
        "give it up; nothing that you answer here allows it."
    )
    params = {"message": message, "requestedSchema": _SCHEMA}
    return {**_request("elicitation/create", params), "id": id_}


def _request(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}
