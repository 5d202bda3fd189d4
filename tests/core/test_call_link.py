"""A session's supervisor follows the daemon's rules, and tells it what it ruled."""

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from core.call_daemon import BLOCK, CHECK, ETC, HOME, Daemon, documents, linked
from spec.redlane_home import wait_for

from redlane.client import RefusedError
from redlane.contexts.syscall.judge import SessionJudge
from redlane.contexts.syscall.link import Link
from redlane.contexts.syscall.reports import CallReport, Reports
from redlane.errors import DaemonError
from redlane.model.content import SystemCall


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


def _is_in(thread: threading.Thread, name: str) -> bool:
    """Whether a thread is within a call of a function of this name."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_name != name:
        frame = frame.f_back
    return frame is not None


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
    wait_for(lambda: _is_in(asking, "wait"))
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("policy", "name"), [(BLOCK, "open"), (CHECK, "execve")])
def test_one_call_waits_for_a_daemon_that_stays_away(
    followed: Followed, policy: Mapping[str, Any], name: str
) -> None:
    """That it is away is found out once: each anew, these would take minutes."""
    call = replace(ETC, name=name)
    daemon, judge, _ = followed(policy)
    before = judge.generation
    daemon.become(DaemonError("gone"))
    wait_for(lambda: judge.generation != before)
    assert not any(judge.rule(call).allowed for _ in range(1000))
    before = judge.generation
    daemon.become(None)
    wait_for(lambda: judge.generation != before)
    assert judge.rule(HOME).allowed


FAILURES = {
    "it serves this session no more": RefusedError("no session 's'", 404, {}),
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
    wait_for(lambda: _is_in(ending, "join"))
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
