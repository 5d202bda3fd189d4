"""A session's supervisor judges by the daemon's rules, and by none it cannot follow."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from core.policy_home import PLUGINS, simple
from spec.redlane_home import wait_for

from redlane.contexts.syscall.judge import SessionJudge
from redlane.contexts.syscall.link import Link, NotServedError
from redlane.contexts.syscall.reports import CallReport, Reports
from redlane.contexts.syscall.rules import read_rules
from redlane.errors import DaemonError
from redlane.model.content import SystemCall
from redlane.policies.parsing import parse_policy
from redlane.policies.policy_document import document_of
from redlane.policies.sources import Entry

ETC = SystemCall("open", ("link", "/etc/passwd"), {"pid": 7, "args": [1, 2]})
HOME = SystemCall("open", ("/home/x", "/home/x"))
UNLINK = SystemCall("unlink", ("/home/x",))
BLOCK = simple("etc", "/etc/", context="Syscall", syscall=["open"])
FLAG = simple("flag", None, action="Flag", context="Syscall", syscall="unlink")
KILL = simple("kill", None, context="Syscall", syscall="ptrace", kill=True)
CHECK = {**simple("check", "true", context="Syscall", syscall="execve")}
CHECK["type"] = "Executable"


def documents(*policies: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Policies as the daemon sends them."""
    found = []
    for order, policy in enumerate(policies):
        parsed = parse_policy(Entry("p.json", "", dict(policy)), order, PLUGINS)
        assert parsed.policy is not None, parsed.findings
        found.append({**document_of(parsed.policy), "order": order})
    return found


class Daemon:
    """Answers as the daemon does, and notes what it is told."""

    def __init__(self, *policies: Mapping[str, Any], **fields: Any) -> None:
        self.answer: Any = {
            "generation": "1",
            "role": "r",
            "ruleset": "d" * 64,
            "policies": documents(*policies),
            "restrictions": [],
            "frozen": False,
            "options": {"namespaces": False, "ebpf": False},
            "reason": "",
            "timeout_seconds": 0.2,
            "known": True,
            "daemon": 1,
            "own_files": {"kept": [], "closed": []},
            **fields,
        }
        self.error: Exception | None = None
        self.told: list[Mapping[str, Any]] = []
        self.asked: list[Mapping[str, Any]] = []
        self.verdict: dict[str, Any] = {"verdict": "BLOCK", "policy": "check"}
        self.changed = threading.Condition()

    def __call__(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        seconds: float = 30.0,
    ) -> Any:
        if path == "/api/analyze":
            assert body is not None
            self.asked.append(body)
            return self._checked(self.verdict)
        assert path.startswith("/api/sessions/s/syscalls")
        if method == "POST":
            assert body is not None
            self._checked(None)
            self.told.append(body)
            return {}
        with self.changed:
            if "after=" in path:
                self.changed.wait_for(lambda: self._is_news(path), seconds)
            return self._checked(self.answer)

    def _checked(self, answer: Any) -> Any:
        if self.error is not None:
            raise self.error
        return answer

    def _is_news(self, path: str) -> bool:
        return self.error is not None or (
            f"after={self.answer['generation']}&" not in path
        )

    def become(self, error: Exception | None = None, **fields: Any) -> None:
        """Change, and wake who waits for that."""
        with self.changed:
            self.error = error
            self.answer = {**self.answer, **fields}
            self.changed.notify_all()


def linked(daemon: Daemon) -> Link:
    return Link(daemon, "s", lambda found: read_rules(found, PLUGINS.match_types))


def judged(daemon: Daemon) -> SessionJudge:
    return SessionJudge(linked(daemon))


RULINGS: dict[str, tuple[SystemCall, bool, str | None, bool, bool]] = {
    "a Block on a path": (ETC, False, "etc", False, False),
    "another path": (HOME, True, None, False, False),
    "a Flag": (UNLINK, True, "flag", True, False),
    "a Block that kills": (SystemCall("ptrace"), False, "kill", False, True),
    "a call that nothing names": (
        SystemCall("rename", ("/etc/x",)),
        True,
        None,
        False,
        False,
    ),
    "an unreadable path": (SystemCall("open", (None,)), False, "etc", False, False),
}


@pytest.mark.parametrize(
    ("call", "allowed", "policy", "flagged", "kill"), RULINGS.values(), ids=RULINGS
)
def test_rulings_are_those_of_the_engine(
    call: SystemCall,
    policy: str | None,
    *,
    allowed: bool,
    flagged: bool,
    kill: bool,
) -> None:
    ruling = judged(Daemon(BLOCK, FLAG, KILL)).rule(call)
    assert (ruling.allowed, ruling.policy) == (allowed, policy)
    assert (ruling.flagged, ruling.kill, ruling.lasting) == (flagged, kill, True)


def test_restrictions_count_beside_the_role() -> None:
    allow = simple("may", None, action="Allow", context="Syscall", syscall="open")
    daemon = Daemon(allow, restrictions=[BLOCK])
    judge = judged(daemon)
    assert judge.rule(ETC).policy == "etc"
    assert judge.rule(HOME).policy == "may"
    assert dict(judge.named) == {"open": True}


def test_named_calls_tell_where_paths_count() -> None:
    judge = judged(Daemon(BLOCK, FLAG, CHECK))
    assert dict(judge.named) == {"open": True, "unlink": False, "execve": True}
    assert judge.is_slow == {"execve"}


UNUSABLE = {
    "no object": [],
    "a field is missing": {"generation": "1"},
    "no such type": {"type": "Nobody"},
    "no pattern": {"pattern": None, "syscall": None},
}


@pytest.mark.parametrize("wrong", UNUSABLE.values(), ids=UNUSABLE)
def test_rules_that_cannot_be_used_refuse_everything(wrong: Any) -> None:
    daemon = Daemon(BLOCK)
    if isinstance(wrong, dict) and "generation" not in wrong:
        daemon.answer["policies"] = [{**documents(BLOCK)[0], **wrong}]
    else:
        daemon.answer = wrong
    ruling = judged(daemon).rule(SystemCall("rename"))
    assert not ruling.allowed
    assert "rules cannot be used" in ruling.reason


def test_reason_refuses_everything() -> None:
    ruling = judged(Daemon(reason="the session is frozen")).rule(HOME)
    assert (ruling.allowed, ruling.reason) == (False, "the session is frozen")


@pytest.fixture
def followed() -> Any:
    """A daemon, and a judge that follows it."""
    links = []

    def follow(*policies: Mapping[str, Any]) -> tuple[Daemon, SessionJudge, Link]:
        daemon = Daemon(*policies)
        link = linked(daemon)
        link.announce(lambda: {"coverage": []})
        link.start()
        links.append((daemon, link))
        return daemon, SessionJudge(link), link

    yield follow
    for daemon, link in links:
        link.finish()
        daemon.become(generation="over")


Followed = Callable[..., tuple[Daemon, SessionJudge, Link]]


def test_rules_that_change_hold_at_once(followed: Followed) -> None:
    daemon, judge, _ = followed(BLOCK)
    told: list[int] = []
    judge.on_change(lambda: told.append(judge.generation))
    before = judge.generation
    daemon.become(generation="2", policies=[])
    wait_for(lambda: told)
    assert judge.generation != before
    assert judge.rule(ETC).allowed
    assert dict(judge.named) == {}
    daemon.become(generation="3", policies=documents(BLOCK), reason="frozen")
    wait_for(lambda: len(told) > 1)
    assert not judge.rule(HOME).allowed


def test_coverage_is_told_again_when_rules_change(followed: Followed) -> None:
    daemon, _, _ = followed(BLOCK)
    daemon.become(generation="2", policies=[])
    wait_for(lambda: len(daemon.told) > 1)
    assert daemon.told[1] == {"coverage": []}


def test_calls_wait_for_a_daemon_that_comes_back(followed: Followed) -> None:
    daemon, judge, _ = followed(BLOCK)
    daemon.answer["timeout_seconds"] = 20
    daemon.become(generation="2")
    wait_for(lambda: judge.generation > 1)
    before = judge.generation
    daemon.become(DaemonError("gone"))
    wait_for(lambda: judge.generation != before)
    found: list[Any] = []
    asking = threading.Thread(target=lambda: found.append(judge.rule(HOME)))
    asking.start()
    asking.join(0.2)
    assert found == []
    daemon.become(None)
    asking.join(20)
    assert found[0].allowed


def test_calls_are_refused_when_the_daemon_stays_away(followed: Followed) -> None:
    daemon, judge, _ = followed(BLOCK)
    before = judge.generation
    daemon.become(DaemonError("gone"))
    wait_for(lambda: judge.generation != before)
    ruling = judge.rule(HOME)
    assert (ruling.allowed, ruling.lasting) == (False, False)
    assert "daemon" in ruling.reason


FAILURES = {
    "it serves this session no more": NotServedError("no session 's'"),
    "something nobody foresaw": ZeroDivisionError("oops"),
}


@pytest.mark.parametrize("error", FAILURES.values(), ids=FAILURES)
def test_daemon_that_refuses_is_obeyed(followed: Followed, error: Exception) -> None:
    daemon, judge, _ = followed(BLOCK)
    before = judge.generation
    daemon.become(error)
    wait_for(lambda: judge.generation != before)
    ruling = judge.rule(HOME)
    assert not ruling.allowed
    assert str(error) in ruling.reason


CHECKED = {
    "blocked": ({"verdict": "BLOCK"}, False, False, False),
    "killed": ({"verdict": "BLOCK", "kill": True}, False, False, True),
    "flagged": ({"verdict": "FLAG"}, True, True, False),
    "allowed": ({"verdict": "ALLOW", "policy": None}, True, False, False),
    "what nobody knows": ({"verdict": "MAYBE"}, False, False, False),
    "no verdict": ([], False, False, False),
}


@pytest.mark.parametrize(
    ("answer", "allowed", "flagged", "kill"), CHECKED.values(), ids=CHECKED
)
def test_checkers_are_asked_where_they_run(
    answer: Any, *, allowed: bool, flagged: bool, kill: bool
) -> None:
    daemon = Daemon(CHECK)
    daemon.verdict = {"policy": "check", **answer} if answer else answer
    call = SystemCall("execve", ("/bin/ls", None, "/b\udcff"), {"pid": 3})
    ruling = judged(daemon).rule(call)
    assert (ruling.allowed, ruling.flagged) == (allowed, flagged)
    assert (ruling.kill, ruling.lasting) == (kill, False)
    (asked,) = daemon.asked
    assert asked["content"] == {
        "syscall": "execve",
        "paths": ["/bin/ls", None, None],
        "pid": 3,
    }
    assert asked["hold"] is False


def test_checkers_wait_for_a_daemon_that_comes_back() -> None:
    daemon = Daemon(CHECK, timeout_seconds=20)
    daemon.verdict = {"verdict": "ALLOW", "policy": None}
    judge = judged(daemon)
    daemon.become(DaemonError("gone"))
    found: list[Any] = []
    call = SystemCall("execve", ("/bin/ls",))
    asking = threading.Thread(target=lambda: found.append(judge.rule(call)))
    asking.start()
    wait_for(lambda: len(daemon.asked) > 1)
    assert found == []
    daemon.become(None)
    asking.join(20)
    assert found[0].allowed


def test_report_that_is_on_its_way_is_waited_for_at_the_end(
    followed: Followed,
) -> None:
    daemon, judge, link = followed(BLOCK)
    is_told, may_go_on = threading.Event(), threading.Event()

    class Slow(list[Mapping[str, Any]]):
        def append(self, body: Mapping[str, Any]) -> None:
            is_told.set()
            assert may_go_on.wait(20)
            super().append(body)

    daemon.told = Slow()
    judge.report(ETC, judge.rule(ETC))
    assert is_told.wait(20)
    ending = threading.Thread(target=link.finish)
    ending.start()
    ending.join(0.2)
    assert ending.is_alive()
    may_go_on.set()
    ending.join(20)
    (told,) = daemon.told
    assert [each["policy"] for each in told["events"]] == ["etc"]


def test_nobody_waits_for_reports_at_the_end() -> None:
    reports = Reports()
    waiting = threading.Thread(target=lambda: reports.take(1, 60))
    waiting.start()
    reports.close()
    waiting.join(20)
    assert not waiting.is_alive()
    reports.put(report("/a"))
    assert len(reports.take(1, 60)) == 1


def test_who_fails_to_listen_does_not_end_the_following(followed: Followed) -> None:
    daemon, judge, _ = followed(BLOCK)
    told: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    judge.on_change(fail)
    judge.on_change(lambda: told.append(judge.generation))
    for number in ("2", "3"):
        before = len(told)
        daemon.become(generation=number, policies=[])
        wait_for(lambda: len(told) > before)  # noqa: B023  # called at once
    assert judge.rule(ETC).allowed


def test_what_the_daemon_has_recorded_is_not_told_again(followed: Followed) -> None:
    daemon, judge, link = followed(BLOCK, CHECK)
    for call in (SystemCall("execve", ("/bin/ls",)), ETC):
        judge.report(call, judge.rule(call))
    link.finish()
    events = [each for body in daemon.told for each in body.get("events", ())]
    assert [each["policy"] for each in events] == ["etc"]
    (event,) = events
    assert event["call"]["paths"] == ["link", "/etc/passwd"]
    assert (event["verdict"], event["count"], event["kill"]) == ("BLOCK", 1, False)


def report(path: str, count: int = 1) -> CallReport:
    return CallReport(SystemCall("open", (path,)), "BLOCK", "p", "r", count=count)


def test_repeats_are_counted_together() -> None:
    reports = Reports()
    for path in ("/a", "/b", "/a"):
        reports.put(report(path))
    found = reports.take(10, 0)
    assert [(each.call.paths, each.count) for each in found] == [
        (("/a",), 2),
        (("/b",), 1),
    ]
    assert reports.take(10, 0) == []


def test_more_than_there_is_room_for_is_counted_by_kind() -> None:
    reports = Reports(most=3)
    for number in range(10_000):
        reports.put(report(f"/{number}"))
    found = reports.take(100, 0)
    assert len(found) == 4
    assert sum(each.count for each in found) == 10_000
    assert found[-1].call.paths == ()


def test_report_is_text_whatever_the_path_is() -> None:
    call = SystemCall("open", ("/b\udcff", None, "x" * 9000), {"command": "c" * 1001})
    document = CallReport(call, "BLOCK", None, "r" * 2000).document()
    assert document["call"] == {
        "syscall": "open",
        "paths": ["/b\\xff", None, "x" * 8192],
        "command": "c" * 1000,
    }
    assert len(str(document["reason"])) == 1000


def test_reports_wait_for_a_daemon_that_comes_back(followed: Followed) -> None:
    daemon, judge, _ = followed(BLOCK)
    daemon.become(DaemonError("gone"))
    judge.report(ETC, judge.rule(ETC))
    daemon.become(None)
    wait_for(lambda: [each for each in daemon.told if each.get("events")])
