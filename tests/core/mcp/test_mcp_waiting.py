"""How often a client is told that something is held, and whose refusals count."""

import json
from collections import deque
from typing import Any

import pytest

from redlane.contexts.mcp.frames import MessageFrame, read_frame
from redlane.mcp.asking import Asking
from redlane.mcp.ordered_writer import Slot
from redlane.mcp.pending import PendingFrame, Writers
from redlane.mcp.waiting import Waiting
from redlane.wire.held import HeldNotice

NOTICE = HeldNotice("4f2a", 600, "a person")


class Way:
    """Where nothing goes but what the client is told besides."""

    def __init__(self, told: list[Any]) -> None:
        self.told = told

    def send(self, data: bytes) -> None:
        del data

    def hold(self, frame: MessageFrame) -> Slot:
        del frame
        return Slot()

    def fill(self, place: Slot, data: bytes) -> None:
        del place, data

    def tell(self, data: bytes) -> None:
        self.told.append(json.loads(data))


class Desk:
    """A client that is told, at a time that tests set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.told: list[Any] = []
        self.given_up: list[PendingFrame] = []
        self.asking = Asking(self.given_up.append, lambda: self.now)
        self.waiting = Waiting(self.asking, lambda: self.now)
        params: dict[str, Any] = {"capabilities": {"elicitation": {}}}
        self.asking.learn(frame(id=0, method="initialize", params=params))

    def hold(self) -> PendingFrame:
        params = {"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}}
        call = frame(id=1, method="tools/call", params=params)
        way = Way(self.told)
        case = PendingFrame(call, deque(), lambda *_: None, way, Writers(way, way))
        self.waiting.held(case, NOTICE)
        return case

    def answer(self, result: object) -> bool:
        return self.asking.takes(frame(id="redlane-held-4f2a", result=result))


def frame(**fields: object) -> MessageFrame:
    return read_frame(json.dumps({"jsonrpc": "2.0", **fields}).encode())


def test_the_line_of_a_call_comes_again_and_again_and_grows() -> None:
    desk = Desk()
    case = desk.hold()
    assert desk.waiting.seconds_left == 20.0
    for desk.now in (19.0, 20.0, 21.0, 45.0):
        desk.waiting.tick()
    lines = [each for each in desk.told if each["method"].endswith("progress")]
    assert [each["params"]["progress"] for each in lines] == [0, 0.001, 0.002]
    desk.waiting.over(case)
    assert desk.waiting.seconds_left is None


@pytest.mark.parametrize(
    ("seconds", "result", "is_given_up"),
    [
        (0.02, {"action": "decline"}, False),
        (1.0, {"action": "decline"}, True),
        (9.0, {"action": "cancel"}, False),
        (9.0, {"action": "accept"}, False),
        (9.0, {"action": "accept", "content": {"answer": "wait"}}, False),
        (0.02, {"action": "accept", "content": {"answer": "give up"}}, True),
        (9.0, "decline", False),
    ],
)
def test_only_a_person_gives_up(
    seconds: float, result: object, *, is_given_up: bool
) -> None:
    desk = Desk()
    case = desk.hold()
    desk.now = seconds
    assert desk.answer(result)
    assert desk.given_up == ([case] if is_given_up else [])
