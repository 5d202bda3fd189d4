"""What the daemon answers the proxy, question by question."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from core.lane_client import question
from engine_samples import policy, rules
from gate_bench import Bench

from redlane.control.metrics import Metrics
from redlane.control.proxy_desk import ProxyDesk
from redlane.control.proxy_frames import ProxyFrame
from redlane.control.proxy_tokens import ProxyTokens
from redlane.errors import ContentError
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context, Policy

TOKENS = ProxyTokens(bytes(32))
Fields = dict[str, Any]


def joined(
    context: Context, data: bytes, texts: Sequence[bytes], problem: str
) -> Content:
    assert problem in ("", "there is more")
    if data == b"no form":
        raise ContentError("it has no form")
    return TextContent(context, b"|".join([data, *texts]))


class Desk:
    """A desk with a session of role `r`."""

    def __init__(self, base: Path, *policies: Policy) -> None:
        self.bench = Bench(base, rules(*policies))
        self.metrics = Metrics()
        self.session = self.bench.sessions.create(role="r")
        self.foreign: set[object] = set()
        self.desk = ProxyDesk(
            self.bench.gate,
            self.bench.sessions,
            TOKENS,
            joined,
            self.metrics,
            lambda session, client, connection: (
                (session, client[0], connection) not in self.foreign  # type: ignore[index]  # a list here
            ),
        )

    def ask(self, *blobs: bytes, **fields: object) -> ProxyFrame:
        """Ask for a verdict in the session; `fields` are other than usual."""
        document = question(TOKENS.credential(self.session.id)) | fields
        return self.desk.answer(ProxyFrame(document, blobs), lambda _: None)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Desk]:
    return lambda *policies: Desk(tmp_path, *policies)


Make = Callable[..., Desk]


def test_a_request_is_judged_by_its_sessions_role(make: Make) -> None:
    desk = make(policy("b", "Block", "bad", reason="it is"))

    answer = desk.ask(b"some bad text", details=["from a client"])

    (event,) = desk.bench.events()
    assert answer.document == {
        "verdict": "BLOCK",
        "policy": "b",
        "reason": "policy 'b' blocks this: it is",
        "suggestion": None,
        "event": event.id,
        "modified_by": None,
        "refused": None,
        "reviewed": False,
    }
    assert (event.session, event.details) == (desk.session.id, "from a client")
    assert desk.ask(b"some good text").document["verdict"] == "ALLOW"
    assert any('context="Network"' in line for line in desk.metrics.lines())


def test_who_asks_is_told_by_the_credential_alone(make: Make) -> None:
    desk = make(policy("b", "Block", ""))

    assert desk.ask(kind="who").document["verdict"] == "ALLOW"
    assert desk.ask(kind="who", credential="x").document["refused"] == "credential"
    assert not desk.bench.events()


@pytest.mark.parametrize("action", ["Allow", "Block", "Flag", "Modify"])
def test_a_preview_is_neither_written_down_nor_held_nor_counted(
    make: Make, action: str
) -> None:
    desk = make(policy("p", action, "bad"))

    answer = desk.ask(b"some bad text", kind="preview")

    assert (answer.document["verdict"], answer.document["event"]) == (
        action.upper(),
        None,
    )
    assert not answer.blobs
    assert not desk.bench.events()
    assert not any('context="Network"' in line for line in desk.metrics.lines())


def test_a_preview_of_what_has_no_form_is_a_block(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))
    assert desk.ask(b"no form", kind="preview").document["verdict"] == "BLOCK"


def test_a_rewritten_request_comes_back_as_bytes(make: Make) -> None:
    desk = make(policy("m", "Modify", "bad"))

    answer = desk.ask(b"\x01bad\x00")

    assert (answer.document["verdict"], answer.document["modified_by"]) == (
        "MODIFY",
        "m",
    )
    assert answer.blobs == (b"\x01*\x00",)


def test_further_texts_are_judged_too(make: Make) -> None:
    desk = make(policy("b", "Block", "bad"))
    assert desk.ask(b"good", b"bad", context="Inbound").document["policy"] == "b"


@pytest.mark.parametrize("credential", [None, "", "x", 3, ["a"]])
def test_without_a_credential_it_is_refused_and_not_recorded(
    make: Make, credential: object
) -> None:
    desk = make(policy("a", "Allow", ""))

    answer = desk.ask(b"text", credential=credential)

    assert (answer.document["verdict"], answer.document["refused"]) == (
        "BLOCK",
        "credential",
    )
    assert not desk.bench.events()


def test_the_credential_of_an_ended_session_is_refused(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))
    assert desk.ask(b"text").document["verdict"] == "ALLOW"

    desk.bench.sessions.end(desk.session.id)

    assert desk.ask(b"text").document["refused"] == "credential"
    assert len(desk.bench.events()) == 1


def test_who_is_not_in_the_session_has_no_use_of_its_credential(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))
    desk.foreign.add((desk.session.id, "127.0.0.1", "c2"))
    assert desk.ask(b"text", connection="c1").document["verdict"] == "ALLOW"
    assert desk.ask(b"text", connection="c2").document["refused"] == "credential"


def test_a_frozen_session_is_blocked_and_that_is_recorded(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))
    desk.bench.sessions.freeze(desk.session.id)

    for kind in ("judge", "record"):
        answer = desk.ask(b"text", kind=kind, verdict="ALLOW")
        assert (answer.document["verdict"], answer.document["refused"]) == (
            "BLOCK",
            None,
        )
    assert {each.verdict for each in desk.bench.events()} == {"BLOCK"}


@pytest.mark.parametrize("verdict", ["ALLOW", "FLAG", "BLOCK"])
def test_what_the_settings_decided_is_recorded(make: Make, verdict: str) -> None:
    desk = make(policy("b", "Block", "text"))

    answer = desk.ask(b"text", kind="record", verdict=verdict, reason="too\nlarge")

    (event,) = desk.bench.events()
    assert (answer.document["verdict"], answer.document["event"]) == (verdict, event.id)
    assert (event.verdict, event.reason, event.content) == (
        verdict,
        "too large",
        "text",
    )
    assert (event.context, event.role, event.policy) == ("Network", "r", None)


BROKEN: dict[str, Fields] = {
    "context": {"context": "Shell"},
    "no-context": {"context": None},
    "kind": {"kind": "allow"},
    "details": {"details": "text"},
    "verdict": {"kind": "record", "verdict": "MODIFY"},
    "no-verdict": {"kind": "record"},
}


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_what_is_no_question_is_blocked(make: Make, fields: Fields) -> None:
    desk = make(policy("a", "Allow", ""))
    assert desk.ask(b"text", **fields).document["verdict"] == "BLOCK"


def test_a_question_without_content_is_blocked(make: Make) -> None:
    assert make(policy("a", "Allow", "")).ask().document["verdict"] == "BLOCK"


def test_content_without_the_form_it_needs_is_blocked_and_recorded(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))

    answer = desk.ask(b"no form")

    (event,) = desk.bench.events()
    assert answer.document["verdict"] == event.verdict == "BLOCK"
    assert event.reason == "it has no form"


def test_what_cannot_be_recorded_is_blocked(make: Make) -> None:
    desk = make(policy("a", "Allow", ""))
    desk.bench.logs.write_text("in the way")

    for kind in ("judge", "record"):
        answer = desk.ask(b"text", kind=kind, verdict="ALLOW")
        assert answer.document["verdict"] == "BLOCK"
