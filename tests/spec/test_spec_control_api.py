"""The control API: verdicts, errors, health and metrics (interface contract)."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from spec.cases import executable, simple
from spec.redlane_home import Home

JSON = {"Content-Type": "application/json"}
FIELDS = {"verdict", "lane", "policy", "reason", "content", "role", "context"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("api"))
    upper = {"type": "Executable", "command": "tr a-z A-Z"}
    home.policies(
        {"id": "block", **simple("Block", "bad")},
        {"id": "flag", **simple("Flag", "odd")},
        {"id": "modify", **simple("Modify", "low", transform=upper)},
        {"id": "fails", **executable("Flag", "/nonexistent")},
    )
    home.role("agent", "block", "flag", "modify")
    home.role("failing", "fails")
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


TABLE = {
    "block": ("bad", "BLOCK", "RED", "block", None),
    "flag": ("odd", "FLAG", "YELLOW", "flag", None),
    "modify": ("low", "MODIFY", "GREEN", "modify", "LOW"),
    "modify-and-flag": ("low odd", "FLAG", "YELLOW", "flag", "LOW ODD"),
    "no-match": ("plain", "ALLOW", "GREEN", None, None),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_analyze_gives_the_verdict_of_validate(
    running: Home, row: tuple[str, str, str, str | None, str | None]
) -> None:
    content, verdict, lane, policy, rewritten = row

    body = running.control.analyze(content, "Network", hold=False)

    assert {*FIELDS, "event", "latency_ms"} <= body.keys()
    assert (body["verdict"], body["lane"], body["policy"]) == (verdict, lane, policy)
    assert body["content"] == rewritten
    assert (body["role"], body["context"]) == ("agent", "Network")
    assert body["latency_ms"] >= 0


def test_analyze_takes_a_role(running: Home) -> None:
    assert running.control.analyze("x", role="failing")["verdict"] == "BLOCK"


@pytest.mark.parametrize("role", ["nobody", "", "Agent"])
def test_analyze_blocks_an_unknown_role(running: Home, role: str) -> None:
    assert running.control.analyze("x", role=role)["verdict"] == "BLOCK"


def test_null_is_as_if_absent(running: Home) -> None:
    body = running.control.analyze("x", role=None, session=None)

    assert (body["verdict"], body["role"]) == ("ALLOW", "agent")


def test_each_verdict_has_an_event_of_its_own(running: Home) -> None:
    events = {running.control.analyze("x")["event"] for _ in range(3)}

    assert len(events) == 3


def test_many_ask_at_once(running: Home) -> None:
    def ask(number: int) -> str:
        content = "bad" if number % 2 else "plain"
        return str(running.control.analyze(content)["verdict"])

    with ThreadPoolExecutor(16) as pool:
        verdicts = list(pool.map(ask, range(64)))

    assert verdicts == ["ALLOW", "BLOCK"] * 32


def test_a_large_content_is_judged_whole(running: Home) -> None:
    content = "x" * 1_000_000 + "bad"

    assert running.control.analyze(content, "Network")["verdict"] == "BLOCK"


BAD_BODIES: dict[str, bytes] = {
    "no-json": b"content",
    "empty": b"",
    "array": b"[]",
    "string": b'"x"',
    "cut-short": b'{"content": "x"',
    "no-content": b'{"context": "Shell"}',
    "content-null": b'{"content": null, "context": "Shell"}',
    "content-number": b'{"content": 1, "context": "Shell"}',
    "no-context": b'{"content": "x"}',
    "context-unknown": b'{"content": "x", "context": "Http"}',
    "context-case": b'{"content": "x", "context": "shell"}',
    "role-number": b'{"content": "x", "context": "Shell", "role": 1}',
    "session-number": b'{"content": "x", "context": "Shell", "session": 1}',
    "hold-string": b'{"content": "x", "context": "Shell", "hold": "no"}',
    "invalid-utf8": b'{"content": "\xff", "context": "Shell"}',
    "too-deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_bad_request_is_an_error_and_no_verdict(running: Home, body: bytes) -> None:
    answer = running.control.send("POST", "/api/analyze", body, JSON)

    assert 400 <= answer.status < 500
    assert answer.error
    assert "verdict" not in answer.json


def test_an_unknown_session_is_no_allow(running: Home) -> None:
    answer = running.control.post(
        "/api/analyze", {"content": "x", "context": "Shell", "session": "nope"}
    )

    assert answer.status == 404 or answer.json["verdict"] == "BLOCK"


UNKNOWN_PATHS = (
    ("GET", "/"),
    ("GET", "/api"),
    ("GET", "/api/nope"),
    ("POST", "/nope"),
    ("GET", "/api/sessions/nope"),
    ("DELETE", "/api/sessions/nope"),
    ("POST", "/api/sessions/nope/freeze"),
    ("POST", "/api/sessions/nope/unfreeze"),
    ("POST", "/api/sessions/nope/kill"),
    ("GET", "/api/sessions/../../etc/passwd"),
)


@pytest.mark.parametrize(("method", "path"), UNKNOWN_PATHS)
def test_what_is_not_there_is_404(running: Home, method: str, path: str) -> None:
    answer = running.control.call(method, path, {} if method == "POST" else None)

    assert answer.status == 404
    assert answer.error


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/analyze"),
        ("DELETE", "/api/status"),
        ("GET", "/api/policies/reload"),
        ("POST", "/health"),
        ("PUT", "/api/sessions"),
    ],
)
def test_a_wrong_method_is_405(running: Home, method: str, path: str) -> None:
    answer = running.control.call(method, path, {} if method != "GET" else None)

    assert answer.status == 405
    assert answer.error


def test_an_unknown_review_is_404(running: Home) -> None:
    answer = running.control.post("/api/reviews/nope", {"decision": "allow"})

    assert answer.status == 404
    assert answer.error


def test_patch_of_an_unknown_session_is_404(running: Home) -> None:
    answer = running.control.call("PATCH", "/api/sessions/nope", {"role": "agent"})

    assert answer.status == 404
    assert answer.error


def test_status_is_an_object(running: Home) -> None:
    answer = running.control.get("/api/status")

    assert answer.status == 200
    assert isinstance(answer.json, dict)


def test_health(running: Home) -> None:
    assert running.control.get("/health").status == 200


def test_metrics_are_prometheus_text(running: Home) -> None:
    running.control.analyze("bad")

    answer = running.control.get("/metrics")

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    samples = [line for line in answer.text.splitlines() if line[:1] not in ("", "#")]
    assert samples
    pattern = re.compile(r"^[a-zA-Z_:][\w:]*(\{[^{}]*\})? [-+.\dA-Za-z]+$")
    assert [line for line in samples if not pattern.match(line)] == []
    assert any("redlane" in line for line in samples)


@pytest.mark.parametrize(
    "path", ["/api/status", "/api/sessions", "/api/events", "/api/reviews"]
)
def test_answers_are_json(running: Home, path: str) -> None:
    answer = running.control.get(path)

    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")


def test_nonsense_on_the_socket_does_not_end_the_daemon(running: Home) -> None:
    with socket.socket(socket.AF_UNIX) as bare:
        bare.connect(str(running.control.socket))
        bare.sendall(b"\x00\xff nonsense\r\n\r\n")
        bare.shutdown(socket.SHUT_WR)
        bare.settimeout(10)
        while bare.recv(4096):
            pass

    assert running.control.get("/health").status == 200
