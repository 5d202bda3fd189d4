"""A session's supervisor judges by the daemon's rules, and by none it cannot follow."""

import threading
from typing import Any

import pytest
from core.call_daemon import (
    BLOCK,
    CHECK,
    ETC,
    FLAG,
    HOME,
    KILL,
    UNLINK,
    Daemon,
    documents,
    judged,
)
from core.policy_home import simple
from spec.redlane_home import wait_for

from redlane.errors import DaemonError
from redlane.model.content import SystemCall

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
