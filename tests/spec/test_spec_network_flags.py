"""The yellow lane of requests: held, decided by a person, or timed out."""

import time

import pytest
from proxied import MakeLab, Proxied
from spec.cases import modify, simple
from spec.redlane_home import wait_for

UPPER = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}
POLICIES = {
    "ask": simple("Flag", "odd-thing", context="Network"),
    "ask-first": simple("Flag", "CONNECT ", context="Network"),
    "advise": simple("Flag", "advised", context="Network", suggestion="read the cache"),
    "raise": modify("low", UPPER, context="Network"),
}
ROLES = {
    "asking": ["ask", "raise"],
    "connecting": ["ask-first"],
    "advising": ["advise"],
}
SETTINGS = {"review": {"timeout_seconds": 60}, "tls": {"intercept": True}}


def test_a_flagged_request_waits_and_goes_on(lab: Proxied) -> None:
    agent = lab.agent("asking")
    agent.send(
        "request", url=f"{lab.http}/mirror?goes-on", method="POST", body=b"odd-thing"
    )

    held = lab.held()
    assert lab.origin.reached("goes-on") == []
    lab.decide("allow")

    assert (agent.outcome().body, held["context"]) == (b"odd-thing", "Network")
    assert len(lab.origin.reached("goes-on")) == 1


def test_a_flagged_request_that_is_blocked(lab: Proxied) -> None:
    agent = lab.agent("asking")
    agent.send("request", url=f"{lab.http}/text?odd-thing-blocked")

    lab.decide("block")

    assert agent.outcome().blocked_by == "ask"
    assert lab.origin.reached("odd-thing-blocked") == []


def test_the_refusal_tells_who_decided_why_and_what_to_do_instead(lab: Proxied) -> None:
    agent = lab.agent("advising")
    agent.send("request", url=f"{lab.http}/text?advised")

    lab.decide("block", "--note", "not on a Friday")

    refusal = agent.outcome().json
    assert "blocked by a person: not on a Friday;" in refusal["reason"]
    assert refusal["error"] == f"blocked by Redlane: {refusal['reason']}"
    assert refusal["suggestion"] == "read the cache"


def test_the_reviewer_sees_the_request(lab: Proxied) -> None:
    agent = lab.agent("asking")
    url = f"{lab.http}/echo?shown"
    agent.send("request", url=url, method="POST", body=b"an odd-thing to send")

    shown = lab.home.run("review", "show", str(lab.held()["id"])).out

    assert f"POST {url} HTTP/1.1" in shown
    assert "an odd-thing to send" in shown
    lab.decide("block")
    agent.outcome()


def test_what_is_held_holds_up_nobody_else(lab: Proxied) -> None:
    agent = lab.agent("asking")
    agent.send("request", url=f"{lab.http}/text?odd-thing-first")
    lab.held()

    assert lab.agent("open").request(f"{lab.http}/text").status == 200
    assert lab.new_agent("asking").request(f"{lab.http}/text").status == 200

    lab.decide("block")
    assert agent.outcome().status == 403


def test_a_client_that_hangs_up_takes_the_review_back(lab: Proxied) -> None:
    agent = lab.new_agent("asking")
    agent.send("request", url=f"{lab.http}/text?odd-thing-left")
    lab.held()

    agent.process.kill()

    wait_for(lambda: not lab.home.control.rows("/api/reviews"))
    assert lab.origin.reached("odd-thing-left") == []


def test_an_allowed_request_goes_as_rewritten(lab: Proxied) -> None:
    agent = lab.agent("asking")
    url = f"{lab.http}/mirror"
    agent.send("request", url=url, method="POST", body=b"odd-thing, low")

    lab.decide("allow")

    assert agent.outcome().body == b"odd-thing, HIGH"


def test_a_decision_is_for_one_request(lab: Proxied) -> None:
    agent = lab.agent("asking")
    url = f"{lab.http}/text?odd-thing-twice"
    agent.send("request", url=url)
    lab.decide("allow")
    assert agent.outcome().status == 200

    agent.send("request", url=url)
    lab.decide("block")

    assert agent.outcome().blocked_by == "ask"


@pytest.mark.parametrize("decision", ["allow", "block"])
def test_a_connect_is_held_too(lab: Proxied, decision: str) -> None:
    agent = lab.agent("connecting")
    agent.send("raw", tunnel=f"localhost:{lab.site.ports.secure}")

    lab.decide(decision)

    said = agent.receive()
    assert bool(said["tunnel"]) == (decision == "block")


@pytest.mark.parametrize("action", ["block", "allow"])
def test_nobody_decides(make_lab: MakeLab, action: str) -> None:
    review = {"timeout_seconds": 1, "timeout_action": action}
    lab = make_lab({"ask": POLICIES["ask"]}, review=review)
    started = time.monotonic()

    outcome = lab.agent().request(f"{lab.http}/text?odd-thing-late-{action}")

    assert time.monotonic() - started >= 1
    if action == "allow":
        assert outcome.status == 200
    else:
        assert outcome.blocked_by == "ask"
        assert lab.origin.reached("odd-thing-late-block") == []
