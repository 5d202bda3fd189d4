"""What is too much, malformed or idle does not stop the control API."""

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from spec.control_client import Answer
from spec.redlane_home import Home, wait_for
from system.calls import analyze, read_answer, shell, wait_until_held
from system.process_tree import actor

from redlane.state.reviews import MOST_HELD, MOST_HELD_OF_SESSION
from redlane.wire.sockets import connect_socket


def test_body_of_sixteen_megabytes_is_judged_and_larger_ones_refused(
    shared: Home,
) -> None:
    big = "x" * (16 * 1024 * 1024)
    body = {"content": big, "context": "Inbound", "hold": False}
    assert shared.control.post("/api/analyze", body).json["verdict"] == "ALLOW"
    answer = refused_upload(shared, 40 * 1024 * 1024)
    assert answer.status == 413
    assert answer.error


def refused_upload(home: Home, size: int) -> Answer:
    """What is answered to a request whose body nobody reads."""
    connection = connect_socket(home.control.socket, 30)
    head = f"POST /api/analyze HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
    connection.sendall(head.encode())
    return read_answer(connection)


MALFORMED = {
    "no http": b"hello\r\n\r\n",
    "no header": b"GET /health HTTP/1.1\r\nnonsense\r\n\r\n",
    "long number": b"POST /x HTTP/1.1\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "bad number": b"POST /x HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "bad address": b"GET http://[::1/x HTTP/1.1\r\n\r\n",
    "bad encoding": b"POST /x HTTP/1.1\r\nTransfer-Encoding: magic\r\n\r\n",
    "bad chunk": b"POST /x HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "lower case": b"get /health HTTP/1.1\r\n\r\n",
    "long head": b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", MALFORMED.values(), ids=MALFORMED)
def test_malformed_requests_are_answered_in_json(
    shared: Home, request_bytes: bytes
) -> None:
    connection = connect_socket(shared.control.socket, 30)
    connection.sendall(request_bytes)
    answer = read_answer(connection)
    assert 400 <= answer.status < 600
    assert answer.status != 500
    assert answer.error
    assert shared.control.get("/health").status == 200


def test_many_idle_connections_do_not_stop_it(shared: Home) -> None:
    idle = []
    try:
        for number in range(250):
            connection = connect_socket(shared.control.socket, 30)
            if number % 2:
                connection.sendall(b"POST /api/analyze HTTP/1.1\r\nContent-")
            idle.append(connection)
        assert shared.control.analyze("ls")["verdict"] == "ALLOW"
        assert shared.control.get("/api/status").status == 200
    finally:
        for connection in idle:
            connection.close()


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """As many open files as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_more_connections_than_it_keeps_do_not_stop_it(shared: Home) -> None:
    idle: list[socket.socket] = []
    with ExitStack() as stack:
        for _ in range(2500):
            connection = connect_socket(shared.control.socket, 30)
            idle.append(stack.enter_context(connection))
        assert shared.control.analyze("ls")["verdict"] == "ALLOW"
        # The ones that were idle longest have made room for the others.
        assert idle[0].recv(1) == b""


def test_review_of_a_caller_that_hung_up_is_taken_back(shared: Home) -> None:
    connection = analyze(shared, {"content": "please", "context": "Shell"})
    wait_until_held(shared)
    connection.close()
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


@pytest.mark.parametrize("requests", [1, 4, 100_000])
def test_review_is_taken_back_behind_whatever_was_sent_after_it(
    shared: Home, requests: int
) -> None:
    connection = analyze(shared, {"content": "please", "context": "Shell"})
    wait_until_held(shared)
    connection.settimeout(5)
    with suppress(OSError):  # the daemon may hang up first
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n" * requests)
    connection.close()
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def test_requests_sent_ahead_are_answered_in_order(shared: Home) -> None:
    connection = connect_socket(shared.control.socket, 30)
    ahead = b"GET /health HTTP/1.1\r\n\r\n" * 9
    last = b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n"
    connection.sendall(ahead + last)
    data = b""
    while piece := connection.recv(65536):
        data += piece
    connection.close()
    assert data.count(b"HTTP/1.1 200 OK") == 10


def test_large_requests_are_not_stored_behind_one_that_is_held(shared: Home) -> None:
    """They would fill the disk, unasked: nobody has looked at them yet."""
    body = b'{"content": "please", "context": "Shell"}'
    head = b"POST /api/analyze HTTP/1.1\r\nContent-Type: application/json\r\n"
    with connect_socket(shared.control.socket, 30) as connection:
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_for(lambda: shared.control.rows("/api/reviews"))
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            connection.sendall(
                head + b"Content-Length: 8000000\r\n\r\n" + b" " * 8000000
            )
        wait_for(lambda: not shared.control.rows("/api/reviews"))


def test_everything_is_served_while_the_yellow_lane_is_full(
    shared: Home,
) -> None:
    """Sessions hold all that can be held; a person still decides and looks."""
    with ExitStack() as stack:
        for number in range(100):
            stack.enter_context(shell(shared, b"please %d" % number))
        for number in range(MOST_HELD // MOST_HELD_OF_SESSION - 1):
            root = stack.enter_context(actor())
            answer = shared.control.post("/api/sessions", {"root_pid": root.pid})
            session = answer.json["id"]
            body = {"content": "please", "context": "Shell", "session": session}
            for _ in range(MOST_HELD_OF_SESSION):
                stack.enter_context(analyze(shared, body))
            held = MOST_HELD_OF_SESSION * (number + 2)
            wait_for(lambda: len(shared.control.rows("/api/reviews")) == held)  # noqa: B023  # called at once
        assert shared.control.get("/api/status").json["held_reviews"] == MOST_HELD
        assert shared.control.analyze("ls")["verdict"] == "ALLOW"
        assert shared.control.analyze("please")["verdict"] == "BLOCK"
        review = shared.control.rows("/api/reviews")[0]["id"]
        answer = shared.control.post(f"/api/reviews/{review}", {"decision": "block"})
        assert answer.status == 200
        for each in shared.control.rows("/api/sessions"):
            if not each["default"]:
                shared.control.call("DELETE", f"/api/sessions/{each['id']}")
    wait_for(lambda: shared.control.rows("/api/reviews") == [])


def test_followers_do_not_use_up_the_daemon(shared: Home) -> None:
    last = shared.control.get("/api/events?limit=1").json["last"]
    path = f"/api/events?after={last}&context=Syscall&wait=60"
    waiting = []
    for _ in range(30):
        connection = connect_socket(shared.control.socket, 30)
        connection.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
        waiting.append(connection)
    assert shared.control.get("/api/status").status == 200
    wait_for(lambda: shared.control.get(path.replace("60", "0")).status == 429)
    shared.control.analyze({"syscall": "unlink", "paths": []}, "Syscall")
    for connection in waiting:
        connection.close()
