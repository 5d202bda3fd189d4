"""Restrictions over the control API: taken, refused, kept, and never changed."""

import json
import os
import signal
from typing import Any

import pytest
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for
from system.process_tree import Actor


def block(pattern: str = "secret", **fields: Any) -> dict[str, Any]:
    plain = {"id": "mine", "type": "Simple", "action": "Block", "pattern": pattern}
    return {**plain, **fields}


def opened(home: Home, *policies: object, **more: object) -> dict[str, Any]:
    body = {"restrictions": {"policies": list(policies)}, **more}
    answer = home.control.post("/api/sessions", body)
    assert answer.status == 201, answer
    found: dict[str, Any] = answer.json
    return found


def verdict(home: Home, session: dict[str, Any], content: str) -> dict[str, Any]:
    found: dict[str, Any] = home.control.analyze(
        content, session=session["id"], hold=False
    )
    return found


def test_session_is_opened_with_restrictions(shared: Home) -> None:
    session = opened(shared, block())
    assert (session["restricted"], session["role"]) == (True, "guard")
    found = verdict(shared, session, "cat secret")
    assert (found["verdict"], found["policy"]) == ("BLOCK", "mine")
    assert found["restriction"] is True
    assert verdict(shared, session, "ls")["verdict"] == "ALLOW"
    other = shared.control.post("/api/sessions", {}).json
    assert not other["restricted"]
    assert verdict(shared, other, "cat secret")["verdict"] == "ALLOW"


def test_list_of_sessions_tells_which_are_restricted(shared: Home) -> None:
    session = opened(shared, block(), label="mine")
    lines = shared.run("session", "list").out.splitlines()
    assert f"{session['id']}  running, role guard with restrictions, mine" in lines
    assert "default  running, role guard" in lines


def test_id_of_the_role_s_policy_is_told_apart(shared: Home) -> None:
    session = opened(shared, block(id="no-rm"))
    ours, theirs = (verdict(shared, session, each) for each in ("secret", "rm -rf /"))
    assert (ours["policy"], theirs["policy"]) == ("no-rm", "no-rm")
    assert (ours["restriction"], theirs["restriction"]) == (True, False)
    assert "restriction" in ours["reason"]
    assert "restriction" not in theirs["reason"]


@pytest.mark.parametrize("value", [None, {"policies": []}], ids=["null", "none"])
def test_nothing_added_changes_not_a_byte(shared: Home, value: object) -> None:
    plain = shared.control.post("/api/sessions", {}).json
    answer = shared.control.post("/api/sessions", {"restrictions": value})
    assert answer.status == 201
    assert answer.json["restricted"] is False
    for content in ("ls", "rm -rf /", "please", "one beer"):
        one, other = (verdict(shared, each, content) for each in (plain, answer.json))
        for each in (one, other):
            del each["event"], each["latency_ms"]
        assert json.dumps(one) == json.dumps(other)


REFUSED: dict[str, tuple[object, int]] = {
    "text": ("x", 422),
    "list": ([block()], 422),
    "allow": ({"policies": [block(action="Allow")]}, 422),
    "allow of another case": ({"policies": [block(action="aLLOW")]}, 422),
    "checker": ({"policies": [block("true", type="Executable")]}, 422),
    "broken": ({"policies": [block("(", type="Regex")]}, 422),
    "twice": ({"policies": [block(), block()]}, 422),
    "too many": ({"policies": [block(id=str(each)) for each in range(1_001)]}, 422),
    "too large": ({"policies": [block("x" * (1 << 20))]}, 413),
    "unknown field": ({"policies": [], "also": 1}, 422),
}


@pytest.mark.parametrize(("value", "status"), REFUSED.values(), ids=[*REFUSED])
def test_what_is_no_restriction_opens_no_session(
    shared: Home, value: object, status: int
) -> None:
    before = len(shared.control.rows("/api/sessions"))
    answer = shared.control.post("/api/sessions", {"restrictions": value})
    assert answer.status == status
    assert answer.error.isprintable()
    if status == 422:
        assert isinstance(answer.json["errors"], list)
    assert len(shared.control.rows("/api/sessions")) == before


def test_errors_name_each_policy(shared: Home) -> None:
    bad = {"policies": [block(action="Allow"), block(id="b", type="Executable")]}
    answer = shared.control.post("/api/sessions", {"restrictions": bad})
    named = [(each["file"], each["subject"]) for each in answer.json["errors"]]
    assert named == [("restrictions", "mine"), ("restrictions", "b")]


def test_deep_nesting_is_refused(shared: Home) -> None:
    body = '{"restrictions": {"policies": ' + "[" * 100_000 + "}"
    headers = {"Content-Type": "application/json"}
    answer = shared.control.send("POST", "/api/sessions", body.encode(), headers)
    assert answer.status == 400


def test_checking_a_restriction_looks_at_no_file(shared: Home) -> None:
    """What is on the disk of whoever runs the daemon is nothing to tell."""
    command = {"type": "Executable", "command": "/no/such/program"}
    for each in (
        block("/no/such/program", type="Executable"),
        block("/bin/true", type="Executable"),
        block(transform=command),
        block(transform={**command, "command": "/bin/true"}),
    ):
        answer = shared.control.post(
            "/api/sessions", {"restrictions": {"policies": [each]}}
        )
        assert answer.status == 422
        assert "such" not in answer.text
        assert "true" not in answer.text


def test_no_route_changes_restrictions(shared: Home) -> None:
    session = opened(shared, block())
    path = f"/api/sessions/{session['id']}"
    nothing: dict[str, list[object]] = {"policies": []}
    change = shared.control.call(
        "PATCH", path, {"role": "other", "restrictions": nothing}
    )
    assert change.status == 409
    assert shared.control.call("PATCH", path, {"role": "other"}).status == 200
    assert shared.control.post(f"{path}/freeze", {}).status == 200
    assert shared.control.post(f"{path}/unfreeze", {}).status == 200
    assert shared.control.post("/api/policies/reload", {}).status == 200
    assert verdict(shared, session, "secret")["policy"] == "mine"
    assert verdict(shared, session, "beer")["verdict"] == "ALLOW"


def test_restrictions_count_for_a_role_that_the_caller_names(shared: Home) -> None:
    session = opened(shared, block())
    found = shared.control.analyze("secret", session=session["id"], role="other")
    assert (found["role"], found["policy"]) == ("other", "mine")


def test_process_inside_a_session_opens_none(daemon: Home, supervisor: Actor) -> None:
    session = opened(daemon, block(), root_pid=supervisor.pid)
    socket, path = str(daemon.control.socket), f"/api/sessions/{session['id']}"
    loose = json.dumps({"role": "other", "restrictions": {"policies": []}})
    for where in ("self", "child", "orphan"):
        for method, target in (("POST", "/api/sessions"), ("PATCH", path)):
            status, _ = supervisor.call(where, socket, method, target, loose)
            assert status == 403
        question = json.dumps({"content": "secret", "context": "Shell"})
        status, text = supervisor.call(where, socket, "POST", "/api/analyze", question)
        assert (status, json.loads(text)["policy"]) == (200, "mine")


def test_killed_daemon_knows_restrictions_again(
    daemon: Home, supervisor: Actor
) -> None:
    session = opened(daemon, block(), root_pid=supervisor.pid)
    pid = peer_pid(daemon.control.socket)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: peer_pid(daemon.control.socket) is None)
    daemon.start("--role", "other")
    assert verdict(daemon, session, "cat secret")["policy"] == "mine"
    found = daemon.control.get(f"/api/sessions/{session['id']}").json
    assert (found["restricted"], found["role"]) == (True, "guard")


def test_restarted_daemon_blocks_what_has_lost_its_restrictions(
    daemon: Home, supervisor: Actor
) -> None:
    session = opened(daemon, block(), root_pid=supervisor.pid)
    daemon.run("stop")
    for file in (daemon.dir / "run" / "restrictions").iterdir():
        file.write_text('{"policies":[]}')
    daemon.start("--role", "guard")
    found = verdict(daemon, session, "ls")
    assert found["verdict"] == "BLOCK"
    assert "changed on disk" in found["reason"]
