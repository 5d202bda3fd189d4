"""What clients may send to the front, and what is refused before anything else."""

import base64
import json
import socket
from collections.abc import Iterator

import pytest
from spec.redlane_home import Home
from system.mcp_client import call, request
from system.mcp_front import Front, Server, serving

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
VERSION = "io.modelcontextprotocol/protocolVersion"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def front(shared: Home, server: Server) -> Iterator[Front]:
    with Front(shared, server.url) as made:
        yield made


def raw(
    front: Front, *lines: str, body: bytes = PING, first: str = "", last: bool = True
) -> bytes:
    """A request by hand; `HOST` stands for what it is."""
    head = [first or "POST /mcp HTTP/1.1", *lines]
    if last and not any(each.startswith("Connection") for each in lines):
        head.append("Connection: close")
    text = "\r\n".join((*head, "", "")).replace("HOST", f"127.0.0.1:{front.port}")
    return text.encode("latin-1") + body


GOOD = ("Host: HOST", "Content-Type: application/json", f"Content-Length: {len(PING)}")
PLAIN = GOOD[:2]


def status(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer.split()[1])


def test_the_request_that_the_others_differ_from_is_served(front: Front) -> None:
    assert status(front.raw(raw(front, *GOOD))) == 200


REFUSED = {
    "both-lengths": (400, (*GOOD, "Transfer-Encoding: chunked")),
    "two-lengths": (400, (*GOOD, "Content-Length: 3")),
    "two-like-lengths": (400, (*GOOD, f"Content-Length: {len(PING)}")),
    "length-list": (400, (*PLAIN, f"Content-Length: {len(PING)}, {len(PING)}")),
    "length-plus": (400, (*PLAIN, f"Content-Length: +{len(PING)}")),
    "length-minus": (400, (*PLAIN, "Content-Length: -1")),
    "length-hex": (400, (*PLAIN, "Content-Length: 0x20")),
    "length-underscore": (400, (*PLAIN, f"Content_Length: {len(PING)}")),
    "other-coding": (501, (*PLAIN, "Transfer-Encoding: gzip, chunked")),
    "chunked-twice": (400, (*PLAIN, *("Transfer-Encoding: chunked",) * 2)),
    "chunked-list": (501, (*PLAIN, "Transfer-Encoding: chunked, chunked")),
    "chunked-hidden": (400, (*PLAIN, "Transfer-Encoding: \x0bchunked")),
    "folded": (400, (*GOOD, "X-A: b", " c: d")),
    "folded-first": (400, (" X: y", *GOOD)),
    "space-before-colon": (400, (*GOOD, "X-A : b")),
    "no-colon": (400, (*GOOD, "X-A")),
    "nul": (400, (*GOOD, "X-A: \x00")),
    "bare-feed": (400, (*GOOD, "X-A: b\nX-B: c")),
    "bare-return": (400, (*GOOD, "X-A: b\rX-B: c")),
    "no-host": (400, GOOD[1:]),
    "two-hosts": (400, (*GOOD, "Host: HOST")),
    "foreign-host": (403, ("Host: evil.example", *GOOD[1:])),
    "other-port": (403, ("Host: 127.0.0.1:1", *GOOD[1:])),
    "host-with-user": (403, ("Host: localhost@HOST", *GOOD[1:])),
    "rebound-name": (403, ("Host: localhost.evil.example", *GOOD[1:])),
    "no-loopback": (403, ("Host: 192.168.0.1", *GOOD[1:])),
    "foreign-origin": (403, (*GOOD, "Origin: https://evil.example")),
    "opaque-origin": (403, (*GOOD, "Origin: null")),
    "origin-of-a-file": (403, (*GOOD, "Origin: file://")),
    "empty-origin": (403, (*GOOD, "Origin: ")),
    "page-elsewhere": (403, (*GOOD, "Sec-Fetch-Site: cross-site")),
    "two-origins": (400, (*GOOD, *("Origin: http://localhost",) * 2)),
    "form": (415, ("Host: HOST", "Content-Type: text/plain", GOOD[2])),
    "no-type": (415, ("Host: HOST", GOOD[2])),
    "wide": (
        415,
        ("Host: HOST", "Content-Type: application/json; charset=utf-16", GOOD[2]),
    ),
    "two-types": (400, (*GOOD, "Content-Type: application/json")),
    "encoded": (415, (*GOOD, "Content-Encoding: gzip")),
    "expects": (417, (*GOOD, "Expect: the-unexpected")),
    "connection-takes-out": (400, (*GOOD, "Connection: close, mcp-session-id")),
    "two-sessions": (400, (*GOOD, *("Mcp-Session-Id: a",) * 2)),
    "many-fields": (400, (*GOOD, *(f"X-{n}: y" for n in range(200)))),
    "long-head": (431, (*GOOD, "X-A: " + "b" * 40_000)),
}


@pytest.mark.parametrize(("wanted", "lines"), REFUSED.values(), ids=REFUSED)
def test_what_two_could_read_in_two_ways_is_refused(
    front: Front, server: Server, wanted: int, lines: tuple[str, ...]
) -> None:
    before = len(server.requests)

    answer = front.raw(raw(front, *lines))

    assert status(answer) == wanted
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b'"error"' in answer
    assert len(server.requests) == before


LINES = {
    "old": (505, "POST /mcp HTTP/1.0"),
    "older": (400, "POST /mcp"),
    "lower": (400, "post /mcp HTTP/1.1"),
    "whole-url": (400, "POST http://127.0.0.1/mcp HTTP/1.1"),
    "authority": (400, "CONNECT 127.0.0.1:80 HTTP/1.1"),
    "two-spaces": (400, "POST  /mcp HTTP/1.1"),
    "tab": (400, "POST\t/mcp HTTP/1.1"),
    "elsewhere": (404, "POST /mcp/ HTTP/1.1"),
    "above": (404, "POST /x/../mcp HTTP/1.1"),
    "spelt-otherwise": (404, "POST /%6dcp HTTP/1.1"),
    "other-query": (404, "POST /mcp?x=y HTTP/1.1"),
    "no-session": (404, "POST /messages/x HTTP/1.1"),
    "well-known": (404, "GET /.well-known/oauth-protected-resource HTTP/1.1"),
    "options": (405, "OPTIONS /mcp HTTP/1.1"),
    "put": (405, "PUT /mcp HTTP/1.1"),
    "head": (405, "HEAD /mcp HTTP/1.1"),
}


@pytest.mark.parametrize(("wanted", "first"), LINES.values(), ids=LINES)
def test_other_requests_are_refused(
    front: Front, server: Server, wanted: int, first: str
) -> None:
    before = len(server.requests)

    assert status(front.raw(raw(front, *GOOD, first=first))) == wanted
    assert len(server.requests) == before


CHUNKS = {
    "good": (200, b"5\r\n" + PING[:5] + b"\r\n23\r\n" + PING[5:] + b"\r\n0\r\n\r\n"),
    "extension": (200, b"28;a=b\r\n" + PING + b"\r\n0\r\n\r\n"),
    "trailer": (200, b"28\r\n" + PING + b"\r\n0\r\nMcp-Name: x\r\n\r\n"),
    "bare-feed": (400, b"28\n" + PING + b"\r\n0\r\n\r\n"),
    "no-end": (400, b"28\r\n" + PING + b"XX0\r\n\r\n"),
    "hex-prefix": (400, b"0x28\r\n" + PING + b"\r\n0\r\n\r\n"),
    "negative": (400, b"-28\r\n" + PING + b"\r\n0\r\n\r\n"),
    "space": (400, b" 28\r\n" + PING + b"\r\n0\r\n\r\n"),
    "underscore": (400, b"2_8\r\n" + PING + b"\r\n0\r\n\r\n"),
}


@pytest.mark.parametrize(("wanted", "body"), CHUNKS.values(), ids=CHUNKS)
def test_chunks_are_read_strictly(
    front: Front, server: Server, wanted: int, body: bytes
) -> None:
    lines = (*PLAIN, "Transfer-Encoding: chunked", "Connection: close")
    before = len(server.requests)

    assert status(front.raw(raw(front, *lines, body=body))) == wanted
    # What goes on is whole, and framed anew.
    new = server.requests[before:]
    assert [each.body for each in new] == ([PING] if wanted == 200 else [])
    assert all("Transfer-Encoding" not in each.headers for each in new)


BODIES = {
    "empty": b"",
    "no-json": b"garbage",
    "half": PING[:-1],
    "key-twice": b'{"id":1,"method":"ping","method":"tools/call"}',
    "key-twice-inside": b'{"id":1,"method":"m","params":{"name":"a","name":"b"}}',
    "other-case": b'{"id":1,"method":"ping","METHOD":"tools/call"}',
    "utf-16": PING.decode().encode("utf-16"),
    "mark": b"\xef\xbb\xbf" + PING,
    "two": PING + PING,
    "lines": PING + b"\n" + PING,
    "nested": b"[[" + PING + b"]]",
    "deep": b'{"id":1,"method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}",
    "not-a-number": b'{"id":1,"method":"m","params":{"a":NaN}}',
    "long-batch": b"[" + b",".join([PING] * 1001) + b"]",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_is_no_message_is_refused(
    front: Front, server: Server, body: bytes
) -> None:
    before = len(server.requests)

    answer = front.ask(body)

    assert answer.status == 400
    assert answer.json["error"]["code"] == -32700
    assert len(server.requests) == before
    assert front.ask(PING).status == 200  # nobody else is disturbed


def wrapped(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


ECHO = call(1, "echo", text="a ü", n=7, yes=True)
MODERN = request(1, "server/discover", _meta={VERSION: "2026-07-28"})
AGREEING = {
    "method": (ECHO, {"Mcp_Method": "tools/call"}),
    "name": (ECHO, {"Mcp_Method": "tools/call", "Mcp_Name": "echo"}),
    "wrapped-name": (ECHO, {"Mcp_Name": wrapped("echo")}),
    "uri": (request(1, "resources/read", uri="a://b"), {"Mcp_Name": "a://b"}),
    "version": (MODERN, {"MCP_Protocol_Version": "2026-07-28"}),
    "version-alone": (ECHO, {"MCP_Protocol_Version": "2025-06-18"}),
    "batch-version": ([ECHO], {"MCP_Protocol_Version": "2025-03-26"}),
    "argument": (ECHO, {"Mcp_Param_T": wrapped("a ü"), "Mcp_Param_Yes": "true"}),
    "number": (ECHO, {"Mcp_Param_N": "7"}),
}
DIFFERING = {
    "method": (ECHO, {"Mcp_Method": "ping"}),
    "method-case": (ECHO, {"Mcp_Method": "Tools/Call"}),
    "name": (ECHO, {"Mcp_Method": "tools/call", "Mcp_Name": "other"}),
    "no-name": (ECHO, {"Mcp_Name": ""}),
    "bad-wrap": (ECHO, {"Mcp_Name": "=?base64?%%?="}),
    "uri": (request(1, "resources/read", uri="a://b"), {"Mcp_Name": "a://c"}),
    "version": (MODERN, {"MCP_Protocol_Version": "2025-11-25"}),
    "batch-method": ([ECHO], {"Mcp_Method": "tools/call"}),
    "answer": ({"id": 1, "result": {}}, {"Mcp_Method": "tools/call"}),
    "argument": (ECHO, {"Mcp_Param_T": "rm -rf"}),
    "number": (ECHO, {"Mcp_Param_N": "8"}),
}


@pytest.mark.parametrize(("message", "fields"), AGREEING.values(), ids=AGREEING)
def test_fields_that_say_what_the_body_says_pass(
    front: Front, server: Server, message: object, fields: dict[str, str]
) -> None:
    assert front.ask(message, **fields).status == 200
    for name, value in fields.items():
        assert server.requests[-1].headers[name.replace("_", "-")] == value


@pytest.mark.parametrize(("message", "fields"), DIFFERING.values(), ids=DIFFERING)
def test_fields_that_say_another_than_the_body_are_refused(
    front: Front, server: Server, message: object, fields: dict[str, str]
) -> None:
    before = len(server.requests)

    answer = front.ask(message, **fields)

    assert (answer.status, answer.json["error"]["code"]) == (400, -32020)
    assert len(server.requests) == before


def test_a_field_follows_the_argument_that_is_rewritten(
    front: Front, server: Server
) -> None:
    drink = call(1, "echo", drink="beer ü", n=1)
    fields = {"Mcp_Param_Drink": wrapped("beer ü"), "Mcp_Param_N": "1"}
    front.ask(drink, **fields)

    sent = server.requests[-1]
    assert sent.headers["Mcp-Param-Drink"] == wrapped("tea ü")
    assert sent.headers["Mcp-Param-N"] == "1"
    assert sent.message["params"]["arguments"]["drink"] == "tea ü"


def test_fields_pass_as_they_came_but_those_of_the_connection(
    front: Front, server: Server
) -> None:
    kept = {
        "AuthORIZation": "Bearer  a.b",
        "X-Unknown": 'ü"; q=1',
        "Last-Event-ID": "e 1",
        "Accept": "application/json, text/event-stream",
    }
    dropped = {
        "Proxy-Authorization": "Basic x",
        "TE": "trailers",
        "Upgrade": "h2c",
        "Keep-Alive": "timeout=5",
        "Connection": "close, upgrade",
        "Accept-Encoding": "gzip",
    }
    lines = [f"{name}: {value}" for name, value in (kept | dropped).items()]
    assert status(front.raw(raw(front, *GOOD, *lines))) == 200

    sent = server.requests[-1].headers
    assert {name: sent[name] for name in kept} == kept
    assert "AuthORIZation" in list(sent)
    assert sent["Accept-Encoding"] == "identity"
    assert sent["Host"] == f"127.0.0.1:{server.server_port}"
    assert not set(sent) & (dropped.keys() - {"Accept-Encoding"})


def test_requests_on_one_connection_are_answered_in_turn(front: Front) -> None:
    one = raw(front, *GOOD, last=False)
    two = raw(front, *GOOD, body=PING.replace(b"1,", b"2,"))

    answer = front.raw(one + two)

    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert answer.index(b'"id": 1') < answer.index(b'"id": 2')


def test_a_client_may_wait_to_be_told_to_go_on(front: Front) -> None:
    lines = (*GOOD, "Expect: 100-continue", "Connection: close")
    with socket.create_connection(("127.0.0.1", front.port), 20) as connection:
        connection.sendall(raw(front, *lines, body=b""))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(PING)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_loopback_has_several_names(front: Front, host: str) -> None:
    lines = (f"Host: {host}:{front.port}", *GOOD[1:], f"Origin: http://{host}:5173")

    assert status(front.raw(raw(front, *lines))) == 200


def test_a_body_may_be_large_and_no_larger(front: Front, server: Server) -> None:
    before = len(server.requests)
    lines = (*PLAIN, f"Content-Length: {33 * 1024 * 1024}")

    assert status(front.raw(raw(front, *lines))) == 413
    assert len(server.requests) == before
    large = request(1, "x", text="x" * 8_000_000)
    assert json.loads(front.ask(large).body)["id"] == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--listen", "0.0.0.0:0"), "loopback only"),
        (("--listen", "192.168.1.1:80"), "loopback only"),
        (("--listen", "[::]:0"), "loopback only"),
        (("--listen", "evil.example:1"), "loopback only"),
        (("--listen", "1234"), "127.0.0.1:8931"),
        (("--listen", "127.0.0.1:99999"), "--listen"),
        (("--url", "ftp://x/"), "http://"),
        (("--url", "http:///x"), "http://"),
        (("--url", "http://u:p@x/"), "credentials"),
        (("--url", "http://x/", "--", "server"), "COMMAND"),
        (("--name", "a\nb"), "printed"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    home: Home, options: tuple[str, ...], why: str
) -> None:
    ran = home.run("mcp", "--url", "http://127.0.0.1:1/mcp", *options)

    assert ran.code == 2
    assert why in ran.refusal
