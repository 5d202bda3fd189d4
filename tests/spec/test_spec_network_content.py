"""What Network policies see of a request: its line, a blank line and its body.

Each row's policy matches nothing but exactly that content.
"""

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from origins.routes import CODINGS
from proxied import Proxied, Site, proxied
from spec.cases import regex, simple


@dataclass(frozen=True)
class Row:
    """A request, and the lines of its content; `BASE` stands for the address."""

    id: str
    line: str
    body: bytes = b""
    told: dict[str, Any] = field(default_factory=dict)
    method: str = "GET"
    secure: bool = False

    @property
    def path(self) -> str:
        return self.line.split(" ")[1].removeprefix("BASE")


def _post(ident: str, body: bytes, sent: bytes | None = None, **told: Any) -> Row:
    line = f"POST BASE/echo?{ident} HTTP/1.1"
    data = {"body": body if sent is None else sent, **told}
    return Row(ident, line, body, data, "POST")


GZIPPED = {"content-encoding": "gzip"}
UTF_16 = {"content-type": "text/plain; charset=utf-16"}
ROWS = [
    Row("get", "GET BASE/text?get HTTP/1.1"),
    Row("query", "GET BASE/text?a=%20b&c=%C3%BC&d=1+2 HTTP/1.1"),
    Row("no-path", "GET BASE/ HTTP/1.1"),
    Row("head", "HEAD BASE/text?head HTTP/1.1", method="HEAD"),
    Row("delete", "DELETE BASE/echo?delete HTTP/1.1", method="DELETE"),
    Row("own-method", "PURGE BASE/echo HTTP/1.1", method="PURGE"),
    Row("tls", "GET BASE/text?tls HTTP/1.1", secure=True),
    _post("text", b"hello"),
    _post("empty", b""),
    _post("lines", b"a\r\nb\n\n\tc\n"),
    _post("json", b'{"a": [1, "x"]}', headers={"content-type": "application/json"}),
    _post("binary", bytes(range(1, 128))),
    _post("gzip", b"zipped", gzip.compress(b"zipped"), headers=GZIPPED),
    _post(
        "stacked",
        b"twice",
        CODINGS["br"](gzip.compress(b"twice")),
        headers={"content-encoding": "gzip, br"},
    ),
    Row(
        "chunked",
        "PUT BASE/echo?chunked HTTP/1.1",
        b"one two",
        {"pieces": [b"one ", b"two"]},
        "PUT",
    ),
    _post("utf-16", "ünï".encode(), "ünï".encode("utf-16"), headers=UTF_16),
]


def _exactly(row: Row, place: Site) -> str:
    base = place.https if row.secure else place.http
    line = row.line.replace("BASE", base)
    return rf"\A{re.escape(line)}\n\n{re.escape(row.body.decode())}\z"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, place: Site) -> Iterator[Proxied]:
    policies = {
        row.id: regex("Block", _exactly(row, place), context="Network") for row in ROWS
    }
    roles = {"form": [*policies], "marked": ["marked"], "connect": ["connect"]}
    policies["marked"] = simple("Block", "marked", context="Network")
    line = re.escape(f"CONNECT localhost:{place.ports.secure} HTTP/1.1")
    policies["connect"] = regex("Block", rf"\A{line}\n*\z", context="Network")
    base = tmp_path_factory.mktemp("lab")
    with proxied(base, place, policies, roles, tls={"intercept": True}) as made:
        yield made


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_the_content_is_exactly(lab: Proxied, row: Row) -> None:
    base = lab.https if row.secure else lab.http

    outcome = lab.agent("form").request(base + row.path, row.method, **row.told)

    if row.method == "HEAD":
        assert (outcome.status, outcome.body) == (403, b"")
    else:
        assert outcome.blocked_by == row.id


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_validate_sees_the_same(lab: Proxied, row: Row) -> None:
    base = lab.https if row.secure else lab.http
    content = f"{row.line.replace('BASE', base)}\n\n".encode() + row.body

    assert lab.home.verdict(content, "form", "Network")["policy"] == row.id


NEAR: dict[str, Callable[[Proxied], tuple[str, str, dict[str, Any]]]] = {
    "another-method": lambda lab: (f"{lab.http}/text?get", "PUT", {}),
    "another-query": lambda lab: (f"{lab.http}/text?got", "GET", {}),
    "another-scheme": lambda lab: (f"{lab.https}/text?get", "GET", {}),
    "another-body": lambda lab: (f"{lab.http}/echo?text", "POST", {"body": b"hellO"}),
}


@pytest.mark.parametrize("near", NEAR)
def test_what_is_nearly_the_same_passes(lab: Proxied, near: str) -> None:
    url, method, told = NEAR[near](lab)

    assert lab.agent("form").request(url, method, **told).status == 200


@pytest.mark.parametrize(
    "told",
    [
        {"headers": {"x-note": "marked"}},
        {"headers": {"user-agent": "marked"}},
        {"headers": {"cookie": "a=marked"}},
        {"headers": {"marked": "1"}},
    ],
    ids=["value", "agent", "cookie", "name"],
)
def test_headers_are_not_seen_by_default(lab: Proxied, told: dict[str, Any]) -> None:
    assert lab.agent("marked").request(f"{lab.http}/text", **told).status == 200


def test_http2_is_named_in_the_line(lab: Proxied) -> None:
    url = f"{lab.https}/echo?second-version"

    outcome = lab.agent("open").post(url, b"body", http2=True)

    assert (outcome.status, outcome.version) == (200, "HTTP/2")
    content = lab.event("second-version")["content"]
    assert re.fullmatch(rf"POST {re.escape(url)} HTTP/2(\.0)?\n\nbody", content)


def test_connect_is_content_of_its_own(lab: Proxied) -> None:
    said = lab.agent("connect").raw(tunnel=f"localhost:{lab.site.ports.secure}")

    assert said["tunnel"].startswith(b"HTTP/1.1 403 ")
    assert b'"connect"' in said["tunnel"]


@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_a_websocket_message_is_a_post_to_its_url(lab: Proxied, kind: str) -> None:
    agent = lab.agent("open")
    url = f"{lab.http.replace('http', 'ws')}/ws?of-{kind}"

    agent.send("websocket", url=url, messages=[{kind: f"message of {kind}".encode()}])

    assert len(agent.receive()["replies"]) == 1
    form = (
        rf"POST (ws|http)://127\.0\.0\.1:\d+/ws\?of-{kind} HTTP/1\.1\n\n"
        f"message of {kind}"
    )
    assert re.fullmatch(form, lab.event(f"message of {kind}")["content"])


def test_a_request_is_an_event_with_its_content(lab: Proxied) -> None:
    url = f"{lab.http}/echo?as-event"

    lab.agent("open").post(url, b"the body")

    event = lab.event("as-event")
    assert event["content"] == f"POST {url} HTTP/1.1\n\nthe body"
    assert (event["verdict"], event["role"]) == ("ALLOW", "open")
    assert event["session"] == lab.agent("open").session


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_response_never_fires_network_policies(lab: Proxied, method: str) -> None:
    path = lab.origin.serve(f"/answers/{method}", b"this is marked")

    outcome = lab.agent("marked").request(lab.http + path, method)

    assert outcome.body == b"this is marked"
