"""Hostile servers and clients of a front: all ends clearly, and is judged."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import in_background, wait_until_held
from system.mcp_client import call, request
from system.mcp_front import Front, Serving, event, serving

NOT_JUDGED = -32011


def result(id_: object, **content: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": content}


def memory_of(pid: int) -> int:
    """The most memory that a process has had, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    most = next(each for each in lines if each.startswith("VmHWM"))
    return int(most.split()[1]) // 1024


def by_hand(*pieces: bytes, hang: bool = False) -> Callable[[Serving], None]:
    """A server that writes these bytes, and hangs up or does nothing more."""

    def answer(it: Serving) -> None:
        it.close_connection = True
        with suppress(OSError):
            for piece in pieces:
                it.wfile.write(piece)
            it.wfile.flush()
            if hang:
                it.connection.recv(1)

    return answer


TYPE = "application/json"
ECHOED = {"content": [{"type": "text", "text": "{}"}], "structuredContent": {}}
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
GOOD = json.dumps(result(1)).encode()
WRONG = {
    "nothing": by_hand(),
    "garbage": by_hand(b"rm -rf\r\n\r\n"),
    "half-a-head": by_hand(b"HTTP/1.1 200 OK\r\nContent-"),
    "half-a-body": by_hand(JSON + b"Content-Length: 1000\r\n\r\n" + GOOD),
    "half-a-chunk": by_hand(JSON + b"Transfer-Encoding: chunked\r\n\r\n64\r\n" + GOOD),
    "no-chunk": by_hand(JSON + b"Transfer-Encoding: chunked\r\n\r\nrm -rf\r\n"),
    "many-fields": by_hand(JSON + b"X: y\r\n" * 1_000 + b"\r\n"),
    "long-field": by_hand(JSON + b"X: " + b"y" * 100_000 + b"\r\n\r\n"),
    "no-json": lambda it: it.json(b"rm -rf"),
    "half-json": lambda it: it.json(GOOD[:-2]),
    "key-twice": lambda it: it.json(b'{"id":1,"result":{"a":"b","a":"rm -rf"}}'),
    "two-messages": lambda it: it.json(GOOD + GOOD),
    "empty": lambda it: it.json(b""),
    "another-id": lambda it: it.json(result(2, text="rm -rf")),
    "text-id": lambda it: it.json(result("1", text="rm -rf")),
    "text": lambda it: it.say(200, b"rm -rf", Content_Type="text/plain"),
    "page": lambda it: it.say(200, b"<p>rm -rf", Content_Type="text/html"),
    "no-type": lambda it: it.say(200, GOOD),
    "wide": lambda it: it.json(GOOD, Content_Type="application/json; charset=utf-16"),
    "packed": lambda it: it.json(GOOD, Content_Encoding="gzip"),
    "redirect": lambda it: it.say(307, b"", Location="http://127.0.0.1:1/other"),
    "moved": lambda it: it.say(301, GOOD, Location="/mcp", Content_Type=TYPE),
    "switch": by_hand(b"HTTP/1.1 101 Switching\r\nUpgrade: rm\r\n\r\n" + GOOD),
}  # fmt: skip


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG)
def test_what_is_no_answer_is_an_error(
    shared: Home, answer: Callable[[Serving], None]
) -> None:
    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(call(1, "a"))
        server.answer = lambda it: it.json(result(it.message["id"]))
        assert front.ask(call(2, "a")).json == result(2)

    assert got.status == 502
    assert (got.json["id"], got.json["error"]["code"]) == (1, NOT_JUDGED)
    assert got.json["error"]["message"].count("MCP server notes ") == 1
    assert b"rm -rf" not in got.body


def streamed(*pieces: bytes, ends: bool = True) -> Callable[[Serving], None]:
    def answer(it: Serving) -> None:
        it.begin()
        for piece in pieces:
            it.write(piece)
        if ends:
            it.end()
        else:
            it.cut()

    return answer


STREAMS = {
    "nothing": streamed(),
    "hung-up": streamed(ends=False),
    "half-an-event": streamed(event(result(1, text="rm -rf"))[:-2]),
    "half-a-message": streamed(event('{"id":1,"result":')),
    "key-twice": streamed(event('{"id":1,"result":{"a":1,"a":"rm -rf"}}')),
    "another-id": streamed(event(result(2, text="rm -rf"))),
    "text": streamed(event("rm -rf")),
    "other-event": streamed(event(result(1, text="rm -rf"), event="other")),
    "endpoint": streamed(event("/rm -rf", event="endpoint")),
    "bad-id": streamed("id: é\ndata: {}\n\n".encode()),
}


@pytest.mark.parametrize("answer", STREAMS.values(), ids=STREAMS)
def test_a_stream_without_an_answer_says_so(
    shared: Home, answer: Callable[[Serving], None]
) -> None:
    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(call(1, "a"))

    assert [each["id"] for each in got.messages] == [1]
    assert got.messages[0]["error"]["code"] == NOT_JUDGED
    assert b"rm -rf" not in got.body


def test_a_server_that_is_not_there_is_an_error(shared: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with Front(shared, url) as front:
            got = front.ask(call("x", "a"))

    assert (got.status, got.json["id"]) == (502, "x")
    assert "refused" in got.json["error"]["message"]


def test_a_certificate_must_be_vouched_for(
    shared: Home, tls_server: str, tmp_path: Path
) -> None:
    with Front(shared, tls_server) as front:
        got = front.ask(call(1, "a"))
    trusting = {"SSL_CERT_FILE": str(tmp_path / "only.pem")}
    with Front(shared, tls_server, env=trusting) as front:
        assert front.ask(call(1, "a")).json == result(1, **ECHOED)
    elsewhere = tls_server.replace("127.0.0.1", "localhost")
    with Front(shared, elsewhere, env=trusting) as front:
        other = front.ask(call(1, "a"))

    for each in (got, other):
        assert each.status == 502
        assert "certificate is not trusted" in each.json["error"]["message"]


def test_the_proxy_of_the_environment_is_followed(shared: Home) -> None:
    with serving() as proxy:
        way = f"http://someone:a%20b@127.0.0.1:{proxy.server_port}"
        env = {"HTTP_PROXY": way, "http_proxy": way, "NO_PROXY": "", "no_proxy": ""}
        with Front(shared, "http://elsewhere.example/mcp", env=env) as front:
            got = front.ask(call(1, "a"), Proxy_Authorization="Basic of-the-client")

    (asked,) = proxy.requests
    assert got.json["id"] == 1
    assert asked.path == "http://elsewhere.example/mcp"
    assert asked.headers["Host"] == "elsewhere.example"
    assert asked.headers["Proxy-Authorization"] == "Basic c29tZW9uZTphIGI="


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[str]:
    """A server whose certificate it has signed itself."""
    import ssl  # noqa: PLC0415  # for this alone
    import subprocess  # noqa: PLC0415  # as above

    pair = tmp_path / "pair.pem"
    made = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    out = ("-keyout", pair, "-out", tmp_path / "only.pem")
    subprocess.run(
        ["openssl", "req", *made, *subject, *out], check=True, capture_output=True
    )
    with pair.open("ab") as file:
        file.write((tmp_path / "only.pem").read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    with serving() as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        yield f"https://127.0.0.1:{server.server_port}/mcp"


def test_a_flood_of_what_is_no_message_ends_the_stream(shared: Home) -> None:
    def answer(it: Serving) -> None:
        it.begin()
        with suppress(OSError):
            while True:
                it.write(event("flood") * 100)

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(call(1, "a"))
        status, said = front.end()

    assert "too many" in got.messages[-1]["error"]["message"]
    assert status == 0
    assert said.count("\n") == 1


ENDLESS = {
    "event": (b"Content-Type: text/event-stream\r\n", b"data: " + b"x" * 65_000),
    "lines": (b"Content-Type: text/event-stream\r\n", b"data:\n" * 10_000),
    "fields": (b"Content-Type: text/event-stream\r\n", b"x:y\n" * 10_000 + b"z" * 9),
    "json": (b"Content-Type: application/json\r\n", b"[" * 65_000),
    "text": (b"Content-Type: text/plain\r\n", b"x" * 65_000),
}


@pytest.mark.parametrize(("kind", "piece"), ENDLESS.values(), ids=ENDLESS)
def test_what_has_no_end_is_given_one(shared: Home, kind: bytes, piece: bytes) -> None:
    def answer(it: Serving) -> None:
        it.close_connection = True
        with suppress(OSError):
            it.wfile.write(b"HTTP/1.1 200 OK\r\n" + kind + b"\r\n")
            for _ in range(4_000):
                it.wfile.write(piece)

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(call(1, "a"))
        most = memory_of(front.process.pid)
        is_json = got.headers["Content-Type"] == "application/json"
        assert "error" in (got.json if is_json else got.messages[-1])

    assert most < 300


def test_a_client_that_does_not_read_holds_the_server_up(shared: Home) -> None:
    written = threading.Event()

    def answer(it: Serving) -> None:
        if it.message["id"] != 1:
            it.json(result(it.message["id"]))
            return
        it.connection.settimeout(1)
        it.begin()
        note = event({"method": "n", "params": {"n": [7] * 20_000}})
        with suppress(OSError):
            for _ in range(4_000):
                it.write(note)
        written.set()

    with (
        serving(answer) as server,
        Front(shared, server.url) as front,
        front.open(call(1, "a")),
    ):
        assert written.wait(30)
        assert memory_of(front.process.pid) < 200
        assert front.ask(call(2, "a")).status == 200


def test_there_is_an_end_to_connections(shared: Home) -> None:
    with serving() as server, Front(shared, server.url) as front, ExitStack() as many:
        for _ in range(200):
            place = ("127.0.0.1", front.port)
            many.enter_context(socket.create_connection(place, 20))
        descriptors = len(list(Path(f"/proc/{front.process.pid}/fd").iterdir()))
        many.close()
        assert front.ask(call(1, "a")).status == 200

    assert descriptors < 128 * 3 + 50


def test_calls_that_nobody_can_judge_any_more_are_errors(
    daemon: Home,
) -> None:
    with serving() as server, Front(daemon, server.url) as front:
        thread, got = in_background(front.ask, call(1, "a", x="please"))
        wait_until_held(daemon)
        daemon.stop()
        thread.join()
        after = front.ask(call(2, "a"))
        daemon.start("--role", "guard")
        assert "result" in front.ask(call(3, "a")).json

    assert "error" in got[0].json
    assert after.json["error"]["code"] == NOT_JUDGED
    assert len(server.requests) == 1


def test_what_a_server_asks_again_and_again_is_denied_within_bounds(
    shared: Home,
) -> None:
    asked = {"id": 1, "method": "sampling/createMessage", "params": {"x": "rm -rf"}}

    def answer(it: Serving) -> None:
        if "method" not in it.message:
            it.say(202)
            return
        it.begin()
        for _ in range(100):
            it.write(event(asked))
        it.write(event(result(1)))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(call(1, "a"))
        wait_for(lambda: len(server.requests) > 1)

    assert got.messages == [result(1)]


def test_another_users_programs_do_not_get_in(shared: Home) -> None:
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: only root can be several users")
    with serving() as server, Front(shared, server.url) as front:
        child = os.fork()
        if child == 0:
            os.setuid(65534)
            with socket.create_connection(("127.0.0.1", front.port), 20) as made:
                with suppress(OSError):
                    os._exit(len(made.recv(1)))
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert front.ask(call(1, "a")).status == 200


def test_ids_of_a_batch_are_all_told(shared: Home) -> None:
    with serving(lambda it: it.say(500)) as server, Front(shared, server.url) as front:
        got = front.ask([request(1, "a"), request("b", "a"), {"method": "n"}])

    assert got.status == 500
    assert [each["id"] for each in got.json] == [1, "b"]
