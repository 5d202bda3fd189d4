"""What is answered in the place of what was blocked."""

import json

import pytest

from redlane.contexts.mcp.answers import (
    BLOCKED,
    NOT_JUDGED,
    abandoned,
    broken,
    denials,
    refusals,
)
from redlane.contexts.mcp.frames import MessageKind, read_frame
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer

BLOCK = Answer(Decision.BLOCK, "no", policy="p", suggestion="ask", event="e")
BATCH = read_frame(b'[{"id":1,"method":"m"},{"method":"n"},{"id":2,"result":{}}]')


def test_an_error_tells_policy_reason_event_and_what_to_do_instead() -> None:
    frame = read_frame(b'{"id":"x","method":"m"}')

    error = json.loads(refusals(frame, MessageKind.REQUEST, BLOCK) or b"")["error"]

    assert error["code"] == BLOCKED
    assert error["message"] == "blocked by Redlane by policy 'p': no; instead: ask"
    assert error["data"] == {
        "policy": "p",
        "reason": "no",
        "event": "e",
        "suggestion": "ask",
    }


def test_what_nobody_could_judge_has_a_code_of_its_own() -> None:
    frame = read_frame(b'{"id":1,"method":"m"}')
    answer = Answer.unanswered("nobody there")

    error = json.loads(refusals(frame, MessageKind.REQUEST, answer) or b"")["error"]

    assert error["code"] == NOT_JUDGED
    assert "cannot judge" in error["message"]


@pytest.mark.parametrize(
    ("kind", "ids"), [(MessageKind.REQUEST, [1]), (MessageKind.RESPONSE, [2])]
)
def test_a_batch_is_answered_with_a_batch(kind: MessageKind, ids: list[int]) -> None:
    made = json.loads(refusals(BATCH, kind, BLOCK) or b"")

    assert [each["id"] for each in made] == ids


def test_those_that_only_came_along_are_told_so() -> None:
    frame = read_frame(b'[{"id":1,"method":"m"},{"id":2,"method":"n"}]')

    first, second = json.loads(
        refusals(frame, MessageKind.REQUEST, BLOCK, frame.messages[1]) or b""
    )

    assert first["error"]["message"].startswith("sent together with ")
    assert second["error"]["message"].startswith("blocked ")


@pytest.mark.parametrize("line", [b'{"method":"m"}', b"[]", b'{"id":1,"result":{}}'])
def test_nobody_is_answered_who_did_not_ask(line: bytes) -> None:
    assert refusals(read_frame(line), MessageKind.REQUEST, BLOCK) is None
    assert denials(read_frame(line)) is None


def test_every_answer_is_one_line() -> None:
    answer = Answer(Decision.BLOCK, "a\nb\u2028\ud800")
    frame = read_frame(b'{"id":"\\n","method":"m"}')

    for line in (
        refusals(frame, MessageKind.REQUEST, answer),
        denials(frame),
        abandoned("\n", "a\nb"),
        broken("a\nb"),
    ):
        assert line is not None
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        json.loads(line)
