"""What a client or a server is told in the place of what was blocked: JSON-RPC errors.

MCP leaves the codes from -32000 to -32019 to implementations, of which SDKs use a few.
"""

import json
from collections.abc import Iterable

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame, MessageKind
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer

__all__ = [
    "BLOCKED",
    "NOT_JUDGED",
    "abandoned",
    "broken",
    "denials",
    "mismatched",
    "refusals",
]

BLOCKED = -32010
"""A policy, or the session's state, does not let it pass."""
NOT_JUDGED = -32011
"""Nobody could judge it, so it does not pass."""
_PARSE_ERROR = -32700
_HEADER_MISMATCH = -32020


def refusals(
    frame: MessageFrame,
    kind: MessageKind,
    answer: Answer,
    about: JsonRpcMessage | None = None,
) -> bytes | None:
    """The line that answers all of a frame's messages of one kind; None without any.

    `about` is the message that was blocked, and the others with it.
    """
    made = [
        _error(each.id, answer, is_other=about is not None and each is not about)
        for each in frame.messages
        if each.kind is kind
    ]
    if not made:
        return None
    return _line(made if frame.is_batch else made[0])


def denials(frame: MessageFrame) -> bytes | None:
    """The line that answers a server's requests: it is told nothing of policies."""
    answer = Answer(Decision.BLOCK, "what you ask for does not pass")
    return refusals(frame, MessageKind.REQUEST, answer)


def broken(reason: str) -> bytes:
    """The line for a message that cannot be read, whose id nobody knows."""
    error = {"code": _PARSE_ERROR, "message": f"refused by Redlane: {reason}"}
    return _line({"jsonrpc": "2.0", "id": None, "error": error})


def mismatched(frame: MessageFrame, reason: str) -> bytes:
    """What answers a frame before which something else is said, without an end."""
    ids = [each.id for each in frame.messages if each.kind is MessageKind.REQUEST]
    error = {"code": _HEADER_MISMATCH, "message": f"refused by Redlane: {reason}"}
    id_ = ids[0] if len(ids) == 1 and not frame.is_batch else None
    return _line({"jsonrpc": "2.0", "id": id_, "error": error}).removesuffix(b"\n")


def abandoned(id_: object, reason: str) -> bytes:
    """The line for a request that gets no answer any more."""
    answer = Answer.unanswered(reason)
    return _line(_error(id_, answer, is_other=False))


def _error(id_: object, answer: Answer, *, is_other: bool) -> dict[str, object]:
    if answer.refused:
        message = f"Redlane cannot judge this, so it is blocked: {answer.reason}"
    else:
        by = f" by policy {answer.policy!r}" if _untold(answer) else ""
        message = f"blocked by Redlane{by}: {answer.reason}"
    if is_other:
        message = f"sent together with what was {message}"
    data = {"policy": answer.policy, "reason": answer.reason, "event": answer.event}
    if answer.suggestion:
        data["suggestion"] = answer.suggestion
        message += f"; instead: {answer.suggestion}"
    code = NOT_JUDGED if answer.refused else BLOCKED
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "error": {"code": code, "message": message, "data": data},
    }


def _untold(answer: Answer) -> bool:
    """Whether the reason does not name the policy by itself."""
    return answer.policy is not None and repr(answer.policy) not in answer.reason


def _line(value: object | Iterable[object]) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"
