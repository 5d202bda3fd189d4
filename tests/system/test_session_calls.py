"""`/api/sessions/{id}/syscalls`: rules for a session's supervisor, and its reports."""

import json
import select
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from call_reports import EVENT, WRONG
from calls_home import make_redlane
from spec.control_client import Answer
from spec.redlane_home import Home
from system.calls import in_background, read_answer
from system.process_tree import Actor, actor

from redlane.wire.sockets import connect_socket

BLOCK = {
    "id": "no-unlink",
    "type": "Regex",
    "action": "Block",
    "context": "Syscall",
    "syscall": ["unlink", "rmdir"],
    "pattern": "^/etc/",
}
CHMOD = {"id": "no-chmod", "type": "Simple", "action": "Block", "context": "Syscall"}


class Supervised:
    """A session whose root holds its calls, and requests by that root."""

    def __init__(self, home: Home, root: Actor) -> None:
        self.home = home
        self.root = root
        self.session: dict[str, Any] = {}

    @property
    def path(self) -> str:
        return f"/api/sessions/{self.session['id']}"

    def call(
        self, method: str, path: str, body: object = None, where: str = "self"
    ) -> Answer:
        text = "" if body is None else json.dumps(body)
        socket = str(self.home.control.socket)
        status, answer = self.root.call(where, socket, method, path, text)
        return Answer(status, answer or "")

    def open(self, **fields: object) -> Answer:
        body = {"root_pid": self.root.pid, "holds_calls": True, **fields}
        answer = self.call("POST", "/api/sessions", body)
        self.session = answer.json
        return answer

    def rules(self, query: str = "") -> Any:
        return self.call("GET", f"{self.path}/syscalls{query}").json

    def report(self, **body: object) -> Answer:
        return self.call("POST", f"{self.path}/syscalls", body)

    def shown(self) -> Any:
        return self.home.control.get(self.path).json


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return make_redlane(tmp_path_factory.mktemp("v") / "venv")


@pytest.fixture
def supervised(
    tmp_path_factory: pytest.TempPathFactory, redlane: Any
) -> Iterator[Supervised]:
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies(
        {**BLOCK, "syscall": "unlink"},
        {**CHMOD, "pattern": "chmod"},
        {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"},
    )
    home.role("calls", "no-unlink", "no-rm")
    home.role("more", "no-unlink", "no-chmod")
    home.role("free", "no-rm")
    home.role("boxes", "no-unlink", namespaces="allow", ebpf=True)
    assert home.run("start", "--role", "calls", program=redlane).code == 0
    with actor() as root:
        root.ask("name", "redlane-run")
        yield Supervised(home, root)
    home.stop()


HOLDS = {"filter": {"syscalls": ["unlink"], "namespaces": False}}


def test_supervisor_gets_the_rules(supervised: Supervised) -> None:
    assert supervised.open().status == 201
    rules = supervised.rules()
    assert rules["policies"] == [{**BLOCK, "syscall": ["unlink"], "order": 0}]
    assert (rules["role"], rules["frozen"], rules["reason"]) == ("calls", False, "")
    assert rules["options"] == {
        "namespaces": False,
        "ebpf": False,
        "writable": None,
        "allowed": [],
        "hidden": [],
    }
    assert (rules["timeout_seconds"], rules["known"]) == (5, False)
    assert len(rules["ruleset"]) == 64
    supervised.home.control.call("DELETE", supervised.path)


def test_role_says_what_its_sandboxes_may(supervised: Supervised) -> None:
    supervised.open(role="boxes")
    assert supervised.rules()["options"] == {
        "namespaces": True,
        "ebpf": True,
        "writable": None,
        "allowed": [],
        "hidden": [],
    }


def test_only_the_root_and_a_person_may_look_and_only_the_root_reports(
    supervised: Supervised,
) -> None:
    supervised.open()
    path = f"{supervised.path}/syscalls"
    control = supervised.home.control
    assert control.get(f"{path}?wait=0").status == 200
    assert control.post(path, HOLDS).status == 403
    for method in ("GET", "POST"):
        assert supervised.call(method, path, where="child").status == 403
        other = "/api/sessions/default/syscalls"
        assert supervised.call(method, other).status == 403
    assert control.get("/api/sessions/nobody/syscalls").status == 404


CHANGES = {
    "a reload": ("POST", "/api/policies/reload", {}),
    "a role": ("PATCH", "{session}", {"role": "free"}),
    "a freeze": ("POST", "{session}/freeze", {}),
}


@pytest.mark.parametrize(("method", "path", "body"), CHANGES.values(), ids=CHANGES)
def test_change_wakes_who_waits(
    supervised: Supervised, method: str, path: str, body: object
) -> None:
    supervised.open()
    before = supervised.rules()["generation"]
    supervised.home.policies(
        {**BLOCK, "syscall": "unlink", "pattern": "^/srv/"}, file="policies.json"
    )
    supervised.home.role("calls", "no-unlink")
    for each in ("more", "free", "boxes"):
        supervised.home.role(each, "no-unlink")
    control = supervised.home.control
    waiting = connect_socket(control.socket, 30)
    query = f"{supervised.path}/syscalls?after={before}&wait=60"
    waiting.sendall(f"GET {query} HTTP/1.0\r\n\r\n".encode())
    assert control.get("/api/status").status == 200  # it came later
    assert not select.select([waiting], [], [], 0)[0]
    call = path.format(session=supervised.path)
    assert control.call(method, call, body).status == 200
    assert read_answer(waiting).json["generation"] != before
    control.post(f"{supervised.path}/unfreeze", {})


def test_wait_ends_with_the_same_rules_when_nothing_changes(
    supervised: Supervised,
) -> None:
    supervised.open()
    before = supervised.rules()
    assert supervised.rules(f"?after={before['generation']}&wait=1") == before


def test_frozen_and_ended_sessions_are_refused_with_a_reason(
    supervised: Supervised,
) -> None:
    supervised.open()
    control = supervised.home.control
    control.post(f"{supervised.path}/freeze", {})
    assert "frozen" in control.get(f"{supervised.path}/syscalls").json["reason"]
    control.post(f"{supervised.path}/unfreeze", {})
    control.post(f"{supervised.path}/kill", {})
    assert "ended" in control.get(f"{supervised.path}/syscalls").json["reason"]


def test_session_is_blocked_until_its_filter_is_there(supervised: Supervised) -> None:
    supervised.open()
    body = {"content": "ls", "context": "Shell"}
    answer = supervised.call("POST", "/api/analyze", body, "child")
    assert answer.json["verdict"] == "BLOCK"
    assert "unlink" in answer.json["reason"]
    assert supervised.report(**HOLDS).status == 200
    answer = supervised.call("POST", "/api/analyze", body, "child")
    assert answer.json["verdict"] == "ALLOW"
    assert supervised.rules()["reason"] == ""


def test_coverage_is_shown(supervised: Supervised) -> None:
    supervised.open()
    entry = {
        "syscall": "unlink",
        "enforcement": "exact",
        "by": "a test",
        "reason": "because",
    }
    assert supervised.report(**HOLDS, coverage=[entry]).status == 200
    assert supervised.rules()["known"] is True
    shown = supervised.shown()["syscalls"]
    assert shown == {
        "named": ["unlink"],
        "guarded": True,
        "namespaces": False,
        "writable": None,
        "allowed": [],
        "hidden": [],
        "filtered": ["unlink"],
        "problem": None,
        "coverage": [entry],
        "boundary": "any",
        "egress": "any",
        "not_held": shown["not_held"],  # by the kernel: each has another answer
    }
    home, session = supervised.home, supervised.session["id"]
    text = home.run("session", "show", "--session", session).out
    assert "unlink: exact (a test; because)" in text
    assert (
        home.run("session", "show", "--session", session, "--json").json["syscalls"]
        == shown
    )
    assert "exact: unlink" in home.run("session", "list").out
    assert "exact: unlink" in home.run("status").out


def test_role_that_names_more_than_the_filter_stops_is_refused(
    supervised: Supervised,
) -> None:
    supervised.open()
    supervised.report(**HOLDS)
    home, session = supervised.home, supervised.session["id"]
    ran = home.run("session", "set-role", "more", "--session", session)
    assert ran.code == 1
    assert "chmod" in ran.refusal
    assert "start it again" in ran.refusal
    assert supervised.shown()["role"] == "calls"
    for role in ("free", "calls"):
        assert home.run("session", "set-role", role, "--session", session).code == 0


def test_role_that_denies_namespaces_is_refused_where_the_filter_lets_them_in(
    supervised: Supervised,
) -> None:
    supervised.open(role="boxes")
    supervised.report(filter={"syscalls": ["unlink"], "namespaces": True})
    home, session = supervised.home, supervised.session["id"]
    ran = home.run("session", "set-role", "calls", "--session", session)
    assert "namespaces" in ran.refusal


def test_reload_that_names_more_blocks_the_session_and_says_so(
    supervised: Supervised, redlane: Any
) -> None:
    supervised.open()
    supervised.report(**HOLDS)
    home = supervised.home
    home.role("calls", "no-unlink", "no-chmod")
    ran = home.run("session", "reload", program=redlane)
    assert ran.code == 0
    assert "chmod" in ran.err
    assert supervised.session["id"] in ran.err
    assert "chmod" in supervised.rules()["reason"]
    for command in (
        ("status",),
        ("session", "show", "--session", supervised.session["id"]),
    ):
        assert "chmod" in home.run(*command).out
    body = {"content": "ls", "context": "Shell"}
    answer = supervised.call("POST", "/api/analyze", body, "child").json
    assert answer["verdict"] == "BLOCK"
    assert "start it again" in answer["reason"]
    home.role("calls", "no-unlink")
    assert home.run("session", "reload", program=redlane).err.count("chmod") == 0
    assert supervised.rules()["reason"] == ""


def test_filter_is_known_after_the_daemon_was_killed(
    supervised: Supervised, redlane: Any
) -> None:
    supervised.open()
    supervised.report(**HOLDS)
    home = supervised.home
    assert home.run("restart", program=redlane).code == 0
    rules = supervised.rules()
    assert (rules["reason"], rules["known"]) == ("", False)
    assert supervised.shown()["syscalls"]["filtered"] == ["unlink"]


NOT_OPENED = {
    "another names itself the holder of a process": {
        "root_pid": True,
        "holds_calls": True,
    },
    "the root holds nothing": {"root_pid": True},
}


@pytest.mark.parametrize("body", NOT_OPENED.values(), ids=NOT_OPENED)
def test_session_with_processes_that_nobody_holds_is_refused(
    supervised: Supervised, body: dict[str, object]
) -> None:
    opening = {**body, "root_pid": supervised.root.pid}
    answer = supervised.home.control.post("/api/sessions", opening)
    assert answer.status == 409
    assert "redlane run" in answer.error
    named = supervised.home.control.post("/api/sessions", {})
    assert named.status == 201


def test_events_are_recorded_as_they_were_found(supervised: Supervised) -> None:
    supervised.open()
    supervised.report(**HOLDS)
    flag = {**EVENT, "verdict": "FLAG", "kill": False, "count": 1}
    assert supervised.report(events=[EVENT, flag]).json == {"events": 2}
    path = f"/api/events?session={supervised.session['id']}"
    blocked, flagged = supervised.home.control.rows(path)
    assert (blocked["verdict"], blocked["lane"]) == ("BLOCK", "RED")
    assert (flagged["verdict"], flagged["lane"]) == ("FLAG", "YELLOW")
    assert (blocked["policy"], blocked["context"]) == ("no-unlink", "Syscall")
    assert (blocked["pid"], blocked["role"]) == (5, "calls")
    assert json.loads(blocked["content"]) == EVENT["call"]
    assert blocked["details"] == "its process was killed\n3 times"
    metrics = supervised.home.control.get("/metrics").text
    assert 'redlane_syscall_events_total{verdict="BLOCK"} 3' in metrics
    assert 'redlane_syscall_events_total{verdict="FLAG"} 1' in metrics


def test_reports_of_another_form_are_refused(supervised: Supervised) -> None:
    supervised.open()
    refused = {name: supervised.report(**body) for name, body in WRONG.items()}
    assert {name: each.status for name, each in refused.items()} == dict.fromkeys(
        WRONG, 400
    )
    assert all(each.error for each in refused.values())
    assert supervised.shown()["syscalls"]["filtered"] is None
    path = f"/api/events?session={supervised.session['id']}"
    assert supervised.home.control.rows(path) == []


def test_many_may_wait_and_everything_else_is_served(supervised: Supervised) -> None:
    supervised.open()
    before = supervised.rules()["generation"]
    path = f"{supervised.path}/syscalls?after={before}&wait=60"
    control = supervised.home.control
    waiting = [in_background(control.get, path)[0] for _ in range(250)]
    assert control.get("/api/status").status == 200
    assert control.analyze("ls")["verdict"] == "ALLOW"
    control.post(f"{supervised.path}/freeze", {})
    _join(waiting)
    control.post(f"{supervised.path}/unfreeze", {})


def _join(threads: list[threading.Thread]) -> None:
    for each in threads:
        each.join(30)
        assert not each.is_alive()


def test_refused_calls_are_counted_by_rule_and_call(supervised: Supervised) -> None:
    supervised.open()
    supervised.report(**HOLDS, events=[EVENT, {**EVENT, "verdict": "FLAG"}])
    supervised.report(events=[{**EVENT, "count": 4}])
    expected = [{"count": 7, "policy": "no-unlink", "syscall": "unlink"}]
    assert supervised.shown()["refused_calls"] == expected
    home, session = supervised.home, supervised.session["id"]
    text = home.run("session", "show", "--session", session).out
    assert "7 times unlink by no-unlink" in text
    text = home.run("events", "--count", "--session", session).out
    assert [each.split() for each in text.splitlines()] == [
        ["7", "BLOCK", "Syscall", "no-unlink", "unlink"],
        ["3", "FLAG", "Syscall", "no-unlink", "unlink"],
    ]
    told = home.run("events", "--count", "--verdict", "FLAG", "--json").out
    assert json.loads(told)["count"] == 3
    assert home.run("events", "--count", "--follow").code == 2
