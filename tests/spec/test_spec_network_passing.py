"""What HTTP has besides bodies passes as well: trailers, waiting clients, errors.

And no spelling, answer of a name server or redirect leads past a rule about a host.
"""

import socket
import urllib.parse

import pytest
from origins.h2_server import h2_server
from origins.raw_server import raw_server
from proxied import MakeLab, Proxied
from spec.cases import simple

POLICIES = {
    "host": simple("Block", "//127.0.0.1:", context="Network"),
    "word": simple("Block", "bad-word", context="Network"),
}
ROLES = {"no-host": ["host"], "strict": ["word"]}
SETTINGS = {"tls": {"intercept": True}}
SPELLINGS = {
    "itself": "127.0.0.1",
    "name": "localhost",
    "capitals": "LocalHost",
    "with-dot": "localhost.",
    "short": "127.1",
    "decimal": "2130706433",
    "hexadecimal": "0x7f.1",
    "octal": "0177.0.0.1",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_rule_about_an_address_holds_for_all_spellings(
    lab: Proxied, spelling: str
) -> None:
    host = f"{SPELLINGS[spelling]}:{lab.site.ports.plain}"
    head = f"GET http://{host}/text?spelt-{spelling} HTTP/1.1\r\nHost: {host}\r\n"
    auth = "Proxy-Authorization: Basic @AUTH@\r\n\r\n"

    said = lab.agent("no-host").raw((head + auth).encode(), whole=True)

    assert said["data"].split(b" ", 2)[1] in (b"400", b"403", b"502"), said
    assert lab.origin.reached(f"spelt-{spelling}") == []


def test_a_redirect_is_a_request_of_its_own(lab: Proxied) -> None:
    target = urllib.parse.quote(f"{lab.http}/led-there?bad-word")

    outcome = lab.agent("strict").request(
        f"{lab.http}/redirect?to={target}".replace("bad-word", "bad%2Dword"),
        follow=True,
    )

    assert outcome.status == 403
    assert [
        each
        for each in lab.origin.reached("bad-word")
        if each.target.startswith("/led-there")
    ] == []


def test_trailers_of_http2_arrive(lab: Proxied) -> None:
    with h2_server(lab.site.authority.issue()) as server:
        agent = lab.agent("strict")
        headers = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", server.authority),
            (":path", "/"),
            ("te", "trailers"),
        ]
        agent.send("http2", tunnel=server.authority, tls="localhost", headers=headers)

        said = agent.receive()

    assert dict(said["headers"])[":status"] == "200"
    assert dict(said["trailers"]) == {"x-sum": "abc"}


def test_trailers_of_http1_arrive(lab: Proxied) -> None:
    answer = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
        b"5\r\nbody\n\r\n0\r\nX-Sum: abc\r\n\r\n"
    )
    with raw_server(answer) as server:
        said = lab.agent("strict").raw(_get(server.url))

    assert b"body\n" in said["data"]
    assert said["data"].split(b" ", 2)[1] == b"200"


def _get(url: str, *lines: str) -> bytes:
    host = urllib.parse.urlsplit(url).netloc
    head = [f"GET {url}/ HTTP/1.1", f"Host: {host}", *lines]
    head.append("Proxy-Authorization: Basic @AUTH@")
    return "\r\n".join([*head, "", ""]).encode()


def test_a_client_that_waits_for_100_is_told_to_go_on(lab: Proxied) -> None:
    host = f"127.0.0.1:{lab.site.ports.plain}"
    head = (
        f"POST {lab.http}/mirror HTTP/1.1\r\nHost: {host}\r\nExpect: 100-continue\r\n"
        "Content-Length: 5\r\nProxy-Authorization: Basic @AUTH@\r\n\r\n"
    )

    said = lab.agent("strict").raw(head.encode(), silence=1)

    assert said["data"].startswith(b"HTTP/1.1 100"), said


def test_a_body_after_100_is_judged(lab: Proxied) -> None:
    told = {"headers": {"expect": "100-continue"}}

    outcome = lab.agent("strict").post(f"{lab.http}/echo", b"a bad-word", **told)

    assert outcome.blocked_by == "word"


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_origin_that_is_not_there(lab: Proxied, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    outcome = lab.agent("strict").request(f"{scheme}://localhost:{port}/")

    assert outcome.failed or outcome.status == 502, outcome
    assert b"mitmproxy" not in outcome.body
    assert "mitmproxy" not in (outcome.header("server") or "")


ANSWERS = {
    "nothing": b"",
    "junk": b"this is no HTTP\r\n\r\n",
    "cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbad-wo",
    "two-lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"
    ),
    "length-and-chunked": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nsmuggled"
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_broken_answer_is_an_error(lab: Proxied, answer: str) -> None:
    with raw_server(ANSWERS[answer]) as server:
        outcome = lab.agent("strict").request(f"{server.url}/")

    assert outcome.failed or outcome.status >= 500, outcome
    assert b"smuggled" not in outcome.body


def test_an_answer_without_an_end_arrives(lab: Proxied) -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\n\r\nuntil the end") as server:
        outcome = lab.agent("strict").request(f"{server.url}/")

    assert outcome.body == b"until the end"


def test_hosts_with_client_certificates_are_passed_through(make_lab: MakeLab) -> None:
    tls = {"intercept": True, "passthrough_hosts": ["localhost"]}
    lab = make_lab(POLICIES, ROLES, tls=tls)
    authority = lab.site.authority
    certificate = authority.issue("client", client=True)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
    with raw_server(
        answer, certificate=authority.issue(), clients=authority.bundle
    ) as server:
        outcome = lab.agent("strict").request(
            f"{server.url}/", trust=str(authority.bundle), certificate=certificate
        )

    assert outcome.body == b"ok"
