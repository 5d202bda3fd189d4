"""A disk that the agent has filled does not keep a person from stopping it."""

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.redlane_home import Home

from redlane.state.sessions import DEFAULT_SESSION, SessionTable


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    made.role("guard", "no-rm")
    made.role("other", "no-rm")
    yield made
    made.stop()


def daemon_pid(home: Home) -> int:
    pid = home.control.get("/api/status").json["pid"]
    assert isinstance(pid, int)
    return pid


def fill_disk(home: Home) -> None:
    """No file of the daemon's can grow any more: the same as a full disk to it."""
    resource.prlimit(
        daemon_pid(home), resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)
    )


def test_everything_is_blocked_and_can_be_steered(home: Home) -> None:
    home.start("--role", "guard")
    assert home.control.analyze("ls")["verdict"] == "ALLOW"
    fill_disk(home)
    assert home.control.analyze("ls")["verdict"] == "BLOCK"
    for command in ("freeze", "unfreeze", "set-role other", "reload"):
        ran = home.run("session", *command.split())
        assert (command, ran.code) == (command, 0), ran
    warnings = home.control.get("/api/status").json["warnings"]
    assert any("cannot be saved" in each["message"] for each in warnings)
    endless = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(daemon_pid(home), resource.RLIMIT_FSIZE, endless)
    assert home.control.analyze("ls")["verdict"] == "ALLOW"
    home.run("session", "set-role", "guard")
    assert home.control.get("/api/status").json["warnings"] == []


def test_session_is_killed_all_the_same(home: Home) -> None:
    home.start("--role", "guard")
    code = "import time; print('up', flush=True); time.sleep(600)"
    agent = home.spawn("run", "--", sys.executable, "-c", code)
    assert agent.stdout is not None
    assert agent.stdout.readline() == "up\n"
    (session,) = [
        each["id"]
        for each in home.control.rows("/api/sessions")
        if each["id"] != DEFAULT_SESSION
    ]
    fill_disk(home)
    assert home.run("session", "kill", "--session", session).code == 0
    assert agent.wait(20) != 0
    agent.communicate()


def test_older_table_is_not_left_for_the_next_daemon(tmp_path: Path) -> None:
    file = tmp_path / "sessions.json"
    table = SessionTable(file, default_role="guard")
    table.set_role(DEFAULT_SESSION, "loose")
    (tmp_path / ".sessions.json.new").mkdir()
    table.set_role(DEFAULT_SESSION, "strict")
    assert str(file) in str(table.unsaved)
    assert not file.exists()
    (tmp_path / ".sessions.json.new").rmdir()
    table.freeze(DEFAULT_SESSION)
    assert str(table.unsaved) == "None"
    after = SessionTable(file).get(DEFAULT_SESSION)
    assert after is not None
    assert (after.role, after.frozen) == ("strict", True)
