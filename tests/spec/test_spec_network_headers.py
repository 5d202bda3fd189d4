"""`proxy.scan_headers`: header lines stand between line and body, sorted."""

import re
from typing import Any

import pytest
from proxied import Proxied
from spec.cases import regex, simple

NETWORK = {"context": "Network"}
SORTED = r"(?s)\nx-a: 1\n(.*\n)?x-b: 2\n(.*\n)?x-c: 3\n"
POLICIES = {
    "value": simple("Block", "in-a-value", **NETWORK),
    "sorted": regex("Block", SORTED, **NETWORK),
    "credentials": regex("Block", "(?i)proxy-(authorization|connection)", **NETWORK),
    "agent": regex("Block", "(?m)^user-agent: nosy", **NETWORK),
}
ROLES = {"all": list(POLICIES)}
SETTINGS = {"proxy": {"scan_headers": True}, "tls": {"intercept": True}}
WAYS: dict[str, dict[str, Any]] = {"h1": {}, "tls": {}, "h2": {"http2": True}}


def _get(lab: Proxied, way: str, headers: object) -> Any:
    base = lab.http if way == "h1" else lab.https
    url = f"{base}/text"
    return lab.agent("all").request(url, headers=headers, **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "headers",
    [
        {"x-note": "it is in-a-value"},
        {"cookie": "a=b; c=in-a-value"},
        {"authorization": "Bearer in-a-value"},
        {"referer": "http://in-a-value.example/"},
        {"in-a-value": "it is the name"},
    ],
    ids=["own", "cookie", "authorization", "referer", "name"],
)
def test_a_header_is_judged(lab: Proxied, way: str, headers: dict[str, str]) -> None:
    assert _get(lab, way, headers).blocked_by == "value"


@pytest.mark.parametrize("way", WAYS)
def test_header_lines_are_sorted(lab: Proxied, way: str) -> None:
    outcome = _get(lab, way, {"x-c": "3", "x-a": "1", "x-b": "2"})

    assert outcome.blocked_by == "sorted"


def test_the_case_of_a_name_hides_nothing(lab: Proxied) -> None:
    outcome = _get(lab, "h1", {"User-AGENT": "nosy/1.0"})

    assert outcome.blocked_by == "agent"


@pytest.mark.parametrize("way", WAYS)
def test_the_credentials_of_the_proxy_are_left_out(lab: Proxied, way: str) -> None:
    assert _get(lab, way, {}).status == 200


@pytest.mark.parametrize("way", WAYS)
def test_the_agent_of_the_user_is_a_header(lab: Proxied, way: str) -> None:
    assert _get(lab, way, {"user-agent": "nosy/1.0"}).blocked_by == "agent"


@pytest.mark.parametrize("way", WAYS)
def test_the_credentials_of_the_proxy_go_no_further(lab: Proxied, way: str) -> None:
    base = lab.http if way == "h1" else lab.https

    lab.agent("open").request(f"{base}/text?onward-{way}", **WAYS[way])

    (seen,) = lab.origin.reached(f"onward-{way}")
    assert not {name for name, _ in seen.headers if name.startswith("proxy-")}


def test_the_content_is_line_headers_and_body(lab: Proxied) -> None:
    url = f"{lab.http}/echo?whole-content"

    lab.agent("open").post(url, b"the body", headers={"x-b": "2", "x-a": "1"})

    content = lab.event("whole-content")["content"]
    line, _, rest = content.partition("\n")
    headers, _, body = rest.partition("\n\n")
    lines = headers.split("\n")
    assert line == f"POST {url} HTTP/1.1"
    assert body == "the body"
    assert lines == sorted(lines)
    assert re.search("(?m)^x-a: 1$", headers)


def test_a_header_of_a_split_secret(lab: Proxied) -> None:
    """Two lines of one header are both seen."""
    outcome = _get(lab, "h1", [("x-n", "fine"), ("x-n", "in-a-value")])

    assert outcome.blocked_by == "value"
