"""What the daemon answers the proxy, question by question."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.question_client import question
from engine_samples import policy, rules
from gate_bench import Bench

from redlane.errors import ContentError, RedlaneError
from redlane.judging.metrics import Metrics
from redlane.judging.proxy_service import ProxyService
from redlane.judging.service import JudgingService
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.model.content import Content, TextContent
from redlane.model.policy import Context, Policy
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.question import (
    Origin,
    Question,
    QuestionError,
    QuestionKind,
    Recorded,
)

TOKENS = ProxyTokens(bytes(32))
Fields = dict[str, Any]


def joined(
    context: Context, data: bytes, texts: Sequence[bytes], problem: str
) -> Content:
    assert problem in ("", "there is more")
    if data == b"no form":
        raise ContentError("it has no form")
    return TextContent(context, b"|".join([data, *texts]))


class Lab:
    """A proxy's service with a session of role `r`."""

    def __init__(self, base: Path, *policies: Policy) -> None:
        self.bench = Bench(base, rules(*policies))
        self.metrics = Metrics()
        self.session = self.bench.sessions.create(role="r")
        self.foreign: set[object] = set()
        self.service = ProxyService(
            JudgingService(self.bench.gate, self.metrics),
            self.bench.gate,
            self.bench.sessions,
            TOKENS,
            joined,
            lambda session, client, connection: (
                (session, client[0], connection) not in self.foreign  # type: ignore[index]  # a list here
            ),
        )

    def ask(self, *blobs: bytes, **fields: object) -> Answer:
        """Ask for a verdict in the session; `fields` are other than usual."""
        asked = question(TOKENS.credential(self.session.id), *blobs)
        return self.put(replace(asked, **fields))  # type: ignore[arg-type]  # a test's

    def put(self, asked: Question) -> Answer:
        """Ask as the server of questions does."""
        session = self.service.session(asked)
        if session is None:
            return self.service.refusal()
        return self.service.answer(asked, session, lambda _: None)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Lab]:
    return lambda *policies: Lab(tmp_path, *policies)


Make = Callable[..., Lab]


def test_a_request_is_judged_by_its_sessions_role(make: Make) -> None:
    lab = make(policy("b", "Block", "bad", reason="it is"))

    answer = lab.ask(b"some bad text", details=("from a client",))

    (event,) = lab.bench.events()
    assert answer == Answer(
        Decision.BLOCK, "policy 'b' blocks this: it is", policy="b", event=event.id
    )
    assert (event.session, event.details) == (lab.session.id, "from a client")
    assert lab.ask(b"some good text").decision == "ALLOW"
    assert any('context="Network"' in line for line in lab.metrics.lines())


def test_who_asks_is_told_by_the_credential_alone(make: Make) -> None:
    lab = make(policy("b", "Block", ""))

    assert lab.ask(kind=QuestionKind.WHO).decision == "ALLOW"
    assert (
        lab.put(replace(question("x"), kind=QuestionKind.WHO)).refused
        is WhyUnjudged.CREDENTIAL
    )
    assert not lab.bench.events()


@pytest.mark.parametrize("action", ["Allow", "Block", "Flag", "Modify"])
def test_a_preview_is_neither_written_down_nor_held_nor_counted(
    make: Make, action: str
) -> None:
    lab = make(policy("p", action, "bad"))

    answer = lab.ask(b"some bad text", kind=QuestionKind.PREVIEW)

    expected = "ALLOW" if action == "Modify" else action.upper()
    assert (answer.decision, answer.event) == (expected, None)
    assert not answer.contents
    assert not lab.bench.events()
    assert not any('context="Network"' in line for line in lab.metrics.lines())


def test_a_preview_of_what_has_no_form_is_a_block(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))
    assert lab.ask(b"no form", kind=QuestionKind.PREVIEW).decision == "BLOCK"


def test_a_rewritten_request_comes_back_as_bytes(make: Make) -> None:
    lab = make(policy("m", "Modify", "bad"))

    answer = lab.ask(b"\x01bad\x00")

    assert (answer.decision, answer.policy) == ("MODIFY", "m")
    assert answer.contents == (b"\x01*\x00",)


def test_further_texts_are_judged_too(make: Make) -> None:
    lab = make(policy("b", "Block", "bad"))
    assert lab.ask(b"good", b"bad", context=Context.INBOUND).policy == "b"


@pytest.mark.parametrize("credential", [None, "", "x"])
def test_without_a_credential_it_is_refused_and_not_recorded(
    make: Make, credential: str | None
) -> None:
    lab = make(policy("a", "Allow", ""))

    answer = lab.put(question(credential, b"text"))

    assert (answer.blocked, answer.refused) == (True, WhyUnjudged.CREDENTIAL)
    assert not lab.bench.events()


def test_the_credential_of_an_ended_session_is_refused(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))
    assert lab.ask(b"text").decision == "ALLOW"

    lab.bench.sessions.end(lab.session.id)

    assert lab.ask(b"text").refused is WhyUnjudged.CREDENTIAL
    assert len(lab.bench.events()) == 1


def test_who_is_not_in_the_session_has_no_use_of_its_credential(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))
    lab.foreign.add((lab.session.id, "127.0.0.1", "c2"))
    asked = question(TOKENS.credential(lab.session.id), b"text")
    elsewhere = Origin(asked.origin.credential, ("127.0.0.1", 43210), "c2")  # type: ignore[union-attr]  # it has one
    assert lab.put(asked).decision == "ALLOW"
    assert lab.put(replace(asked, origin=elsewhere)).refused is WhyUnjudged.CREDENTIAL


def test_a_frozen_session_is_blocked_and_that_is_recorded(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))
    lab.bench.sessions.freeze(lab.session.id)

    for kind in (QuestionKind.JUDGE, QuestionKind.RECORD):
        answer = lab.ask(b"text", kind=kind, recorded=Recorded(Decision.ALLOW, ""))
        assert (answer.decision, answer.refused) == ("BLOCK", None)
    assert {each.verdict for each in lab.bench.events()} == {"BLOCK"}


@pytest.mark.parametrize("verdict", [Decision.ALLOW, Decision.FLAG, Decision.BLOCK])
def test_what_the_settings_decided_is_recorded(make: Make, verdict: Decision) -> None:
    lab = make(policy("b", "Block", "text"))

    recorded = Recorded(verdict, "too\nlarge")
    answer = lab.ask(b"text", kind=QuestionKind.RECORD, recorded=recorded)

    (event,) = lab.bench.events()
    assert (answer.decision, answer.event) == (verdict, event.id)
    assert (event.verdict, event.reason, event.content) == (
        verdict,
        "too large",
        "text",
    )
    assert (event.context, event.role, event.policy) == ("Network", "r", None)


BROKEN: dict[str, Fields] = {
    "context": {"context": Context.SHELL},
    "kind": {"kind": QuestionKind.TOOLS},
    "verdict": {
        "kind": QuestionKind.RECORD,
        "recorded": Recorded(Decision.MODIFY, ""),
    },
    "no-verdict": {"kind": QuestionKind.RECORD},
}


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_what_is_no_question_of_the_proxys_is_refused(
    make: Make, fields: Fields
) -> None:
    lab = make(policy("a", "Allow", ""))
    with pytest.raises(QuestionError):
        lab.ask(b"text", **fields)


def test_content_without_the_form_it_needs_is_blocked_and_recorded(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))

    answer = lab.ask(b"no form")

    (event,) = lab.bench.events()
    assert answer.decision == event.verdict == "BLOCK"
    assert event.reason == "it has no form"


def test_what_cannot_be_recorded_is_blocked(make: Make) -> None:
    lab = make(policy("a", "Allow", ""))
    lab.bench.logs.write_text("in the way")

    assert lab.ask(b"text").blocked
    recorded = Recorded(Decision.ALLOW, "")
    with pytest.raises(RedlaneError):
        lab.ask(b"text", kind=QuestionKind.RECORD, recorded=recorded)
