"""`redlane-sh` outside of a session, under a role that names system calls."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from calls_home import make_redlane, needs_filters
from spec.redlane_home import Home, Ran

pytestmark = needs_filters


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_redlane(tmp_path_factory.mktemp("v") / "venv")


def write(home: Home) -> None:
    home.policies(
        {
            "id": "no-mkdir",
            "type": "Regex",
            "action": "Block",
            "context": "Syscall",
            "syscall": ["mkdir"],
            "pattern": "forbidden",
        },
        {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"},
    )
    home.role("calls with a name", "no-mkdir", "no-rm")
    home.role("free", "no-rm")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, redlane: Path) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    write(made)
    assert made.run("start", "--role", "calls with a name", program=redlane).code == 0
    yield made
    made.stop()


def wrapper(home: Home) -> Path:
    """The wrapper of this very installation: beside it is its command line."""
    return home.dir / "run" / "bin" / "redlane-sh"


def shell(home: Home, *words: str, **more: Any) -> Ran:
    return home.run(*words, program=wrapper(home), **more)


def sessions(home: Home) -> list[dict[str, Any]]:
    return [each for each in home.control.rows("/api/sessions") if not each["default"]]


TRY = "/bin/mkdir forbidden; /bin/mkdir fine; ls; exit 7"


def test_command_is_run_in_a_session_of_its_own(home: Home) -> None:
    ran = shell(home, "-c", f"echo $1; {TRY}", "name", "one")
    assert (ran.code, ran.out.split()) == (7, ["one", "fine"])
    assert "Operation not permitted" in ran.err
    (session,) = sessions(home)
    assert (session["role"], session["label"]) == ("calls with a name", "redlane-sh")
    assert session["state"] == "ended"
    shelled, called = home.control.rows("/api/events")
    assert (shelled["context"], shelled["session"]) == ("Shell", "default")
    assert (called["policy"], called["session"]) == ("no-mkdir", session["id"])


def test_scripts_are_run_in_a_session_of_their_own(home: Home) -> None:
    (home.user / "script.sh").write_text(f"echo $1; {TRY}")
    ran = shell(home, "script.sh", "one")
    assert (ran.code, ran.out.split()) == (7, ["one", "fine", "script.sh"])
    ran = shell(home, stdin=TRY.replace("fine", "other"))
    assert (ran.code, "forbidden" in ran.out) == (7, False)
    assert len(sessions(home)) == 2


def test_refusal_starts_no_session(home: Home) -> None:
    ran = shell(home, "-c", "rm -rf /nothing")
    assert ran.code == 126
    assert "no-rm" in ran.refusal
    assert sessions(home) == []


def test_role_without_system_calls_needs_no_session(home: Home) -> None:
    assert home.run("session", "set-role", "free").code == 0
    assert shell(home, "-c", TRY).out.split() == ["fine", "forbidden"]
    assert sessions(home) == []


def test_inside_a_session_nothing_changes(home: Home, redlane: Path) -> None:
    command = "redlane-sh -c '/bin/mkdir forbidden; echo $?'"
    ran = home.run("run", "--", "bash", "-c", command, program=redlane)
    assert ran.out.strip() == "1"
    assert len(sessions(home)) == 1


def test_without_the_context_nothing_is_run(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    other = make_redlane(tmp_path_factory.mktemp("o") / "venv", context=False)
    home = Home(tmp_path_factory.mktemp("h"))
    write(home)
    home.run("start", "--role", "calls with a name", program=other)
    ran = shell(home, "-c", "echo ran")
    home.stop()
    assert (ran.code, ran.out) == (126, "")
    assert "redlane-context-syscall" in ran.refusal


def test_writer_that_waits_for_answers_is_supervised_as_well(home: Home) -> None:
    with home.spawn(program=wrapper(home), stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name, status in (("forbidden", "1"), ("fine", "0")):
            process.stdin.write(f"/bin/mkdir {name}; echo $?\n")
            process.stdin.flush()
            assert process.stdout.readline().strip() == status
        process.stdin.close()
    (session,) = sessions(home)
    assert session["label"] == "redlane-sh"


def test_shell_on_a_terminal_is_supervised_as_well(home: Home) -> None:
    pid, master = pty.fork()
    if not pid:
        os.chdir(home.user)
        environment = {**home.environment(), "TERM": "dumb"}
        os.execve(wrapper(home), ["redlane-sh"], environment)
    try:
        shown = read_until(master, r"\[redlane calls with a name\]")
        os.write(master, b"/bin/mkdir forbidden; echo status $?\n")
        shown = read_until(master, r"\nstatus \d")
        assert "Operation not permitted" in shown
        assert len(sessions(home)) == 1
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


def read_until(master: int, pattern: str, seconds: float = 20.0) -> str:
    deadline = time.monotonic() + seconds
    text = ""
    while not re.search(pattern, text):
        left = deadline - time.monotonic()
        assert left > 0, f"no {pattern!r} in {text!r}"
        if select.select([master], [], [], left)[0]:
            text += os.read(master, 65536).decode(errors="replace").replace("\r", "")
    return text
