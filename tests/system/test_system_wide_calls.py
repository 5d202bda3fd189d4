"""Supervised sessions of users on the machine's daemon, with the context we ship."""

from collections.abc import Iterator

import pytest
from spec.redlane_home import REDLANE, wait_for
from system.whole_machine import ALICE, BOB, Machine, starter

BLOCK = {
    "id": "no-passwd",
    "type": "Regex",
    "action": "Block",
    "context": "Syscall",
    "syscall": ["open", "openat"],
    "pattern": "^/etc/group$",
}


@pytest.fixture
def calls(whole: Machine) -> Iterator[Machine]:
    """The machine with a role that names system calls, open to users."""
    whole.write("policies/calls.json", [BLOCK])
    whole.write("roles/calls.json", {"name": "calls", "policies": ["no-passwd"]})
    whole.write(
        "settings.json",
        {"sevsh": {"default_role": "guard"}, "system": {"user_roles": ["calls"]}},
    )
    assert whole.control.post("/api/policies/reload", {}).status == 200
    yield whole
    for name in ("policies/calls.json", "roles/calls.json"):
        whole.path(f"etc/redlane/{name}").unlink()
    starter(whole)
    whole.control.post("/api/policies/reload", {})


SCRIPT = "cat /etc/group; cat /etc/passwd | head -1; id -u"


def test_session_of_a_user_is_supervised(calls: Machine) -> None:
    ran = calls.run(ALICE, "run", "--role", "calls", "--", "/bin/sh", "-c", SCRIPT)
    assert "Operation not permitted" in ran.err
    assert ran.out.splitlines()[-1] == str(ALICE.uid)
    assert len(ran.out.splitlines()) == 2
    events = calls.control.rows("/api/events?context=Syscall")
    assert {each["policy"] for each in events} == {"no-passwd"}


def test_supervisor_of_a_user_follows_its_own_session_alone(calls: Machine) -> None:
    with calls.spawn(
        BOB, REDLANE, "run", "--role", "calls", "--", "/bin/sleep", "60"
    ) as process:

        def running() -> str | None:
            found = [
                each
                for each in calls.control.rows("/api/sessions")
                if each["root_pid"] is not None and each["state"] == "running"
            ]
            held = [each["id"] for each in found if each["syscalls"]["coverage"]]
            return held[0] if held else None

        session = wait_for(running)
        shown = calls.run(BOB, "session", "show", "--session", session)
        assert "openat: exact" in shown.out
        assert calls.run(ALICE, "session", "show", "--session", session).code == 1
        calls.control.call("DELETE", f"/api/sessions/{session}")
        process.wait(20)
