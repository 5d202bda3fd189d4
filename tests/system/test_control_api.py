"""The routes of the control API, as a person outside of every session sees them."""

import json

import pytest
from spec.redlane_home import Home
from system.calls import in_background, wait_until_held

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("content", "context", "verdict", "lane"),
    [
        ("ls", "Shell", "ALLOW", "GREEN"),
        ("rm -rf /", "Shell", "BLOCK", "RED"),
        ("rm -rf /", "All", "BLOCK", "RED"),
        ("one beer", "Network", "MODIFY", "GREEN"),
        ({"server": "files", "tool": "x"}, "Mcp", "BLOCK", "RED"),
        ({"server": "web", "tool": "x", "arguments": {}}, "Mcp", "ALLOW", "GREEN"),
        ({"syscall": "unlink", "paths": ["/a"]}, "Syscall", "BLOCK", "RED"),
        ({"syscall": "open", "paths": []}, "Syscall", "ALLOW", "GREEN"),
        ("not json", "Mcp", "BLOCK", "RED"),
        ("[]", "Syscall", "BLOCK", "RED"),
    ],
)
@pytest.mark.parametrize("as_text", [True, False], ids=["text", "object"])
def test_analyze_answers_a_verdict(
    shared: Home,
    content: object,
    context: str,
    verdict: str,
    lane: str,
    as_text: bool,  # noqa: FBT001  # a table
) -> None:
    given = json.dumps(content) if as_text and isinstance(content, dict) else content
    role = "kernel" if context == "Syscall" and content != "[]" else "guard"
    question = {"content": given, "context": context, "role": role, "hold": False}
    answer = shared.control.post("/api/analyze", question)
    assert answer.status == 200
    body = answer.json
    assert (body["verdict"], body["lane"]) == (verdict, lane)
    assert body["context"] == context
    assert body["role"] == role
    assert body["event"]
    assert body["latency_ms"] >= 0
    assert (body["content"] == "one tea") == (verdict == "MODIFY")


def test_analyze_has_the_fields_of_validate(shared: Home) -> None:
    theirs = shared.verdict("rm -rf /", "guard", "Shell")
    ours = shared.control.analyze("rm -rf /")
    assert {name: ours[name] for name in theirs} == theirs


def test_role_and_session_can_be_named_from_outside(shared: Home) -> None:
    assert shared.control.analyze("beer", role="other")["verdict"] == "ALLOW"
    assert shared.control.analyze("beer", role="none")["verdict"] == "BLOCK"
    assert shared.control.analyze("ls", session="default")["verdict"] == "ALLOW"
    body = {"content": "ls", "context": "Shell", "session": "none"}
    assert shared.control.post("/api/analyze", body).status == 404


BAD_BODIES: dict[str, tuple[bytes, int]] = {
    "empty": (b"", 400),
    "no object": (b"[]", 400),
    "no json": (b"{", 400),
    "no utf-8": (b'{"content": "\xff", "context": "Shell"}', 400),
    "lone surrogate": (rb'{"content": "\ud800", "context": "Shell"}', 400),
    "duplicate key": (b'{"content": "a", "content": "b", "context": "Shell"}', 400),
    "nan": (b'{"content": NaN, "context": "Shell"}', 400),
    "deep": (b'{"content": ' + b"[" * 100_000, 400),
    "no content": (b'{"context": "Shell"}', 400),
    "no context": (b'{"content": "ls"}', 400),
    "unknown context": (b'{"content": "ls", "context": "shell"}', 400),
    "number": (b'{"content": 1, "context": "Shell"}', 400),
    "object in shell": (b'{"content": {}, "context": "Shell"}', 400),
    "list in mcp": (b'{"content": [], "context": "Mcp"}', 400),
    "hold no boolean": (b'{"content": "a", "context": "Shell", "hold": 0}', 400),
    "role no string": (b'{"content": "a", "context": "Shell", "role": []}', 400),
    "session no string": (b'{"content": "a", "context": "Shell", "session": 1}', 400),
}


@pytest.mark.parametrize(("body", "status"), BAD_BODIES.values(), ids=BAD_BODIES)
def test_malformed_analyze_is_refused(shared: Home, body: bytes, status: int) -> None:
    answer = shared.control.send("POST", "/api/analyze", body, JSON)
    assert answer.status == status
    assert answer.error


def test_other_media_types_are_refused(shared: Home) -> None:
    for path in ("/api/analyze", "/api/policies/reload", "/api/sessions"):
        answer = shared.control.send(
            "POST", path, b"{}", {"Content-Type": "text/plain"}
        )
        assert answer.status == 415
        assert answer.error


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/analyze", "POST"),
        ("DELETE", "/api/policies/reload", "POST"),
        ("POST", "/api/status", "GET"),
        ("PUT", "/api/sessions", "GET"),
        ("POST", "/health", "GET"),
    ],
)
def test_wrong_method_is_405_with_allow(
    shared: Home, method: str, path: str, allowed: str
) -> None:
    answer = shared.control.send(method, path)
    assert answer.status == 405
    assert allowed in answer.headers["Allow"]
    assert answer.error


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nothing",
        "/api/analyze/",
        "/api/reviews/none",
        "/api/sessions/none",
        "/api/sessions/default/explode",
    ],
)
def test_unknown_things_are_404(shared: Home, path: str) -> None:
    method = "POST" if "explode" in path else "GET"
    answer = shared.control.send(method, path)
    assert answer.status == 404
    assert answer.error


def test_requests_of_web_pages_are_refused(shared: Home) -> None:
    for path in ("/health", "/api/status", "/api/policies/reload"):
        headers = {"Origin": "http://localhost"}
        answer = shared.control.send("POST", path, b"{}", {**JSON, **headers})
        assert answer.status == 403
        assert "Origin" in answer.error


def test_flag_is_held_until_it_is_decided(shared: Home) -> None:
    for decision, verdict in (("allow", "ALLOW"), ("block", "BLOCK")):
        thread, found = in_background(shared.control.analyze, "please go")
        review = wait_until_held(shared)
        assert review["content"] == "please go"
        path = f"/api/reviews/{review['id']}"
        answer = shared.control.post(path, {"decision": decision, "note": "so"})
        assert answer.status == 200
        thread.join(20)
        assert [each["verdict"] for each in found] == [verdict]
        assert shared.control.post(path, {"decision": "allow"}).status == 409


def test_flag_without_hold_is_answered_at_once(shared: Home) -> None:
    assert shared.control.analyze("please", hold=False)["verdict"] == "FLAG"
    assert shared.control.rows("/api/reviews") == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"decision": "maybe"}, 400),
        ({"decision": "allow", "note": 1}, 400),
        ({"decision": "allow", "note": "x" * 501}, 400),
        ({"decision": "allow"}, 404),
    ],
)
def test_bad_decisions_are_refused(shared: Home, body: object, status: int) -> None:
    answer = shared.control.post("/api/reviews/nothing", body)
    assert answer.status == status
    assert answer.error


def test_status_tells_what_is_there(shared: Home) -> None:
    status = shared.control.get("/api/status").json
    assert status["running"] is True
    assert status["policies"] == 5
    assert status["role_names"] == ["guard", "kernel", "other"]
    assert status["default_role"] == "guard"
    assert status["socket"] == str(shared.control.socket)
    assert [each["id"] for each in status["sessions"]] == ["default"]


def test_events_are_filtered_and_followed(shared: Home) -> None:
    shared.control.analyze("rm -rf /")
    newest = shared.control.rows("/api/events?limit=1")
    assert newest[0]["verdict"] == "BLOCK"
    blocks = shared.control.rows("/api/events?verdict=BLOCK&context=Shell&limit=1000")
    assert {each["verdict"] for each in blocks} == {"BLOCK"}
    assert shared.control.rows("/api/events?since=2999-01-01T00:00:00Z") == []
    path = f"/api/events?after={newest[0]['id']}"
    assert shared.control.rows(path) == []
    thread, found = in_background(shared.control.rows, f"{path}&wait=30")
    shared.control.analyze("ls -l")
    thread.join(20)
    assert [each["content"] for each in found[0]] == ["ls -l"]


@pytest.mark.parametrize(
    "query",
    ["verdict=block", "context=x", "since=x", "limit=0", "limit=x", "after=a&wait=99"],
)
def test_bad_filters_are_refused(shared: Home, query: str) -> None:
    answer = shared.control.get(f"/api/events?{query}")
    assert answer.status == 400
    assert answer.error


def test_metrics_count_what_happened(shared: Home) -> None:
    shared.control.analyze("rm -rf /")
    answer = shared.control.get("/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    samples = dict(
        line.rsplit(" ", 1)
        for line in answer.text.splitlines()
        if not line.startswith("#")
    )
    assert int(samples['redlane_verdicts_total{context="Shell",verdict="BLOCK"}']) >= 1
    assert samples["redlane_policies"] == "5"
    total = samples["redlane_verdict_seconds_count"]
    assert samples['redlane_verdict_seconds_bucket{le="+Inf"}'] == total
