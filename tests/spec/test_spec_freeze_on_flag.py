"""A role's `freeze_on_flag` freezes a session as long as something of it is held."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from spec.cases import simple
from spec.held import held
from spec.redlane_home import Home, wait_for

AGENT = """
import subprocess
beside = subprocess.Popen(["sleep", "1000"])
with open("beside", "w") as file:
    file.write(str(beside.pid))
subprocess.run(["sh", "-c", "echo o" + "dd"])
beside.kill()
beside.wait()
"""
STOPPED = "T"
REFUSED = 126


@pytest.fixture
def freezing(home: Home) -> Home:
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag", freeze_on_flag=True)
    home.role("free", "flag")
    home.settings(review={"timeout_seconds": 60})
    home.start("--role", "agent")
    return home


def state_of(pid: int) -> str:
    """The letter that the kernel has for what a process does; "" for none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[0]


def is_frozen(home: Home, session: str) -> bool:
    return bool(home.control.get(f"/api/sessions/{session}").json["frozen"])


def run_agent(home: Home, *, role: str = "agent") -> tuple[Any, dict[str, Any], int]:
    """An agent whose second command is held: it, the review, and what runs beside."""
    agent = home.spawn("run", "--role", role, "--", "python3", "-c", AGENT)
    (review,) = wait_for(lambda: held(home))
    return agent, review, int((home.user / "beside").read_text(encoding="utf-8"))


@pytest.mark.parametrize("decision", ["allow", "block"])
def test_processes_of_the_session_stand_still_until_it_is_decided(
    freezing: Home, decision: str
) -> None:
    agent, review, beside = run_agent(freezing)
    wait_for(lambda: state_of(beside) == STOPPED)
    assert is_frozen(freezing, review["session"])

    freezing.run("review", decision, review["id"])

    out, _ = agent.communicate(timeout=30)
    assert (out == "odd\n") is (decision == "allow")
    assert state_of(beside) == ""  # killed by the agent, which has gone on


def test_other_roles_go_on(freezing: Home) -> None:
    agent, review, beside = run_agent(freezing, role="free")
    assert not is_frozen(freezing, review["session"])
    assert state_of(beside) != STOPPED
    freezing.run("review", "block", review["id"])
    agent.communicate(timeout=30)


@pytest.fixture
def asking(freezing: Home) -> Iterator[Any]:
    """Asks about a text in the default session, in a thread of its own."""
    with ThreadPoolExecutor() as pool:
        yield lambda text: pool.submit(
            freezing.control.post,
            "/api/analyze",
            {"context": "Shell", "content": text},
        )


def test_what_is_asked_meanwhile_is_blocked(freezing: Home, asking: Any) -> None:
    first = asking("odd")
    (review,) = wait_for(lambda: held(freezing))
    wait_for(lambda: is_frozen(freezing, "default"))
    assert asking("ls").result(30).json["reason"] == "the session is frozen"

    freezing.run("review", "allow", review["id"])

    assert first.result(30).json["verdict"] == "ALLOW"
    assert asking("ls").result(30).json["verdict"] == "ALLOW"


@pytest.mark.parametrize("wish", ["freeze", "unfreeze"])
def test_what_a_person_wants_meanwhile_stays(
    freezing: Home, asking: Any, wish: str
) -> None:
    first = asking("odd")
    (review,) = wait_for(lambda: held(freezing))
    wait_for(lambda: is_frozen(freezing, "default"))
    assert freezing.run("session", wish).code == 0
    assert is_frozen(freezing, "default") is (wish == "freeze")

    freezing.run("review", "allow", review["id"])

    verdict = "BLOCK" if wish == "freeze" else "ALLOW"
    assert first.result(30).json["verdict"] == verdict
    assert is_frozen(freezing, "default") is (wish == "freeze")


def test_session_goes_on_after_the_daemon_was_killed(freezing: Home) -> None:
    agent, review, beside = run_agent(freezing)
    wait_for(lambda: state_of(beside) == STOPPED)
    daemon = int(freezing.control.get("/api/status").json["pid"])
    os.kill(daemon, signal.SIGKILL)

    out, err = agent.communicate(timeout=30)
    assert out == ""
    assert "closed the connection without a verdict; not run" in err

    freezing.start("--role", "agent")
    assert not is_frozen(freezing, review["session"])


def test_nobody_is_asked_and_nothing_frozen_where_it_is_not_held(
    freezing: Home,
) -> None:
    asked = {"context": "Shell", "content": "odd", "hold": False}
    assert freezing.control.post("/api/analyze", asked).json["verdict"] == "FLAG"
    assert not is_frozen(freezing, "default")
