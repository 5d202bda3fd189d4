"""The watcher of execs ends with its supervisor, and stops nobody in the meantime."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from syscall_attachments import (
    SECONDS,
    execute,
    privileged,
    session_cgroup,
    two_programs,
    until,
)

pytestmark = privileged

_SUPERVISOR = """
import ctypes, os, signal, sys
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.ebpf.executing import Executing
SessionCgroup.create().admit(os.getpid())
ctypes.CDLL(None).prctl(36, 1)  # a subreaper, as supervisors are
cgroup = SessionCgroup.create()
made = Executing(cgroup, lambda *_: True, lambda _: None, print)
print(made.process, cgroup.directory, flush=True)
os.kill(os.getpid(), int(sys.argv[1]))
made.stop()
"""


@pytest.fixture
def programs(tmp_path: Path) -> tuple[Path, Path]:
    return two_programs(tmp_path)


@contextmanager
def _supervisor(tmp_path: Path, signal_number: int) -> Iterator[tuple[int, int, Path]]:
    """A supervisor that sends itself a signal: its id, its watcher's, its cgroup."""
    script = tmp_path / "supervisor.py"
    script.write_text(_SUPERVISOR)
    command = [sys.executable, str(script), str(signal_number)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            watcher, directory = process.stdout.readline().split()
            yield process.pid, int(watcher), Path(directory)
        finally:
            process.send_signal(signal.SIGCONT)
            process.wait(SECONDS)
    with session_cgroup():  # the next one takes away what that one left
        assert not Path(directory).exists()
        assert not Path(directory).parent.name.startswith("redlane") or not (
            Path(directory).parent.exists()
        )


def test_stopped_supervisor_stops_nobody_else(
    programs: tuple[Path, Path], tmp_path: Path
) -> None:
    """Job control stops a session with its supervisor, and must not stop a machine."""
    with _supervisor(tmp_path, signal.SIGSTOP) as (supervisor, watcher, _):
        stat = Path(f"/proc/{supervisor}/stat")
        until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        assert os.getpgid(watcher) == os.getsid(watcher) == watcher
        children = Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
        assert str(watcher) not in children.split()
        assert os.waitstatus_to_exitcode(execute(str(programs[0]))) == 0


def test_frozen_supervisor_stops_nobody_else(
    programs: tuple[Path, Path], tmp_path: Path
) -> None:
    """Suspending a machine freezes the user's programs, and executes some more."""
    with _supervisor(tmp_path, signal.SIGSTOP) as (_, watcher, directory):
        frozen = directory.parent
        assert f"{watcher}" not in (frozen / "cgroup.procs").read_text().split()
        (frozen / "cgroup.freeze").write_text("1")
        try:
            events = frozen / "cgroup.events"
            until(lambda: "frozen 1" in events.read_text())
            assert os.waitstatus_to_exitcode(execute(str(programs[0]))) == 0
        finally:
            (frozen / "cgroup.freeze").write_text("0")


def test_watcher_ends_with_its_supervisor(tmp_path: Path) -> None:
    with _supervisor(tmp_path, signal.SIGKILL) as (_, watcher, _directory):
        until(lambda: not Path(f"/proc/{watcher}").exists())
