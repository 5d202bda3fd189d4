"""What was paused goes on when its daemon was killed, and nothing else does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from redlane.processes import Process, State, read_process
from redlane.state.sessions import SessionTable

WAITING = "import subprocess; subprocess.run(['cat'])"


@pytest.fixture
def root() -> Iterator[Process]:
    """A process with a child that is stopped."""
    words = (sys.executable, "-c", WAITING)
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        while not (child := _child(process.pid)):
            os.sched_yield()
        os.kill(child, signal.SIGSTOP)
        while _state(child) is not State.STOPPED:
            os.sched_yield()
        known = read_process(process.pid)
        assert known
        yield known
        os.kill(child, signal.SIGCONT)


def _child(pid: int) -> int:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return int(children or 0)


def _state(pid: int) -> State:
    process = read_process(pid)
    assert process
    return process.state


@pytest.mark.parametrize(
    ("by", "later", "goes_on"),
    [("pause", 0, True), ("freeze", 0, False), ("pause", 1, False)],
    ids=["paused", "frozen by a person", "another process of that number"],
)
def test_it_goes_on(
    tmp_path: Path, root: Process, by: str, later: int, *, goes_on: bool
) -> None:
    file = tmp_path / "sessions.json"
    table = SessionTable(file)
    session = table.create(root=(root.pid, root.start + later))
    getattr(table, by)(session.id)

    words = (sys.executable, "-m", "redlane.sessions.resuming", str(file))
    subprocess.run(words, stdin=subprocess.DEVNULL, check=True)

    assert (_state(_child(root.pid)) is not State.STOPPED) is goes_on
