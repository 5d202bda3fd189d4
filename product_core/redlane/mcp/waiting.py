"""How a held call gets on: a line, again and again, for a client that follows it.

Some give up what nothing is heard of.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from redlane.contexts.mcp.calls import is_judged
from redlane.contexts.mcp.frames import JsonRpcMessage, MessageKind
from redlane.mcp.asking import Asking, notification, who_decides
from redlane.mcp.pending import PendingFrame
from redlane.wire.held import HeldNotice

__all__ = ["Waiting", "progress_of", "token_of"]

_EVERY_SECONDS = 20.0
_STEP = 0.001
"""So little that what the server tells later is more."""


@dataclass(slots=True)
class _Held:
    """What is told of one case, when it is due."""

    text: str
    due: float
    told: int = 0


class Waiting:
    """Tells of held messages, and has their client asked about them."""

    def __init__(
        self, asking: Asking, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`asking` asks; `clock` counts seconds."""
        self._asking = asking
        self._clock = clock
        self._held: dict[PendingFrame, _Held] = {}

    @property
    def seconds_left(self) -> float | None:
        """How long there is nothing to tell; None: as long as nothing happens."""
        due = min((each.due for each in self._held.values()), default=None)
        return None if due is None else max(0.0, due - self._clock())

    def held(self, case: PendingFrame, notice: HeldNotice) -> None:
        """Tell the client that a message waits to be decided."""
        text = f"held by Redlane: {who_decides(notice)}"
        self._held[case] = _Held(text, self._clock())
        self.tick()
        self._asking.held(case, notice)

    def over(self, case: PendingFrame) -> None:
        """Have the client ask no longer about what is decided."""
        self._held.pop(case, None)
        self._asking.over(case)

    def tick(self) -> None:
        """Tell what is due of the calls that wait."""
        now = self._clock()
        for case, held in self._held.items():
            if held.due <= now:
                held.due = now + _EVERY_SECONDS
                for message in filter(is_judged, case.frame.messages):
                    line = progress_of(message, held.text, held.told)
                    if line is not None:
                        case.owner.to_client.tell(json.dumps(line).encode() + b"\n")
                held.told += 1


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
    return notification("progress", params)
