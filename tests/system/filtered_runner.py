"""Supervised sessions of `redlane-run --filter`, as either user."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from system.wrapper_programs import make_wrapper

__all__ = [
    "Runner",
    "is_alive",
    "launcher_of",
    "line_of",
    "program",
    "runner",
    "state_of",
]

_SESSION = Path(__file__).with_name("filtered_session.py")
_NOBODY = 65534


@dataclass(frozen=True)
class Runner:
    """A `redlane-run`, and who runs it: None for ourselves."""

    program: Path
    user: int | None

    def words(self, *command: str, named: str = "") -> list[str]:
        """The command line of a supervised session."""
        return [sys.executable, str(_SESSION), str(self.program), named, *command]

    def run(
        self, *command: str, named: str = "", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a session to its end."""
        return subprocess.run(
            self.words(*command, named=named),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
            env={**os.environ, "PATH": os.defpath, **(env or {})},
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    @contextmanager
    def started(
        self, *command: str, named: str = ""
    ) -> Iterator["subprocess.Popen[str]"]:
        """A running session; what is left of it is killed in the end."""
        with subprocess.Popen(
            self.words(*command, named=named),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            process_group=0,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(scope="module")
def program() -> Iterator[Path]:
    """`redlane-run`, where every user can run it."""
    directory = Path(tempfile.mkdtemp(prefix="redlane-test-"))
    directory.chmod(0o755)
    yield make_wrapper(directory) / "redlane-run"
    shutil.rmtree(directory)


@pytest.fixture(params=[None, _NOBODY], ids=["ourselves", "nobody"])
def runner(request: pytest.FixtureRequest, program: Path) -> Runner:
    """A `redlane-run`, as root and as an ordinary user where we can be both."""
    if request.param is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    return Runner(program, request.param)


def line_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def state_of(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


def is_alive(pid: int) -> bool:
    return state_of(pid) not in ("", "Z")


def launcher_of(process: "subprocess.Popen[str]") -> int:
    """The process between the supervisor and the agent."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(children.read_text().split()[0])
