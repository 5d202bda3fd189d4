"""A supervised session on a terminal: job control, interrupts and the foreground."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls_home import make_redlane, needs_filters
from spec.redlane_home import Home, wait_for

pytestmark = needs_filters

PROMPT = "outer> "
CONTROL_C, CONTROL_Z = "\x03", "\x1a"


class Terminal:
    """A shell with job control on a terminal, and what a person sees of it."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._text = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def read_until(self, pattern: str, seconds: float = 20.0) -> str:
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self._text)):
            left = deadline - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self._text!r}"
            if select.select([self._master], [], [], left)[0]:
                data = os.read(self._master, 65536).decode(errors="replace")
                self._text += data.replace("\r\n", "\n")
        text, self._text = self._text[: found.end()], self._text[found.end() :]
        return text

    def run(self, line: str) -> str:
        """Type a line to the outer shell; what is shown up to its next prompt."""
        self.type(f"{line}\n")
        self.read_until(re.escape(line) + "\n")
        return self.read_until(re.escape(PROMPT))


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_redlane(tmp_path_factory.mktemp("v") / "venv")


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory, redlane: Path) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.policies(
        {
            "id": "no-mkdir",
            "type": "Regex",
            "action": "Block",
            "context": "Syscall",
            "syscall": ["mkdir"],
            "pattern": "forbidden",
        }
    )
    made.role("calls", "no-mkdir")
    assert made.run("start", "--role", "calls", program=redlane).code == 0
    yield made
    made.stop()


@contextmanager
def terminal(home: Home) -> Iterator[Terminal]:
    environment = {**home.environment(), "TERM": "dumb", "PS1": PROMPT}
    pid, master = pty.fork()
    if not pid:
        os.chdir(home.user)
        os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "-i"], environment)
    try:
        made = Terminal(master)
        made.read_until(re.escape(PROMPT))
        yield made
    finally:
        os.close(master)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


COUNTING = "i=0; while :; do /bin/mkdir d$i; echo made $i; i=$((i+1)); read x; done"


def test_session_is_stopped_and_goes_on_in_the_foreground(
    home: Home, redlane: Path
) -> None:
    with terminal(home) as screen:
        screen.type(f"{redlane} run -- /bin/sh -c '{COUNTING}'\n")
        screen.read_until("\nmade 0\n")
        screen.type(CONTROL_Z)
        screen.read_until("Stopped")
        screen.read_until(re.escape(PROMPT))
        assert "Stopped" in screen.run("jobs")
        screen.type("fg\n\n")
        screen.read_until("made 1\n")
        assert (home.user / "d1").is_dir()
        screen.type(CONTROL_C)
        screen.read_until(re.escape(PROMPT))
        assert "130\n" in screen.run("echo $?")


def test_frozen_session_is_no_stopped_job(home: Home, redlane: Path) -> None:
    with terminal(home) as screen:
        screen.type(f"{redlane} run -- /bin/sh -c '{COUNTING}'\n")
        screen.read_until("\nmade 0\n")
        (session,) = (
            each["id"]
            for each in home.control.rows("/api/sessions")
            if not each["default"]
        )
        assert home.run("session", "freeze", "--session", session).code == 0
        assert home.run("session", "unfreeze", "--session", session).code == 0
        screen.type("\n")
        assert "Stopped" not in screen.read_until("made 1\n")
        screen.type(CONTROL_C)
        screen.read_until(re.escape(PROMPT))


def test_interrupt_reaches_the_agent_once(home: Home, redlane: Path) -> None:
    script = 'trap "echo interrupted" INT; echo ready; while :; do read x; done'
    with terminal(home) as screen:
        screen.type(f"{redlane} run -- /bin/sh -c '{script}'\n")
        screen.read_until("\nready\n")
        screen.type(CONTROL_C)
        screen.read_until("interrupted\n")
        (session,) = (
            each["id"]
            for each in home.control.rows("/api/sessions")
            if not each["default"]
        )
        assert home.run("session", "kill", "--session", session).code == 0
        shown = screen.read_until(re.escape(PROMPT))
        assert "interrupted" not in shown
        wait_for(
            lambda: (
                home.control.get(f"/api/sessions/{session}").json["state"] == "ended"
            )
        )
