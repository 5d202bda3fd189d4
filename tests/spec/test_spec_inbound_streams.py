"""Streams: server-sent events one by one, matches across them, and bytes untouched."""

import base64
import threading
import time
from collections.abc import Iterator

import pytest
from origins.routes import noise
from proxied import Agent, Proxied
from spec.cases import modify, simple

SWAP = {"type": "Regex", "pattern": "swap-\\d", "replacement": "swapped"}
POLICIES = {
    "word": simple("Block", "forbidden-word", context="Inbound"),
    "swap": modify("swap-", SWAP, context="Inbound"),
}
SETTINGS = {"tls": {"intercept": True}}
EVENTS = "text/event-stream"


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What the origin waits for; opened at the end in any case."""
    made = threading.Event()
    yield made
    made.set()


def _event(text: str) -> bytes:
    return f"data: {text}\n\n".encode()


def _listen(lab: Proxied, path: str, way: str = "h1") -> Agent:
    base = lab.http if way == "h1" else lab.https
    agent = lab.agent()
    agent.send("stream", url=base + path, http2=way == "h2")
    return agent


def _rest(agent: Agent) -> bytes:
    """All that an agent hears until the end, or until the stream is cut."""
    heard = b""
    while True:
        said = agent.receive()
        if "piece" not in said and "status" not in said:
            return heard
        heard += base64.b64decode(said.get("piece", ""))


def _first(agent: Agent) -> bytes:
    assert agent.receive() == {"status": 200}
    return base64.b64decode(agent.receive()["piece"])


WAYS = pytest.mark.parametrize("way", ["h1", "tls", "h2"])


@WAYS
def test_the_first_event_comes_before_the_second_is_sent(
    lab: Proxied, gate: threading.Event, way: str
) -> None:
    path = lab.origin.serve(
        f"/early/{way}", [_event("one"), gate, _event("two")], EVENTS
    )
    agent = _listen(lab, path, way)

    first = _first(agent)
    gate.set()

    assert first == _event("one")
    assert _rest(agent) == _event("two")


def test_the_first_event_is_there_within_a_second(lab: Proxied) -> None:
    """A busy machine may be late at times; a proxy that holds it back always is."""

    def is_soon(number: int) -> bool:
        gate = threading.Event()
        path = lab.origin.serve(f"/second/{number}", [_event("one"), gate], EVENTS)
        started = time.monotonic()
        agent = _listen(lab, path)
        _first(agent)
        seconds = time.monotonic() - started
        gate.set()
        _rest(agent)
        return seconds < 1

    assert any(map(is_soon, range(20)))


@WAYS
def test_an_event_with_a_match_does_not_arrive(
    lab: Proxied, gate: threading.Event, way: str
) -> None:
    pieces = [_event("fine"), gate, _event("a forbidden-word"), _event("after")]
    path = lab.origin.serve(f"/bad-event/{way}", pieces, EVENTS)
    agent = _listen(lab, path, way)
    first = _first(agent)
    gate.set()

    rest = _rest(agent)

    assert first == _event("fine")
    assert b"forbidden" not in rest
    assert b"after" not in rest


SPLITS = {
    "two-events": [_event("a forbidden-"), _event("word here")],
    "three-events": [_event("a forbid"), _event("den-"), _event("word")],
    "json-deltas": [
        _event('{"choices": [{"delta": {"content": "a forbidden-"}}]}'),
        _event('{"choices": [{"delta": {"content": "word here"}}]}'),
    ],
    "two-lines": [b"data: a forbidden-word\ndata: more\n\n"],
    "carriage-returns": [b"data: a forbidden-word\r\n\r\n"],
    "lone-carriage-returns": [b"data: a forbidden-word\r\r"],
    "inside-one-event": [b"data: a forb", b"idden-wo", b"rd\n\n"],
    "without-an-end": [_event("x"), b"data: a forbidden-word"],
    "byte-by-byte": [bytes([each]) for each in b"data: a forbidden-word\n\n"],
    "event-name": [b"event: forbidden-word\ndata: x\n\n"],
    "comment": [b": a forbidden-word\n\n"],
    "id": [b"id: forbidden-word\ndata: x\n\n"],
}


@pytest.mark.parametrize("split", SPLITS)
def test_a_match_across_events_is_found(lab: Proxied, split: str) -> None:
    path = lab.origin.serve(
        f"/split-event/{split}", [*SPLITS[split], _event("after")], EVENTS
    )

    agent = _listen(lab, path)

    heard = _rest(agent)
    assert b"after" not in heard
    assert b"forbidden-word" not in heard
    rows = lab.home.control.rows("/api/events?context=Inbound&limit=1")
    assert [each["verdict"] for each in rows] == ["BLOCK"]


def test_events_are_untouched(lab: Proxied) -> None:
    pieces = [_event(f"number {each} ü") for each in range(200)]
    path = lab.origin.serve("/many-events", [*pieces, b": comment\n\n"], EVENTS)

    assert _rest(_listen(lab, path)) == b"".join(pieces) + b": comment\n\n"


def test_an_event_is_rewritten(lab: Proxied, gate: threading.Event) -> None:
    pieces = [_event("one swap-1"), gate, _event("two swap-2")]
    path = lab.origin.serve("/swap-event", pieces, EVENTS)
    agent = _listen(lab, path)

    first = _first(agent)
    gate.set()

    assert first == _event("one swapped")
    assert _rest(agent) == _event("two swapped")


def test_events_that_are_called_something_else(
    lab: Proxied, gate: threading.Event
) -> None:
    """The type is not believed: a stream that is called text is judged all the same."""
    pieces = [_event("a forbidden-word"), _event("more")]
    path = lab.origin.serve("/called-text", pieces, "text/plain")

    outcome = lab.agent().request(lab.http + path)

    assert outcome.blocked_by == "word"
    gate.set()


def test_a_long_stream_ends_when_the_client_leaves(
    lab: Proxied, gate: threading.Event
) -> None:
    path = lab.origin.serve("/left", [_event("one"), gate], EVENTS)
    agent = lab.new_agent()
    agent.send("stream", url=lab.http + path)
    _first(agent)

    agent.process.kill()
    agent.process.wait()

    assert lab.agent().request(f"{lab.http}/text").status == 200


# Binary bodies.

BINARIES = {
    "png": (b"\x89PNG\r\n\x1a\n" + noise(50_000), "image/png"),
    "gzip-file": (b"\x1f\x8b\x08\0" + noise(50_000), "application/gzip"),
    "zip": (b"PK\x03\x04" + noise(50_000), "application/zip"),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(9) + noise(50_000), "application/x-elf"),
    "noise": (noise(50_000), "application/octet-stream"),
    "called-text": (b"\x89PNG\r\n\x1a\n" + noise(50_000), "text/plain"),
    "called-json": (b"\0\1\2\3" + noise(5_000), "application/json"),
    "empty": (b"", "application/octet-stream"),
}


@WAYS
@pytest.mark.parametrize("binary", BINARIES)
def test_a_binary_answer_is_byte_identical(lab: Proxied, binary: str, way: str) -> None:
    body, kind = BINARIES[binary]
    path = lab.origin.serve(f"/binary/{binary}", body, kind)
    base = lab.http if way == "h1" else lab.https

    outcome = lab.agent().request(base + path, http2=way == "h2")

    assert (outcome.status, outcome.body) == (200, body)
    assert outcome.header("content-type") == kind


@pytest.mark.parametrize("binary", ["png", "noise", "called-text"])
def test_a_skipped_binary_answer_is_an_allow_event(lab: Proxied, binary: str) -> None:
    body, kind = BINARIES[binary]
    marked = body[:64] + f"skipped-{binary}".encode() + body
    path = lab.origin.serve(f"/skipped/{binary}", marked, kind)

    lab.agent().request(lab.http + path)

    event = lab.event(f"skipped-{binary}", "Inbound")
    assert (event["verdict"], event["lane"]) == ("ALLOW", "GREEN")
    assert "binary" in event["reason"] + event["details"]
