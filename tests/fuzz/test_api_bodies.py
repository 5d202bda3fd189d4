"""Whatever is sent to the control API, it answers, and no fault lets anything through.

The application is called directly, with a peer in the environment as the server would
put it there: our own process, which is who asks. A few requests go over the socket.
"""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec.redlane_home import Home
from tiers import examples

from redlane.control.app import create_app, shell_service
from redlane.control.channel import PEER_KEY
from redlane.daemon.container import Container, build
from redlane.daemon.options import Options
from redlane.daemon.rules import Rules
from redlane.membership.peers import Peer
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load
from redlane.wire.shell_frames import ShellFrame, ShellFrameError, read_frame
from redlane.wire.sockets import connect_socket

FUZZ = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PATHS = [
    "/api/analyze",
    "/api/policies/reload",
    "/api/sessions",
    "/api/sessions/default",
    "/api/sessions/default/freeze",
    "/api/sessions/default/kill",
    "/api/sessions/x",
    "/api/reviews/x",
    "/api/events",
    "/api/status",
    "/health",
    "/metrics",
]
METHODS = ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "HEAD"]
CONTEXTS = ["Shell", "Network", "Syscall", "Mcp", "Inbound", "All"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home whose only role blocks everything: an ALLOW is a hole."""
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies(
        {"id": "all", "type": "Regex", "action": "Block", "pattern": "(?s).*"},
        {
            "id": "every-tool",
            "type": "McpTool",
            "action": "Block",
            "server": "s",
        },
    )
    home.role("nothing", "all", "every-tool")
    return home


@pytest.fixture(scope="module")
def parts(guarded: Home) -> Iterator[Container]:
    paths = Paths.from_environment(guarded.env)
    paths.run.mkdir(mode=0o700)

    def loader() -> Any:
        return load(paths, find_plugins())

    made = build(
        paths, Options("nothing"), Rules(loader, loader()), {}, booted_since=False
    )
    yield made
    made.close()


@pytest.fixture(scope="module")
def peer() -> Iterator[Peer]:
    made = Peer(os.getpid(), os.geteuid(), os.pidfd_open(os.getpid()))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(parts: Container, peer: Peer) -> falcon.testing.TestClient:
    app = create_app(parts)

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        environ[PEER_KEY] = peer
        return app(environ, start_response)

    return falcon.testing.TestClient(application)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
BODIES = st.one_of(
    st.binary(max_size=200),
    JSON_VALUES.map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {},
        optional={
            "content": JSON_VALUES,
            "context": st.sampled_from(CONTEXTS) | JSON_VALUES,
            "role": st.sampled_from(["nothing", "other", ""]) | JSON_VALUES,
            "session": st.sampled_from(["default", "x", ""]) | JSON_VALUES,
            "hold": st.sampled_from([False]) | JSON_VALUES,
            "root_pid": st.integers() | JSON_VALUES,
            "label": JSON_VALUES,
            "decision": JSON_VALUES,
            "note": JSON_VALUES,
        },
    ).map(lambda value: json.dumps(value).encode()),
)
KINDS = st.sampled_from(
    ["application/json", "application/octet-stream", "text/plain", "", "application/js"]
)


def check(response: Any) -> None:
    """The answer is one of ours: no fault, no traceback, errors in their form."""
    assert response.status_code < 500
    assert "Traceback" not in response.text
    if response.status_code >= 400:
        body = json.loads(response.text or "{}")
        assert isinstance(body.get("error"), str)
        assert body["error"]


@FUZZ
@given(
    method=st.sampled_from(METHODS),
    path=st.sampled_from(PATHS) | st.text(max_size=20).map(lambda text: f"/{text}"),
    body=BODIES,
    kind=KINDS,
)
def test_any_request_is_answered(
    client: falcon.testing.TestClient, method: str, path: str, body: bytes, kind: str
) -> None:
    response = client.simulate_request(
        method, path.partition("?")[0], body=body, headers={"Content-Type": kind}
    )
    if method != "HEAD":
        check(response)


@FUZZ
@given(
    content=JSON_VALUES | st.text(max_size=300),
    context=st.sampled_from(CONTEXTS),
    role=st.sampled_from([None, "nothing", "other", "", "\0"]),
    text=st.booleans(),
)
def test_no_content_gets_through_where_everything_is_blocked(
    client: falcon.testing.TestClient,
    content: Any,
    context: str,
    role: str | None,
    text: bool,  # noqa: FBT001  # a choice of hypothesis
) -> None:
    given_content = content if not text else json.dumps(content)
    body = {"content": given_content, "context": context, "role": role, "hold": False}
    response = client.simulate_post(
        "/api/analyze",
        body=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    check(response)
    if response.status_code == 200 and not is_call(given_content, context):
        assert response.json["verdict"] == "BLOCK"


def is_call(content: Any, context: str) -> bool:
    """Whether this is a system call or a tool call that no policy is about."""
    return context == "Syscall" and "syscall" in str(content)


@FUZZ
@given(
    body=st.binary(max_size=400),
    cwd=st.binary(max_size=60),
    before=st.binary(max_size=60),
)
def test_no_command_gets_through_where_everything_is_blocked(
    parts: Container, peer: Peer, body: bytes, cwd: bytes, before: bytes
) -> None:
    frame = ShellFrame(cwd, before, body)
    answer = shell_service(parts).answer(frame, peer, lambda _: None)
    first, _, rest = answer.data.partition(b"\n")
    assert first == b"BLOCK %d" % len(rest)


@FUZZ
@given(parts=st.tuples(*[st.binary(max_size=80)] * 3), more=st.binary(max_size=3))
def test_a_question_is_read_as_it_was_sent(
    parts: tuple[bytes, bytes, bytes], more: bytes
) -> None:
    cwd, before, body = parts
    ours, theirs = socket.socketpair()
    with ours, theirs:
        head = b"REDLANE 1 %d %d %d\n" % (len(cwd), len(before), len(body))
        ours.sendall(head + cwd + before + body + more)
        ours.shutdown(socket.SHUT_WR)
        if more:
            with pytest.raises(ShellFrameError):
                read_frame(theirs, 5)
        else:
            assert read_frame(theirs, 5) == ShellFrame(cwd, before, body)


@FUZZ
@given(
    data=st.binary(max_size=80)
    | st.from_regex(rb"REDLANE 1 [0-9 -]{1,12}\n?[a-z]{0,9}", fullmatch=True)
)
def test_any_bytes_are_a_question_or_none(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        try:
            frame = read_frame(theirs, 5)
        except ShellFrameError:
            return
    lengths = len(frame.directory), len(frame.before), len(frame.body)
    rest = frame.directory + frame.before + frame.body
    assert data == b"REDLANE 1 %d %d %d\n" % lengths + rest


@FUZZ
@given(
    query=st.dictionaries(
        st.sampled_from(
            ["session", "verdict", "context", "since", "limit", "after", "wait", "over"]
        ),
        st.text(max_size=12),
        max_size=4,
    ),
    path=st.sampled_from(["/api/events", "/api/reviews", "/api/sessions"]),
)
def test_any_query_is_answered(
    client: falcon.testing.TestClient, query: dict[str, str], path: str
) -> None:
    query.pop("wait", None)
    check(client.simulate_get(path, params=query))


def test_body_that_a_plugin_chokes_on_is_blocked(
    client: falcon.testing.TestClient, parts: Container, guarded: Home
) -> None:
    (guarded.dir / "logs").chmod(0o700)
    for content in ("\0", "\ud7ff", "a" * 1_000_000, "$(" * 5_000, "\n" * 10_000):
        body = {"content": content, "context": "Shell", "hold": False}
        response = client.simulate_post("/api/analyze", json=body)
        assert response.status_code == 200
        assert response.json["verdict"] == "BLOCK"
    assert parts.reviews.list() == ()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = Home(tmp_path_factory.mktemp("live"))
    home.start()
    yield home.control.socket
    home.stop()


@settings(parent=FUZZ, max_examples=examples(80))
@given(
    data=st.binary(max_size=300)
    | st.text(max_size=200).map(
        lambda text: f"POST /api/analyze HTTP/1.1\r\n{text}\r\n\r\n".encode()
    )
)
def test_any_bytes_on_the_socket_leave_it_answering(live: Path, data: bytes) -> None:
    with connect_socket(live, 10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert b"Traceback" not in answer
    assert not answer.startswith(b"HTTP/1.1 500")
    with connect_socket(live, 10) as connection:
        connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert connection.recv(65536).split()[1] == b"200"
