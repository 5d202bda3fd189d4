"""The machine's daemon: who may ask it for what, and what each sees of others."""

import os
import stat
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.whole_machine import (
    ADMIN,
    ALICE,
    BOB,
    DAEMON,
    Machine,
    Person,
    User,
    guarded,
)

from redlane.control.rights import RIGHTS
from redlane.membership.callers import Who


def test_nothing_of_the_daemon_is_writable_by_users(
    whole: Machine, alice: Person
) -> None:
    alice.analyze("ls")
    modes = {
        "run/redlane": 0o755,
        "run/redlane/bin": 0o755,
        "run/redlane/bin/bash": 0o755,
        "run/redlane/shell-timeout": 0o644,
        "run/redlane/control.sock": 0o666,
        "run/redlane/shell.sock": 0o666,
        "run/redlane/daemon.lock": 0o600,
        "run/redlane/sessions.json": 0o600,
        "run/redlane/proxy.key": 0o600,
        "var/log/redlane": 0o750,
    }
    found = {each: stat.S_IMODE(whole.path(each).stat().st_mode) for each in modes}
    assert found == modes
    logs = list(whole.path("var/log/redlane").iterdir())
    assert logs
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in logs)


def test_daemon_keeps_its_capabilities_to_itself(admin: Person) -> None:
    pid = admin.api("GET", "/api/status")[1]["pid"]
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    assert int(found["CapAmb"], 16) == 0
    assert int(found["CapEff"], 16) == (1 << 5) | (1 << 6) | (1 << 7)
    assert set(found["Uid"].split()) == {str(DAEMON.uid)}


CALLS: dict[tuple[str, str], tuple[str, object]] = {
    ("GET", "/health"): ("/health", None),
    ("POST", "/api/analyze"): (
        "/api/analyze",
        {"content": "ls", "context": "Shell"},
    ),
    ("GET", "/api/status"): ("/api/status", None),
    ("GET", "/api/sessions"): ("/api/sessions", None),
    ("POST", "/api/sessions"): ("/api/sessions", {}),
    ("GET", "/api/sessions/{session_id}"): ("/api/sessions/OWN", None),
    ("PATCH", "/api/sessions/{session_id}"): ("/api/sessions/OWN", {"role": "open"}),
    ("POST", "/api/sessions/{session_id}/{action}"): ("/api/sessions/OWN/freeze", {}),
    ("DELETE", "/api/sessions/{session_id}"): ("/api/sessions/OWN", None),
    ("GET", "/api/sessions/{session_id}/syscalls"): (
        "/api/sessions/OWN/syscalls",
        None,
    ),
    ("GET", "/api/sessions/{session_id}/addresses"): (
        "/api/sessions/OWN/addresses?name=localhost",
        None,
    ),
    ("GET", "/api/sessions/{session_id}/allowed"): ("/api/sessions/OWN/allowed", None),
    ("POST", "/api/sessions/{session_id}/syscalls"): (
        "/api/sessions/OWN/syscalls",
        {},
    ),
    ("GET", "/api/events"): ("/api/events", None),
    ("GET", "/api/events/counts"): ("/api/events/counts", None),
    ("GET", "/api/reviews"): ("/api/reviews", None),
    ("GET", "/api/reviews/{review_id}"): ("/api/reviews/x", None),
    ("POST", "/api/reviews/{review_id}"): ("/api/reviews/x", {"decision": "allow"}),
    ("DELETE", "/api/reviews/{review_id}"): ("/api/reviews/x", None),
    ("GET", "/api/pins"): ("/api/pins", None),
    ("GET", "/api/pins/{pin_id}"): ("/api/pins/x", None),
    ("POST", "/api/pins/{pin_id}"): ("/api/pins/x", {"decision": "accept"}),
    ("DELETE", "/api/pins/{pin_id}"): ("/api/pins/x", None),
    ("GET", "/api/processes/{pid:int}"): (f"/api/processes/{os.getpid()}", None),
    ("POST", "/api/policies/reload"): ("/api/policies/reload", {}),
    ("POST", "/api/ca/regenerate"): ("/api/ca/regenerate", {}),
    ("GET", "/metrics"): ("/metrics", None),
}


def test_every_right_of_the_table_is_tried() -> None:
    assert CALLS.keys() == RIGHTS.keys()


@pytest.mark.parametrize("who", [Who.ADMINISTRATOR, Who.USER])
@pytest.mark.parametrize("right", RIGHTS, ids=" ".join)
def test_rights_are_those_of_the_table(
    alice: Person, admin: Person, who: Who, right: tuple[str, str]
) -> None:
    caller = alice if who is Who.USER else admin
    own = caller.open_session()
    path, body = CALLS[right]
    status, answer = caller.api(right[0], path.replace("OWN", own), body)
    assert (status != 403) == (who in RIGHTS[right]), answer
    if who in RIGHTS[right]:
        assert status in {200, 201, 204} or path.endswith(("reviews/x", "pins/x"))
    caller.api("DELETE", f"/api/sessions/{own}")


@pytest.mark.parametrize("user", [ALICE, ADMIN], ids=["user", "administrator"])
def test_agent_has_verdicts_and_nothing_else_whoever_runs_it(
    whole: Machine, user: User
) -> None:
    with whole.actor(user) as agent:
        agent.ask("reap")
        agent.ask("name", "redlane-run")
        own = guarded(agent)
        for where in ("child", "orphan"):
            for (method, route), (path, body) in CALLS.items():
                given = path.replace("OWN", own)
                status, _ = agent.api_from(where, method, given, body)
                allowed = Who.MEMBER in RIGHTS[method, route]
                assert (status == 403) != allowed, (method, given)
                status, _ = agent.api_from(where, method, given + "?x=1", body)
                assert (status == 403) != allowed, (method, given)


def test_only_an_administrator_widens_what_a_role_says(
    alice: Person, admin: Person
) -> None:
    for caller, expected in ((alice, 403), (admin, 409)):
        own = caller.open_session()
        path, body = f"/api/sessions/{own}", {"allow_write": "/"}
        status, answer = caller.api("PATCH", path, body)
        assert status == expected, answer
        caller.api("DELETE", path)


def test_user_sees_nothing_of_other_users(alice: Person, bob: Person) -> None:
    theirs = bob.open_session(label="bob's plan")
    bob.analyze("echo bobs-words", session=theirs)
    bob.analyze("rm -rf /bobs-words", session=theirs)
    for path in ("/api/status", "/api/sessions", "/api/events", "/api/reviews?over=1"):
        status, answer = alice.api("GET", path)
        assert status == 200
        assert "bob" not in str(answer)
        assert f"u{BOB.uid}" not in str(answer)
    for method, path, body in (
        ("GET", f"/api/sessions/{theirs}", None),
        ("PATCH", f"/api/sessions/{theirs}", {"role": "open"}),
        ("DELETE", f"/api/sessions/{theirs}", None),
        ("POST", f"/api/sessions/{theirs}/freeze", {}),
        ("POST", f"/api/sessions/{theirs}/unfreeze", {}),
        ("POST", f"/api/sessions/{theirs}/kill", {}),
        ("GET", f"/api/sessions/u{BOB.uid}-default", None),
        ("GET", f"/api/events?session={theirs}", None),
        ("GET", f"/api/events?session=u{BOB.uid}-default", None),
    ):
        assert alice.api(method, path, body)[0] == 404, (method, path)
    body = {"content": "ls", "context": "Shell", "session": theirs}
    assert alice.api("POST", "/api/analyze", body)[0] == 404
    assert bob.api("GET", f"/api/sessions/{theirs}")[1]["state"] == "running"


def test_missing_and_foreign_sessions_look_alike(alice: Person, bob: Person) -> None:
    theirs = bob.open_session()
    foreign = alice.api("GET", f"/api/sessions/{theirs}")[1]["error"]
    missing = alice.api("GET", "/api/sessions/none")[1]["error"]
    assert foreign.replace(theirs, "none") == missing


def test_default_session_is_each_users_own(
    whole: Machine, alice: Person, bob: Person
) -> None:
    alice.analyze("echo in-alices-own")
    sessions = alice.api("GET", "/api/sessions")[1]["sessions"]
    assert [each["id"] for each in sessions if each["default"]] == [
        f"u{ALICE.uid}-default"
    ]
    assert alice.api("POST", "/api/sessions/default/freeze", {})[0] == 200
    assert alice.analyze("ls")["verdict"] == "BLOCK"
    assert bob.analyze("ls")["verdict"] == "ALLOW"
    assert whole.control.analyze("ls")["verdict"] == "ALLOW"
    assert alice.api("POST", "/api/sessions/default/unfreeze", {})[0] == 200
    assert alice.analyze("ls")["verdict"] == "ALLOW"
    assert alice.api("DELETE", "/api/sessions/default")[0] == 409


def test_user_follows_events_of_their_own_only(alice: Person, bob: Person) -> None:
    last = alice.api("GET", "/api/events?after=")[1]["last"]
    bob.analyze("echo unseen")
    answer = alice.api("GET", f"/api/events?after={last}")[1]
    assert answer == {"events": [], "last": last}
    alice.analyze("echo seen")
    events = alice.api("GET", f"/api/events?after={last}&wait=5")[1]["events"]
    assert [each["content"] for each in events] == ["echo seen"]


def test_event_ids_of_others_tell_nothing(alice: Person, bob: Person) -> None:
    alice.analyze("echo before")
    theirs = bob.analyze("echo between")["event"]
    mine = alice.analyze("echo behind")["event"]
    found = alice.api("GET", f"/api/events?after={theirs}&limit=1000")[1]["events"]
    unknown = alice.api("GET", "/api/events?after=0000&limit=1000")[1]["events"]
    assert [each["id"] for each in found][-1] == mine
    assert all(each["session"].startswith(f"u{ALICE.uid}-") for each in found)
    assert unknown[-1]["id"] == mine


@pytest.mark.parametrize(
    ("role", "status"),
    [("guard", 201), ("open", 201), (None, 201)]
    + [(each, 403) for each in ("closed", "absent", "none", "")],
)
def test_user_takes_the_default_role_or_one_that_is_open(
    alice: Person, role: str | None, status: int
) -> None:
    found, answer = alice.api("POST", "/api/sessions", {"role": role})
    if role == "":  # stands for no role given
        status = 201
    assert found == status, answer
    if found == 201:
        assert answer["role"] == (role or "guard")
        path = f"/api/sessions/{answer['id']}"
        assert alice.api("PATCH", path, {"role": "closed"})[0] == 403
        assert alice.api("PATCH", path, {"role": "open"})[0] == 200
        assert alice.api("DELETE", path)[0] == 204


def test_user_asks_no_other_role_for_a_verdict(alice: Person, admin: Person) -> None:
    body = {"content": "ls", "context": "Shell", "role": "closed"}
    assert alice.api("POST", "/api/analyze", body)[0] == 403
    assert alice.api("POST", "/api/analyze", {**body, "role": "open"})[0] == 200
    assert admin.api("POST", "/api/analyze", body)[0] == 200
    assert alice.api("GET", "/api/status")[1]["role_names"] == ["guard", "open"]


def test_root_of_a_session_is_a_process_of_the_users_own(
    alice: Person, bob: Person, admin: Person
) -> None:
    for pid in (bob.pid, admin.pid, os.getpid(), 1):
        status, answer = alice.api("POST", "/api/sessions", {"root_pid": pid})
        assert (status, answer["error"]) == (409, f"process {pid} is not yours")
    running = alice.api("GET", "/api/sessions")[1]["sessions"]
    assert bob.pid not in {each["root_pid"] for each in running}


def test_admin_opens_sessions_as_a_users_own_daemon_lets_one(
    admin: Person, agent: Person
) -> None:
    status, session = admin.api("POST", "/api/sessions", {"root_pid": agent.pid})
    assert status == 201
    assert agent.api_from("child", "GET", "/api/status")[0] == 403
    assert admin.api("POST", f"/api/sessions/{session['id']}/kill", {})[0] == 200


def test_group_of_the_daemon_administers_and_no_other_does(whole: Machine) -> None:
    for groups, expected in (((), False), ((0,), False), ((61001, 61002), False)):
        with whole.actor(User(BOB.uid, groups)) as person:
            status = person.api("GET", "/api/status")[1]
            assert status["administrator"] is expected, groups
    many = tuple(range(70000, 70400))
    with whole.actor(User(BOB.uid, (DAEMON.uid, *many))) as person:
        assert person.api("GET", "/api/status")[1]["administrator"] is False
    for user in (ADMIN, DAEMON, None):
        with whole.actor(user) as person:
            assert person.api("GET", "/api/status")[1]["administrator"] is True


def test_reviews_are_decided_by_their_owner_and_not_by_others(
    alice: Person, bob: Person, agent: Person
) -> None:
    own = guarded(agent)
    program = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import process_tree\n"
        'body = \'{"content": "please", "context": "Shell"}\'\n'
        "process_tree.request('/run/redlane/control.sock', 'POST', '/api/analyze', "
        "body)\n"
    )
    agent.ask("run", program)
    review = wait_for(lambda: alice.api("GET", "/api/reviews")[1]["reviews"])[0]
    assert review["session"] == own
    path = f"/api/reviews/{review['id']}"
    assert bob.api("GET", "/api/reviews")[1]["reviews"] == []
    assert bob.api("GET", "/api/status")[1]["held_reviews"] == 0
    assert bob.api("GET", path)[0] == 404
    assert bob.api("POST", path, {"decision": "allow"})[0] == 404
    for where in ("child", "orphan"):
        decision = {"decision": "allow"}
        assert agent.api_from(where, "POST", path, decision)[0] == 403
    assert alice.api("GET", path)[1]["state"] == "waiting"
    assert alice.api("POST", path, {"decision": "block"})[0] == 200
    assert bob.api("GET", "/api/reviews?over=true")[1]["reviews"] == []


def test_manual_has_the_table_of_rights() -> None:
    page = Path(__file__).parents[2] / "docs" / "system-wide.md"
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in page.read_text().splitlines()
        if line.startswith(("| `GET", "| `P", "| `D"))
    ]
    columns = (Who.ADMINISTRATOR, Who.USER, Who.SUPERVISOR, Who.MEMBER)
    told = {
        tuple(row[0].strip("`").split()): {
            who for who, cell in zip(columns, row[1:], strict=True) if cell != "no"
        }
        for row in rows
    }
    assert told == {key: RIGHTS[key] & set(columns) for key in RIGHTS}
