"""What a client is told while something of its own is held.

A client that shows its person questions (elicitation) asks whether to go on waiting;
one that shows how a call gets on has a line there. Neither can allow anything: clients
run in sessions.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from redlane.mcp.calls import is_judged
from redlane.mcp.frames import JsonRpcMessage, MessageFrame, MessageKind
from redlane.mcp.pending import PendingFrame
from redlane.messages import single_line
from redlane.wire.held import HeldNotice

__all__ = ["Waiting"]

_PREFIX = "redlane-held-"
_MOST_SHOWN = 200
_THE_JURY = "the jury"
_MOST_KNOWN = 1_000


class Waiting:
    """Tells of held messages, and takes what is answered to that."""

    def __init__(
        self,
        tell: Callable[[bytes], None],
        give_up: Callable[[PendingFrame], None],
    ) -> None:
        """`tell` the client; what its person does not want to wait for is given up."""
        self._tell = tell
        self._give_up = give_up
        self._may_ask = False
        self._asked: dict[str, PendingFrame] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    def learn(self, frame: MessageFrame) -> None:
        """See from what a client sends first whether it shows questions."""
        for message in frame.messages:
            if message.method == "initialize":
                self._may_ask = _shows_forms(message.params)

    def held(self, case: PendingFrame, notice: HeldNotice) -> None:
        """Tell the client that a message waits to be decided."""
        self.over(case)
        by = f"{notice.whose} decides within {notice.seconds} s"
        where = f"redlane review show {notice.review}"
        text = f"held by Redlane: {by} ({where})"
        for message in filter(is_judged, case.frame.messages):
            self._send(_progress(message, text))
        if self._may_ask and notice.whose != _THE_JURY:
            id_ = f"{_PREFIX}{notice.review}"
            self._asked[id_], self._known[id_] = case, None
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
            self._send(_question(id_, case.frame, by, where))

    def over(self, case: PendingFrame) -> None:
        """Have the client ask no longer about what is decided."""
        for id_ in [each for each, held in self._asked.items() if held is case]:
            del self._asked[id_]
            self._send(_request("notifications/cancelled", {"requestId": id_}))

    def takes(self, frame: MessageFrame) -> bool:
        """Whether a frame answers questions of ours alone: the server asked no such."""
        ours = [each for each in frame.messages if self._is_ours(each)]
        for each in ours:
            case = self._asked.pop(str(each.id), None)
            if case is not None and _declines(each):
                self._give_up(case)
        return bool(ours) and len(ours) == len(frame.messages)

    def _is_ours(self, message: JsonRpcMessage) -> bool:
        is_answer = message.kind is MessageKind.RESPONSE
        return is_answer and isinstance(message.id, str) and message.id in self._known

    def _send(self, message: Mapping[str, Any] | None) -> None:
        if message is not None:
            self._tell(json.dumps(message).encode() + b"\n")


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
        f"Redlane holds {what}: {by}, elsewhere ({where}). Accept to go on waiting, "
        "decline to give it up. Nothing that you answer here allows it."
    )
    schema = {"type": "object", "properties": {}}
    params = {"message": message, "requestedSchema": schema}
    return {**_request("elicitation/create", params), "id": id_}


def _progress(message: JsonRpcMessage, text: str) -> Mapping[str, Any] | None:
    meta = message.params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    if message.kind is not MessageKind.REQUEST or type(token) not in (str, int):
        return None
    params = {"progressToken": token, "progress": 0, "message": text}
    return _request("notifications/progress", params)


def _request(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _declines(answer: JsonRpcMessage) -> bool:
    """Only an explicit no; what is dismissed, or shown to nobody, goes on waiting."""
    result = answer.body.get("result")
    return isinstance(result, dict) and result.get("action") == "decline"
