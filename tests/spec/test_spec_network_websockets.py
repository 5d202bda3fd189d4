"""WebSocket messages, whole, in both directions: each is judged before it goes on."""

import base64
from typing import Any

import pytest
from proxied import Proxied
from spec.cases import modify, simple

UPPER = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}
POLICIES = {
    "sent": simple("Block", "sent-word", context="Network"),
    "received": simple("Block", "received-word", context="Inbound"),
    "raised": modify("low-out", UPPER, context="Network"),
    "lowered": modify("low-in", UPPER, context="Inbound"),
    "ask": simple("Flag", "odd-thing", context="Network"),
    "handshake": simple("Block", "closed-path", context="Network"),
}
SETTINGS = {"tls": {"intercept": True}}


def _url(lab: Proxied, scheme: str) -> str:
    base = lab.https if scheme == "wss" else lab.http
    return base.replace("http", "ws", 1) + "/ws"


def _talk(lab: Proxied, scheme: str, *messages: object, **more: Any) -> dict[str, Any]:
    agent = lab.agent()
    agent.send("websocket", url=_url(lab, scheme), messages=messages, **more)
    return agent.receive()


def _replies(said: dict[str, Any]) -> list[bytes]:
    return [
        base64.b64decode(value) for each in said["replies"] for value in each.values()
    ]


def _is_cut(said: dict[str, Any]) -> bool:
    return "failed" in said or (said["replies"] == [] and said["closed"] != 1000)


SCHEMES = pytest.mark.parametrize("scheme", ["ws", "wss"])


@SCHEMES
def test_messages_pass_as_they_are(lab: Proxied, scheme: str) -> None:
    messages: list[dict[str, bytes]] = [
        {"text": b"hello"},
        {"text": "ü\n".encode()},
        {"bytes": bytes(range(256))},
        {"text": b""},
        {"text": b"x" * 200_000},
    ]

    said = _talk(lab, scheme, *messages)

    assert _replies(said) == [data for each in messages for data in each.values()]
    assert [next(iter(each)) for each in said["replies"]] == [
        next(iter(each)) for each in messages
    ]


BLOCKED: dict[str, object] = {
    "text": {"text": b"a sent-word here"},
    "bytes": {"bytes": b"a sent-word here"},
    "in-pieces": [{"text": b"a sent-"}, {"text": b"wo"}, {"text": b"rd here"}],
    "bytes-in-pieces": [{"bytes": b"a sent-"}, {"bytes": b"word here"}],
    "base64": {"text": base64.b64encode(b"a sent-word here")},
    "json": {"text": b'{"a": "\\u0073ent-word"}'},
    "utf-16": {"bytes": "a sent-word here".encode("utf-16")},
}


@SCHEMES
@pytest.mark.parametrize("message", BLOCKED)
def test_a_message_that_is_sent_is_judged(
    lab: Proxied, scheme: str, message: str
) -> None:
    before = len(lab.origin.messages)

    said = _talk(lab, scheme, BLOCKED[message])

    assert _is_cut(said), said
    assert len(lab.origin.messages) == before


def test_a_message_that_is_blocked_names_the_policy(lab: Proxied) -> None:
    said = _talk(lab, "ws", {"text": b"a sent-word"})

    assert said["closed"] == 1008, said
    assert "sent" in said["why"]


@SCHEMES
def test_what_came_before_a_block_had_passed(lab: Proxied, scheme: str) -> None:
    said = _talk(lab, scheme, {"text": b"first"}, {"text": b"sent-word"})

    assert _replies(said) == [b"first"]
    assert said["closed"] != 1000


@SCHEMES
@pytest.mark.parametrize("word", [b"received-word", b"re&#99;eived-word"])
def test_a_message_that_comes_is_judged(lab: Proxied, scheme: str, word: bytes) -> None:
    asked = b"say:" + base64.b64encode(b"a " + word)

    said = _talk(lab, scheme, {"text": asked})

    assert _is_cut(said), said


@SCHEMES
def test_a_message_that_is_sent_is_rewritten(lab: Proxied, scheme: str) -> None:
    said = _talk(lab, scheme, {"text": b"low-out"}, {"bytes": b"low-out"})

    assert _replies(said) == [b"HIGH-out", b"HIGH-out"]


@SCHEMES
def test_a_message_that_comes_is_rewritten(lab: Proxied, scheme: str) -> None:
    said = _talk(lab, scheme, {"text": b"low-in"})

    assert _replies(said) == [b"HIGH-in"]
    assert lab.origin.messages[-1] == "low-in"


def test_a_flagged_message_is_held(lab: Proxied) -> None:
    agent = lab.agent()
    before = len(lab.origin.messages)
    messages = [{"text": b"an odd-thing"}, {"text": b"after it"}]
    agent.send("websocket", url=_url(lab, "ws"), messages=messages)
    lab.held()
    assert len(lab.origin.messages) == before

    lab.decide("allow")

    assert _replies(agent.receive()) == [b"an odd-thing", b"after it"]


def test_a_flagged_message_that_is_blocked(lab: Proxied) -> None:
    agent = lab.agent()
    before = len(lab.origin.messages)
    agent.send("websocket", url=_url(lab, "ws"), messages=[{"text": b"odd-thing"}])

    lab.decide("block")

    assert _is_cut(agent.receive())
    assert len(lab.origin.messages) == before


def test_the_handshake_is_a_request(lab: Proxied) -> None:
    agent = lab.agent()

    agent.send("websocket", url=f"{_url(lab, 'ws')}?closed-path", messages=[])

    assert "403" in agent.receive()["failed"]


@SCHEMES
def test_many_messages_keep_their_order(lab: Proxied, scheme: str) -> None:
    said = _talk(lab, scheme, {"text": b"many:50"}, replies=50)

    assert _replies(said) == [b"message %d" % each for each in range(50)]
