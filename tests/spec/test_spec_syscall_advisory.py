"""Other calls, killing, flags and checkers (policy format: Syscall policy rules)."""

import json
import signal
import socket
from pathlib import Path
from typing import Any

import pytest
from spec.calling_agents import Agents, Call, on_paths, placed
from spec.cases import executable, regex, simple

Policy = dict[str, Any]


# Rule 6, 7 and 8: advisory calls, and what no rule covers.


@pytest.mark.usefixtures("work")
def test_programs_are_blocked_by_path(agents: Agents) -> None:
    ends = agents.ask(
        on_paths("Block", "/(who|nohup)$", "execve", "execveat"),
        ("in-a-child", "run", "/usr/bin/nohup"),
        ("in-a-child", "run", "/usr/bin/true"),
    )

    assert ends == ["EPERM", "ok"]


def test_connections_are_blocked_by_address(agents: Agents, work: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        ports = [each.getsockname()[1] for each in (one, other)]
        path = str(work / "socket")
        with socket.socket(socket.AF_UNIX) as local:
            local.bind(path)
            local.listen()
            ends = agents.ask(
                on_paths("Block", rf"^127\.0\.0\.1:{ports[0]}$|/socket$", "connect"),
                *(("connect", "127.0.0.1", port) for port in ports),
                ("connect", path, 0),
            )

    assert ends == ["EPERM", "ok", "EPERM"]


def test_other_calls_have_path_filters_too(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/", "chmod", "truncate", "symlink", "link"),
        ("chmod", work / "denied" / "x"),
        ("chmod", work / "free" / "x"),
        ("truncate", work / "to-denied" / "x", 0),
        ("truncate", work / "free" / "x", 0),
        ("link", work / "free" / "x", work / "denied" / "hard"),
    )

    assert ends == ["EPERM", "ok", "EPERM", "ok", "EPERM"]


def test_hard_links_are_not_covered(agents: Agents, work: Path) -> None:
    (work / "free" / "hard").hardlink_to(work / "denied" / "x")

    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/", "openat"),
        ("openat", work / "free" / "hard"),
    )

    assert ends == ["ok"]


# `kill`, and Flag.


@pytest.mark.parametrize(
    ("call", "policy"),
    [
        (("mkdir", "{}/denied/new"), simple("Block", "mkdir")),
        (("unlink", "{}/denied/x"), regex("Block", "/denied/", syscall="unlink")),
    ],
    ids=["by-name", "by-path"],
)
def test_kill_ends_the_process(
    agents: Agents, work: Path, call: Call, policy: Policy
) -> None:
    before = sorted((work / "denied").iterdir())
    with agents.agent({**policy, "context": "Syscall", "kill": True}) as agent:
        assert agent.call("in-a-child", *placed(call, work)) == "EOWNERDEAD"
        assert agent.call("in-a-thread", *placed(call, work)) == ""
        agent.process.communicate(timeout=20)
        assert agent.process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
    assert sorted((work / "denied").iterdir()) == before


def test_kill_is_not_the_default(agents: Agents, work: Path) -> None:
    policy = simple("Block", "mkdir", context="Syscall")

    assert agents.ask(policy, ("mkdir", work / "new"), ("unlink", "none")) == [
        "EPERM",
        "ENOENT",
    ]


def test_flag_only_notifies(agents: Agents, work: Path) -> None:
    with agents.agent(on_paths("Flag", f"^{work}/denied/", "openat", "mkdir")) as agent:
        assert agent.call("openat", work / "denied" / "x") == "ok"
        assert agent.call("mkdir", work / "denied" / "new") == "ok"

        event = agent.event(lambda each: each["verdict"] == "FLAG")

        assert event["policy"] == f"{agent.role}-0"
        assert agents.home.control.rows("/api/reviews") == []


# Executable policies.

CHECKER = """#!/usr/bin/python3 -I
import json, sys
call = json.load(sys.stdin)
json.dump(call, open(sys.argv[1], "w"))
sys.exit("denied" not in str(call["paths"]))
"""


def test_checkers_are_told_of_the_call(agents: Agents, work: Path) -> None:
    checker, told = agents.place.base / "checker", agents.place.base / "told"
    checker.write_text(CHECKER)
    checker.chmod(0o755)
    policy = executable(
        "Block", f"{checker} {told}", syscall="mkdir", context="Syscall"
    )
    with agents.agent(policy) as agent:
        assert agent.call("mkdir", work / "free" / "new") == "ok"
        assert agent.call("mkdir", work / "to-denied" / "new") == "EPERM"
        call = json.loads(told.read_text())
        session = agent.session

    assert call["syscall"] == "mkdir"
    assert set(call["paths"]) == {
        f"{work}/to-denied/new",
        f"{work}/denied/new",
    }
    assert call["session"] == session
    assert isinstance(call["pid"], int)
    assert isinstance(call["ppid"], int)
    assert "calling.py" in str(call["command"])
    assert "args" in call
    assert not (work / "denied" / "new").exists()


@pytest.mark.parametrize("action", ["Block", "Flag", "Allow"])
def test_checker_that_is_not_there_blocks(
    agents: Agents, work: Path, action: str
) -> None:
    policy = executable(
        action, "/nonexistent/checker", syscall="mkdir", context="Syscall"
    )

    assert agents.ask(policy, ("mkdir", work / "new")) == ["EPERM"]
    assert not (work / "new").exists()


# Precedence and events.


def test_allow_is_before_block(agents: Agents, work: Path) -> None:
    policies = [
        simple("Block", syscall="mkdir", context="Syscall"),
        on_paths("Allow", f"^{work}/free/", "mkdir"),
    ]

    ends = agents.ask(
        policies, ("mkdir", work / "free" / "new"), ("mkdir", work / "denied" / "new")
    )

    assert ends == ["ok", "EPERM"]


def test_events_name_policy_call_and_path(agents: Agents, work: Path) -> None:
    path = str(work / "denied" / "x")
    policies = [
        on_paths("Block", "^/none$", "unlink"),
        on_paths("Block", "/denied/", "unlink"),
    ]
    with agents.agent(*policies) as agent:
        for _ in range(50):
            assert agent.call("unlink", path) == "EPERM"

        event = agent.event(lambda each: each["verdict"] == "BLOCK")
        assert event["policy"] == f"{agent.role}-1"
        assert event["context"] == "Syscall"
        assert "unlink" in json.dumps(event)
        assert path in json.dumps(event)


def test_what_is_allowed_leaves_no_event(agents: Agents, work: Path) -> None:
    with agents.agent(on_paths("Block", "/denied/", "openat", "unlink")) as agent:
        assert agent.call("openat", work / "free" / "x") == "ok"
        assert agent.call("unlink", work / "denied" / "x") == "EPERM"
        agent.event(lambda each: each["verdict"] == "BLOCK")
        events = agents.events(agent.session)

    assert not [each for each in events if each["verdict"] == "ALLOW"], events
