"""Restrictions between real users of one machine: each their own, and only so much."""

import json
import os
from typing import Any

import pytest
from system.whole_machine import ALICE, BOB, Machine, Person, User, guarded

INNER = ("sh", "-c", 'exec bash -c "$0"')
"""An agent that has a command judged, in place of the command itself."""


def block(pattern: str = "curl", **fields: Any) -> dict[str, Any]:
    plain = {"id": "mine", "type": "Simple", "action": "Block", "pattern": pattern}
    return {**plain, **fields}


def restricted(*policies: object) -> dict[str, Any]:
    return {"restrictions": {"policies": list(policies)}}


def own(whole: Machine, user: User, *policies: object) -> None:
    """Write a policy file of a user's own."""
    home = whole.home_of(user)
    file = home / ".redlane" / "policies" / "mine.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(list(policies)), encoding="utf-8")
    for each in (home / ".redlane", file.parent, file):
        os.chown(each, user.uid, user.uid)


def test_rules_of_one_user_are_for_that_user(whole: Machine) -> None:
    own(whole, ALICE, block(), block(id="loose", action="Allow", pattern=""))
    blocked = whole.run(ALICE, "run", "--", *INNER, "echo curl")
    assert (blocked.code, blocked.out) == (126, "")
    note, refusal = blocked.err.splitlines()
    assert "policy 'loose' is left out" in note
    assert "the session's own restriction 'mine' blocks this" in refusal
    assert whole.run(ALICE, "run", "--", *INNER, "echo rm -rf").code == 126
    assert whole.run(BOB, "run", "--", *INNER, "echo curl").out == "curl\n"


def test_broken_rules_of_a_user_refuse_the_run(whole: Machine) -> None:
    own(whole, ALICE, block("(", type="Regex"))
    ran = whole.run(ALICE, "run", "--", "echo", "ran")
    assert ran.out == ""
    assert "mine.json" in ran.refusal
    own(whole, ALICE)
    assert whole.run(ALICE, "run", "--", "echo", "ran").out == "ran\n"


@pytest.mark.parametrize(
    "socket", ["/var/run/redlane/control.sock", "//run/redlane/control.sock"]
)
def test_another_path_to_the_machine_leaves_no_rule_out(
    whole: Machine, socket: str
) -> None:
    own(whole, ALICE, block())
    env = {"REDLANE_SOCKET": socket}
    ran = whole.run(ALICE, "run", "--", *INNER, "echo curl", env=env)
    assert (ran.code, ran.out) == (126, "")
    own(whole, ALICE)


def test_session_in_processes_of_a_user_is_restricted(whole: Machine) -> None:
    with whole.actor(ALICE) as agent:
        session = guarded(agent, **restricted(block()))
        found = agent.analyze("curl x")
        assert (found["policy"], found["restriction"]) == ("mine", True)
        for body in (restricted(), restricted(block("other"))):
            assert agent.api("POST", "/api/sessions", body)[0] == 403
            path = f"/api/sessions/{session}"
            assert agent.api("PATCH", path, {"role": "open", **body})[0] == 403
        assert agent.analyze("curl x")["verdict"] == "BLOCK"


def test_users_do_not_see_each_other_s_restrictions(alice: Person, bob: Person) -> None:
    session = alice.open_session(**restricted(block()))
    assert bob.api("GET", f"/api/sessions/{session}")[0] == 404
    status, shown = alice.api("GET", f"/api/sessions/{session}")
    assert (status, shown["restricted"]) == (200, True)
    alice.api("DELETE", f"/api/sessions/{session}")


def test_unlike_sets_of_one_user_are_bounded(alice: Person, bob: Person) -> None:
    opened = [
        alice.open_session(**restricted(block(f"word{each}"))) for each in range(8)
    ]
    status, answer = alice.api("POST", "/api/sessions", restricted(block("more")))
    assert (status, "8 different sets" in answer["error"]) == (429, True)
    opened.append(alice.open_session(**restricted(block("word3"))))
    opened.append(alice.open_session())
    other = bob.open_session(**restricted(block("more")))
    assert alice.api("DELETE", f"/api/sessions/{opened.pop(0)}")[0] == 204
    opened.append(alice.open_session(**restricted(block("more"))))
    for each in opened:
        alice.api("DELETE", f"/api/sessions/{each}")
    bob.api("DELETE", f"/api/sessions/{other}")


def test_slow_restrictions_of_one_user_leave_others_alone(
    whole: Machine, alice: Person, bob: Person
) -> None:
    patterns = ["[ab]*a" + "[ab]" * 30 + "[cd]" * (n % 40 + 1) for n in range(1_000)]
    slow = alice.open_session(
        **restricted(
            *(block(p, id=str(n), type="Regex") for n, p in enumerate(patterns))
        )
    )
    with whole.actor(ALICE) as busy:
        body = {"content": "ab" * 20_000, "context": "Network", "session": slow}
        request = json.dumps(
            [
                "call",
                "self",
                "/run/redlane/control.sock",
                "POST",
                "/api/analyze",
                json.dumps(body),
            ]
        )
        assert busy.process.stdin is not None
        busy.process.stdin.write(request + "\n")
        busy.process.stdin.flush()
        quickest = min(bob.analyze("ls")["latency_ms"] for _ in range(20))
        assert quickest < 1_000
    alice.api("DELETE", f"/api/sessions/{slow}")
