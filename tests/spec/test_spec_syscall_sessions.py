"""Syscall policies that change while a session runs, and how firmly they hold."""

import json
import select
from pathlib import Path

import pytest
from spec.calling_agents import Agents, descendants, on_paths
from spec.cases import simple
from spec.redlane_home import wait_for

# A running session.


def test_reload_takes_effect_in_a_running_session(agents: Agents, work: Path) -> None:
    one, other = work / "denied" / "x", work / "free" / "x"
    with agents.agent(on_paths("Block", f"^{one}$", "openat")) as agent:
        assert [agent.call("openat", each) for each in (one, other)] == ["EPERM", "ok"]

        policy = {"id": f"{agent.role}-0", **on_paths("Block", f"^{other}$", "openat")}
        agents.home.policies(policy, file=f"{agent.role}.json")
        agents.reload()

        wait_for(lambda: agent.call("openat", other) == "EPERM")
        assert agent.call("openat", one) == "ok"


def test_role_changes_in_a_running_session(agents: Agents, work: Path) -> None:
    one, other = work / "denied" / "x", work / "free" / "x"
    second = agents.role(on_paths("Block", f"^{other}$", "openat"))
    with agents.agent(on_paths("Block", f"^{one}$", "openat")) as agent:
        assert agent.call("openat", one) == "EPERM"

        ran = agents.home.run("session", "set-role", second, "--session", agent.session)

        assert ran.code == 0, ran
        wait_for(lambda: agent.call("openat", other) == "EPERM")
        assert agent.call("openat", one) == "ok"


def test_role_that_the_filter_does_not_cover_is_refused(
    agents: Agents, work: Path
) -> None:
    second = agents.role(simple("Block", syscall="sethostname", context="Syscall"))
    with agents.agent(on_paths("Block", "/denied/", "openat")) as agent:
        ran = agents.home.run("session", "set-role", second, "--session", agent.session)

        assert "sethostname" in ran.refusal
        assert agent.call("openat", work / "denied" / "x") == "EPERM"
        assert agent.call("openat", work / "free" / "x") == "ok"


def test_reload_that_the_filter_does_not_cover_blocks_the_session(
    agents: Agents, work: Path
) -> None:
    with agents.agent(on_paths("Block", "/denied/", "openat")) as agent:
        assert agent.call("openat", work / "free" / "x") == "ok"
        policy = simple("Block", syscall="sethostname", context="Syscall")
        named = {"id": f"{agent.role}-0", **policy}
        agents.home.policies(named, file=f"{agent.role}.json")

        said = json.dumps(agents.reload())

        assert agent.session in said
        wait_for(lambda: agent.call("openat", work / "free" / "x") == "EPERM")


def test_frozen_session_goes_on_when_it_is_let(agents: Agents, work: Path) -> None:
    with agents.agent(on_paths("Block", "/denied/", "openat")) as agent:
        assert agent.call("openat", work / "free" / "x") == "ok"
        session = agent.session

        assert agents.home.run("session", "freeze", "--session", session).code == 0
        agent.tell("openat", work / "free" / "x")
        waiting = select.select([agent.process.stdout], [], [], 0.5)[0] == []
        assert waiting or agent.answer() == "EPERM"

        assert agents.home.run("session", "unfreeze", "--session", session).code == 0
        assert not waiting or agent.answer() in ("ok", "EPERM")
        wait_for(lambda: agent.call("openat", work / "free" / "x") == "ok")
        assert agent.call("openat", work / "denied" / "x") == "EPERM"


def test_frozen_session_whose_supervisor_is_killed_ends(
    agents: Agents, work: Path
) -> None:
    with agents.agent(on_paths("Block", "/denied/", "openat")) as agent:
        assert agent.call("openat", work / "free" / "x") == "ok"
        session = agent.session
        tree = descendants(agent.process.pid)
        assert len(tree) > 1

        assert agents.home.run("session", "freeze", "--session", session).code == 0
        agent.process.kill()

        wait_for(lambda: not any(map(has_a_program, tree)))


def has_a_program(pid: int) -> bool:
    """Whether a process is there and no zombie; one that just ends hides which."""
    try:
        return Path(f"/proc/{pid}/exe").exists()
    except PermissionError:
        return True


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openat", "exact"),
        ("mkdir", "exact"),
        ("execve", "advisory"),
        ("connect", "advisory"),
    ],
)
def test_status_says_how_firmly_calls_are_held(
    agents: Agents, name: str, expected: str
) -> None:
    with agents.agent(on_paths("Block", "/denied/", name)) as agent:
        assert agent.call("openat", agents.work) == "ok"
        session = agent.session
        shown = agents.home.run("session", "show", "--session", session)
        status = agents.home.run("status")

    assert shown.code == 0, shown
    for said in (shown.out, status.out):
        assert name in said
        assert expected in said
