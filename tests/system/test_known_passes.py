"""Of a command that has passed nobody is asked again, until something changes."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home

pytestmark = needs_filters

AGENT = """
import json, subprocess, sys
for line in sys.stdin:
    ran = subprocess.run(json.loads(line), capture_output=True, text=True)
    print(json.dumps([ran.returncode, ran.stdout + ran.stderr]), flush=True)
"""
WORD = {"type": "Simple", "context": "Shell", "action": "Block"}
GREET = ("/bin/echo", "hello")


class Agent:
    """A session that starts what it is told to, by the words."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Talk to it over its streams."""
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._to, self._from = process, process.stdin, process.stdout

    def starts(self, *words: str) -> tuple[int, str]:
        """The status of a program, and what it said."""
        print(json.dumps(words), file=self._to, flush=True)
        status, said = json.loads(self._from.readline())
        return status, said


@contextmanager
def agent(home: Home) -> Iterator[Agent]:
    with subprocess.Popen(
        [REDLANE, "run", "--", sys.executable, "-I", "-c", AGENT],
        env={**home.env, "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Agent(process)
        finally:
            process.kill()


def session_of(home: Home, made: Agent) -> str:
    sessions = home.control.get("/api/sessions").json["sessions"]
    found: str = next(e["id"] for e in sessions if e["root_pid"] == made.process.pid)
    return found


def daemon_of(home: Home) -> int:
    status: dict[str, Any] = home.control.get("/api/status").json
    return int(status["pid"])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    (tmp_path / "h").mkdir()
    made = Home(tmp_path / "h")
    made.policies({**WORD, "id": "no-word", "pattern": "forbidden"})
    made.role("free", "no-word")
    made.role("none", "no-word", "no-greeting")
    made.policies({**WORD, "id": "no-greeting", "pattern": "hello"}, file="more.json")
    assert made.start("--role", "free").code == 0
    yield made
    made.stop()


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def test_nobody_is_asked_again(home: Home) -> None:
    with agent(home) as made:
        first = made.starts(*GREET)
        with stopped(daemon_of(home)):  # it would answer nothing
            again = made.starts(*GREET)

    assert first == again == (0, "hello\n")


def test_another_word_is_another_command(home: Home) -> None:
    with agent(home) as made:
        made.starts("/bin/echo", "hello")
        status, said = made.starts("/bin/echo", "forbidden")

    assert status == 126
    assert "'no-word'" in said


def reload(home: Home, _: Agent) -> None:
    home.role("free", "no-word", "no-greeting")
    assert home.run("reload").code == 0


def give_role(home: Home, made: Agent) -> None:
    done = home.run("session", "set-role", "--session", session_of(home, made), "none")
    assert done.code == 0, done


def kill_daemon(home: Home, _: Agent) -> None:
    daemon = os.pidfd_open(daemon_of(home))
    signal.pidfd_send_signal(daemon, signal.SIGKILL)
    select.select([daemon], [], [])
    os.close(daemon)


CHANGES = {"reload": reload, "another role": give_role, "no daemon": kill_daemon}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_it_counts_until_something_changes(
    home: Home, change: Callable[[Home, Agent], None]
) -> None:
    with agent(home) as made:
        before = [made.starts(*GREET) for _ in range(3)]
        change(home, made)
        status, said = made.starts(*GREET)

    assert before == [(0, "hello\n")] * 3
    assert status == 126, said


def test_a_program_that_was_exchanged_is_asked_about(
    home: Home, tmp_path: Path
) -> None:
    """By the same words another file runs."""
    place = tmp_path / "tool"
    place.write_bytes(Path("/bin/echo").read_bytes())
    place.chmod(0o755)
    with agent(home) as made:
        first = made.starts(str(place), "hello")
        place.unlink()
        place.write_text(
            "#!/usr/bin/env python3\nimport os\nos.system('echo forbidden')\n"
        )
        place.chmod(0o755)
        status, said = made.starts(str(place), "hello")

    assert first == (0, "hello\n")
    assert "'no-word'" in said, (status, said)


def test_a_script_is_read_each_time(home: Home, tmp_path: Path) -> None:
    script = tmp_path / "x.pl"
    script.write_text("print 'fine'")
    with agent(home) as made:
        first = made.starts("perl", str(script))
        script.write_text("system('/bin/echo forbidden')")
        _, said = made.starts("perl", str(script))

    assert first == (0, "fine")
    assert "'no-word'" in said
