"""Raw bytes against the web server: what two readers may read otherwise is refused."""

import json
from collections.abc import Iterator

import pytest
from hub_web import RunningWeb, served, statuses

from redlane_hub.server.web import HEAD_BYTES

HOST = b"Host: hub\r\n"
GET = b"GET /a HTTP/1.1\r\n" + HOST
POST = b"POST /a HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: hub\r\n\r\n"


@pytest.fixture(scope="module")
def web() -> Iterator[RunningWeb]:
    with served() as running:
        yield running


REFUSED: dict[str, tuple[int, bytes]] = {
    # Where does the request end?
    "length and chunked": (
        400,
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "chunked and length": (
        400,
        POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    ),
    "empty coding and length": (
        400,
        POST + b"Transfer-Encoding:\r\nContent-Length: 5\r\n\r\nhello",
    ),
    "two lengths": (
        400,
        POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    ),
    "one length twice": (
        400,
        POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    ),
    "length list": (400, POST + b"Content-Length: 5, 5\r\n\r\nhello"),
    "length with a sign": (400, POST + b"Content-Length: +5\r\n\r\nhello"),
    "negative length": (400, POST + b"Content-Length: -5\r\n\r\nhello"),
    "hexadecimal length": (400, POST + b"Content-Length: 0x5\r\n\r\nhello"),
    "length with a gap": (400, POST + b"Content-Length: 1_0\r\n\r\nhello"),
    "no length": (400, POST + b"Content-Length:\r\n\r\nhello"),
    "length with other digits": (
        400,
        POST + "Content-Length: \N{ARABIC-INDIC DIGIT FIVE}\r\n\r\nhello".encode(),
    ),
    "length of many digits": (
        413,
        POST + b"Content-Length: " + b"9" * 6000 + b"\r\n\r\nhello",
    ),
    "length over the limit": (413, POST + b"Content-Length: 100002\r\n\r\n"),
    "unknown coding": (501, POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    "gzip": (501, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "identity": (501, POST + b"Transfer-Encoding: identity\r\n\r\n"),
    "quoted coding": (501, POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n'),
    "chunked twice": (
        400,
        POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    ),
    "two codings": (
        400,
        POST
        + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    ),
    "chunked with a comma": (
        400,
        POST + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
    ),
    "chunked with a control character": (
        400,
        POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    ),
    "chunked with next line": (
        501,
        POST + b"Transfer-Encoding: chunked\x85\r\n\r\n0\r\n\r\n",
    ),
    "chunked in 1.0": (
        400,
        b"POST /a HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    # Chunks.
    "size with a sign": (400, CHUNKED + b"\r\n+3\r\nabc\r\n0\r\n\r\n"),
    "size with 0x": (400, CHUNKED + b"\r\n0x3\r\nabc\r\n0\r\n\r\n"),
    "size with a gap": (400, CHUNKED + b"\r\n1_0\r\nabc\r\n0\r\n\r\n"),
    "size with a line feed": (400, CHUNKED + b"\r\n3\n\r\nabc\r\n0\r\n\r\n"),
    "size with a space": (400, CHUNKED + b"\r\n 3\r\nabc\r\n0\r\n\r\n"),
    "size and space": (400, CHUNKED + b"\r\n3 \r\nabc\r\n0\r\n\r\n"),
    "no size": (400, CHUNKED + b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    "huge size": (400, CHUNKED + b"\r\n" + b"F" * 17 + b"\r\nabc"),
    "size over the limit": (413, CHUNKED + b"\r\n20000\r\n" + b"a" * 0x20000),
    "chunk too long": (400, CHUNKED + b"\r\n3\r\nabcd\r\n0\r\n\r\n"),
    "chunk ends with a line feed": (400, CHUNKED + b"\r\n3\r\nabc\n0\r\n\r\n"),
    "extension with a line feed": (400, CHUNKED + b"\r\n3;a\nb\r\nabc\r\n0\r\n\r\n"),
    "extension without an end": (400, CHUNKED + b"\r\n3;" + b"a" * 5000),
    "trailer that is none": (400, CHUNKED + b"\r\n0\r\nGET / HTTP/1.1\r\n\r\n"),
    "trailer without an end": (400, CHUNKED + b"\r\n0\r\n" + b"a: b\r\n" * 5000),
    "tiny chunks": (400, CHUNKED + b"\r\n" + b"1\r\na\r\n" * 3000 + b"0\r\n\r\n"),
    # Where does a line end?
    "line feeds only": (400, b"GET /a HTTP/1.1\nHost: hub\n\n"),
    "one line feed": (400, GET + b"X: a\nY: b\r\n\r\n"),
    "carriage return": (400, GET + b"X: a\rY: b\r\n\r\n"),
    "line feed in the request line": (
        400,
        b"GET /a HTTP/1.1\nX: y\r\n" + HOST + b"\r\n",
    ),
    "folded header": (400, GET + b"X: a\r\n b\r\n\r\n"),
    "folded by a tab": (400, GET + b"X: a\r\n\tb\r\n\r\n"),
    "folded coding": (
        400,
        POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    ),
    "folded first header": (400, b"GET /a HTTP/1.1\r\n X: y\r\n" + HOST + b"\r\n"),
    "NUL in a header": (400, GET + b"X: a\0b\r\n\r\n"),
    "NUL at once": (400, b"\0"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "space before the colon": (400, POST + b"Content-Length : 5\r\n\r\nhello"),
    "no colon": (400, GET + b"nothing\r\n\r\n"),
    "no name": (400, GET + b": a\r\n\r\n"),
    "strange name": (400, GET + b"X(Y): a\r\n\r\n"),
    "space before the request": (400, b" " + GET + b"\r\n"),
    # Whom is it for, and whose is it?
    "no host": (400, b"GET /a HTTP/1.1\r\n\r\n"),
    "empty host": (400, b"GET /a HTTP/1.1\r\nHost:\r\n\r\n"),
    "two hosts": (400, GET + b"Host: other\r\n\r\n"),
    "host twice": (400, GET + HOST + b"\r\n"),
    "host with a path": (400, b"GET /a HTTP/1.1\r\nHost: hub/x\r\n\r\n"),
    "host with a user": (400, b"GET /a HTTP/1.1\r\nHost: a@hub\r\n\r\n"),
    "two hosts in one": (400, b"GET /a HTTP/1.1\r\nHost: hub, other\r\n\r\n"),
    "other host in the target": (
        400,
        b"GET http://other/a HTTP/1.1\r\n" + HOST + b"\r\n",
    ),
    "user in the target": (400, b"GET http://a@hub/a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "target with a scheme": (400, b"GET ftp://hub/a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "two tokens": (
        400,
        GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    ),
    "one token twice": (
        400,
        GET + b"Authorization: Bearer a\r\nauthorization: Bearer a\r\n\r\n",
    ),
    "two types": (
        400,
        POST + b"Content-Type: text/plain\r\nContent-Type: application/json\r\n\r\n",
    ),
    "two origins": (400, GET + b"Origin: https://a\r\nOrigin: https://b\r\n\r\n"),
    # What is asked for?
    "authority": (400, b"CONNECT hub:80 HTTP/1.1\r\n" + HOST + b"\r\n"),
    "star": (400, b"GET * HTTP/1.1\r\n" + HOST + b"\r\n"),
    "no slash": (400, b"GET a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "fragment": (400, b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n"),
    "raw NUL in the path": (400, b"GET /a\0b HTTP/1.1\r\n" + HOST + b"\r\n"),
    "raw UTF-8 in the target": (400, "GET /ä HTTP/1.1\r\n".encode() + HOST + b"\r\n"),
    "two spaces": (400, b"GET  /a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "tab": (400, b"GET\t/a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "space in the target": (400, b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n"),
    "no version": (400, b"GET /a\r\n" + HOST + b"\r\n"),
    "version of the web": (400, b"GET /a HTTP/1.1.1\r\n" + HOST + b"\r\n"),
    "small letters": (400, b"get /a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "strange method": (400, b"G(T /a HTTP/1.1\r\n" + HOST + b"\r\n"),
    "version 2": (505, b"PRI /a HTTP/2.0\r\n" + HOST + b"\r\n"),
    "version 0.9": (505, b"GET /a HTTP/0.9\r\n" + HOST + b"\r\n"),
    "expectation": (417, POST + b"Expect: a miracle\r\n\r\n"),
    "long header": (431, GET + b"X: " + b"a" * HEAD_BYTES + b"\r\n\r\n"),
    "very long header": (431, GET + b"X: " + b"a" * 300_000),
    "long target": (431, b"GET /" + b"a" * HEAD_BYTES),
    "many headers": (431, GET + b"X: a\r\n" * HEAD_BYTES + b"\r\n"),
}


@pytest.mark.parametrize(("status", "sent"), REFUSED.values(), ids=REFUSED)
def test_ambiguous_request_is_refused_and_ends_the_connection(
    web: RunningWeb, status: int, sent: bytes
) -> None:
    web.recorder.seen.clear()
    head, body = web.ask(sent + HIDDEN).split(b"\r\n\r\n", 1)
    assert statuses(head) == [status]
    assert set(json.loads(body)) == {"error"}
    assert b"Content-Type: application/json" in head
    assert b"Connection: close" in head
    assert web.recorder.seen == []


@pytest.mark.parametrize(
    "sent",
    [GET + b"X: a\nY: b\r\n\r\n", CHUNKED + b"\r\n3\r\nabcdef\r\n0\r\n\r\n"],
    ids=["head", "chunk"],
)
def test_a_refusal_is_the_same_however_the_bytes_arrive(
    web: RunningWeb, sent: bytes
) -> None:
    with web.connect() as connection:
        for place in range(len(sent)):
            try:
                connection.sendall(sent[place : place + 1])
            except OSError:
                break
        assert statuses(connection.recv(65536)) == [400]


@pytest.mark.parametrize("count", [1, 2, 7, 64, 10_000])
def test_what_stands_before_a_refused_request_is_answered(
    web: RunningWeb, count: int
) -> None:
    refused = b"GET /x HTTP/1.1\r\n\r\n"
    count = min(count, 8000 // len(GET))
    answer = web.ask((GET + b"\r\n") * count + refused + HIDDEN)
    assert statuses(answer) == [200] * count + [400]


ACCEPTED: dict[str, tuple[bytes, list[tuple[str, str, bytes]]]] = {
    "plain": (GET + b"\r\n", [("GET", "/a", b"")]),
    "empty lines before": (b"\r\n\r\n\r\n" + GET + b"\r\n", [("GET", "/a", b"")]),
    "body": (POST + b"Content-Length: 5\r\n\r\nhello", [("POST", "/a", b"hello")]),
    "chunks": (
        CHUNKED + b"\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nX: y\r\n\r\n",
        [("POST", "/a", b"hello")],
    ),
    "no chunks": (CHUNKED + b"\r\n0\r\n\r\n", [("POST", "/a", b"")]),
    "chunked in capitals": (
        POST + b"Transfer-Encoding: CHUNKED\r\n\r\n1\r\na\r\n0\r\n\r\n",
        [("POST", "/a", b"a")],
    ),
    "absolute target": (
        b"GET http://HUB/a?b=c HTTP/1.1\r\n" + HOST + b"\r\n",
        [("GET", "/a", b"")],
    ),
    "encoded path": (
        b"GET /%C3%A4 HTTP/1.1\r\n" + HOST + b"\r\n",
        [("GET", "/ä", b"")],
    ),
    "one of each": (
        POST + b"Content-Length: 1\r\n\r\nx" + CHUNKED + b"\r\n1\r\ny\r\n0\r\n\r\n",
        [("POST", "/a", b"x"), ("POST", "/a", b"y")],
    ),
    "largest body": (
        POST + b"Content-Length: 100001\r\n\r\n" + b"a" * 100_001,
        [("POST", "/a", b"a" * 100_001)],
    ),
}


@pytest.mark.parametrize(("sent", "seen"), ACCEPTED.values(), ids=ACCEPTED)
@pytest.mark.parametrize("pieces", [1, 3])
def test_whole_request_is_served(
    web: RunningWeb, sent: bytes, seen: list[tuple[str, str, bytes]], pieces: int
) -> None:
    web.recorder.seen.clear()
    sent += b"GET /last HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"
    size = -(-len(sent) // pieces)
    with web.connect() as connection:
        for place in range(0, len(sent), size):
            connection.sendall(sent[place : place + size])
        while connection.recv(65536):
            pass
    paths = [(m, p.encode("latin-1").decode(), b) for m, p, b in web.recorder.seen]
    assert paths == [*seen, ("GET", "/last", b"")]


def test_old_client_needs_no_host(web: RunningWeb) -> None:
    assert statuses(web.ask(b"GET /a HTTP/1.0\r\n\r\n")) == [200]


def test_client_that_waits_is_told_to_continue(web: RunningWeb) -> None:
    with web.connect() as connection:
        connection.sendall(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"ok")
        assert statuses(connection.recv(65536)) == [200]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (POST + b"Content-Length: 0\r\nExpect: 100-continue\r\n\r\n", 200),
        (POST + b"Content-Length: 100002\r\nExpect: 100-continue\r\n\r\n", 413),
        (GET + b"Expect: 100-continue\r\n\r\n", 200),
    ],
    ids=["nothing", "too much", "no body"],
)
def test_client_that_waits_without_need_is_answered(
    web: RunningWeb, sent: bytes, status: int
) -> None:
    with web.connect() as connection:
        connection.sendall(sent)
        assert statuses(connection.recv(65536)) == [status]


def test_client_that_sends_on_can_read_why_it_was_refused(web: RunningWeb) -> None:
    with web.connect() as connection:
        connection.sendall(POST + b"Content-Length: 3000000\r\n\r\n")
        for _ in range(30):
            connection.sendall(b"a" * 100_000)
        assert statuses(connection.recv(65536)) == [413]


def test_answer_without_body_keeps_the_connection() -> None:
    def empty(_environ: object, start_response: object) -> list[bytes]:
        start_response("204 No Content", [])  # type: ignore[operator]  # WSGI's
        return []

    with served(empty) as running, running.connect() as connection:
        for _ in range(2):
            connection.sendall(GET + b"\r\n")
            answer = connection.recv(65536)
            assert statuses(answer) == [204]
            assert b"Connection" not in answer
