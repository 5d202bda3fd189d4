"""Only what was asked is answered, and once."""

import json

import pytest

from redlane.contexts.mcp.frames import JsonRpcMessage, MessageFrame, key_of, read_frame
from redlane.mcp.asked import Asked, Replayed


def frame(*ids: object, method: str = "m", **params: object) -> MessageFrame:
    asked = [{"id": each, "method": method, "params": params} for each in ids]
    return read_frame(json.dumps(asked).encode())


def answer(id_: object, **fields: object) -> JsonRpcMessage:
    return JsonRpcMessage({"id": id_, **(fields or {"result": {}})})


def test_an_answer_is_known_by_what_was_asked() -> None:
    asked = Asked()
    asked.add(frame(1, method="tools/call", name="add"))
    asked.add(frame("1", method="resources/read", uri="a:b"))

    assert asked.take([answer("1"), answer(1)]) == (
        "resources/read a:b",
        "tools/call add",
    )
    assert asked.take([answer(1)]) is None


def test_one_stray_answer_spoils_a_batch() -> None:
    asked = Asked()
    asked.add(frame(1))

    assert asked.take([answer(1), answer(2)]) is None


def test_what_is_cancelled_may_be_answered_once() -> None:
    asked = Asked()
    asked.add(frame(1))
    asked.cancel(key_of(1))

    assert asked.ids == ()
    assert asked.take([answer(1)]) == ("m",)
    assert asked.take([answer(1)]) is None


def test_only_an_error_may_be_about_nothing() -> None:
    asked = Asked()

    assert asked.take([answer(None, error={})])
    assert asked.take([answer(None)]) is None
    assert asked.take([answer(None, error={}, result={"tools": []})]) is None
    assert asked.take([]) == ()


def test_what_is_remembered_is_bounded() -> None:
    asked = Asked()
    for number in range(9_999):
        asked.add(frame(number))
    assert not asked.is_full
    asked.add(frame("one more"))
    assert asked.is_full

    for number in range(9_999):
        asked.cancel(key_of(number))
    assert not asked.is_full
    assert asked.take([answer(1)]) is None
    assert asked.take([answer(9_998)]) is not None


def test_names_are_bounded() -> None:
    asked = Asked()
    asked.add(frame(1, method="x" * 10_000))

    (name,) = asked.take([answer(1)]) or ("",)
    assert len(name) == 200


@pytest.mark.parametrize("name", ["tools", "Tools", "tool\u017f"])
def test_a_list_that_is_replayed_is_known_in_any_case(name: str) -> None:
    replayed = Replayed(Asked())

    assert replayed.take([answer(1, result={name: []})]) == ("tools/list",)
    assert replayed.take([answer(1, result={"a": []})]) == ("what was asked before",)
