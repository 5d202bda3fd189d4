"""`proxy.provider_hosts`: there the request line is judged, and bodies are not."""

import pytest
from proxied import Proxied
from spec.cases import regex, simple

POLICIES = {
    "out": simple("Block", "outgoing-word", context="Network"),
    "back": simple("Block", "incoming-word", context="Inbound"),
    "line": regex("Block", "(?m)^DELETE ", context="Network"),
}
SETTINGS = {"tls": {"intercept": True}, "proxy": {"provider_hosts": ["localhost"]}}


@pytest.fixture
def provider(lab: Proxied) -> str:
    """The base of addresses at the host that is a provider."""
    return lab.https


@pytest.fixture
def other(lab: Proxied) -> str:
    """The same server, by another name."""
    return f"https://127.0.0.1:{lab.site.ports.secure}"


@pytest.mark.parametrize("version", [1, 2])
def test_the_body_of_a_request_is_not_judged(
    lab: Proxied, provider: str, version: int
) -> None:
    url = f"{provider}/mirror?chat-{version}"

    outcome = lab.agent().post(url, b"outgoing-word", http2=version == 2)

    assert outcome.body == b"outgoing-word"


def test_the_body_of_an_answer_is_not_judged(lab: Proxied, provider: str) -> None:
    path = lab.origin.serve("/completion", b"incoming-word")

    assert lab.agent().request(provider + path).body == b"incoming-word"


def test_an_event_says_so(lab: Proxied, provider: str) -> None:
    lab.agent().post(f"{provider}/mirror?provider-event", b"outgoing-word")

    rows = lab.events("provider-event")
    assert {each["verdict"] for each in rows} == {"ALLOW"}
    assert any("provider" in each["reason"] + each["details"] for each in rows), rows
    assert "outgoing-word" not in str(rows)


def test_the_line_is_judged(lab: Proxied, provider: str) -> None:
    assert lab.agent().request(f"{provider}/v1", "DELETE").blocked_by == "line"
    outcome = lab.agent().request(f"{provider}/echo?outgoing-word")
    assert outcome.blocked_by == "out"


def test_other_hosts_are_judged(lab: Proxied, other: str) -> None:
    path = lab.origin.serve("/no-completion", b"incoming-word")

    assert lab.agent().post(f"{other}/mirror", b"outgoing-word").blocked_by == "out"
    assert lab.agent().request(other + path).blocked_by == "back"


def test_a_host_header_makes_no_provider(lab: Proxied) -> None:
    url = f"{lab.http}/mirror?pretended-provider"

    outcome = lab.agent().post(url, b"outgoing-word", headers={"host": "localhost"})

    assert outcome.status in (400, 403), outcome
    assert lab.origin.reached("pretended-provider") == []
