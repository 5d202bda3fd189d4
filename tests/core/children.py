"""Running children in tests, and seeing what is left of them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from redlane.execution import Command, Ending, run_all

__all__ = [
    "in_another_process",
    "is_gone",
    "open_descriptors",
    "our_children",
    "run",
    "shell",
    "wait_until",
]


def run(*words: str, stdin: bytes = b"", seconds: float = 20) -> Ending:
    command = Command(words, stdin, keeps_output=True)
    return run_all([command], seconds=seconds)[0]


def shell(script: str, stdin: bytes = b"", seconds: float = 20) -> Ending:
    return run("sh", "-c", script, stdin=stdin, seconds=seconds)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        os.sched_yield()


def is_gone(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in "ZX"


def our_children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        # A thread that has ended since it was listed left its children to another.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.update((task / "children").read_text().split())
    return found


def open_descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def in_another_process(
    setup: str,
    words: tuple[str, ...],
    count: int = 1,
    *,
    seconds: float = 20,
    wait: bool = False,
) -> list[str]:
    """How commands end in a process that `setup` has put into trouble.

    With `wait` the process then waits until it has no child any more.
    """
    program = f"""
import os, resource, signal
from redlane.execution import Command, run_all
run_all([Command(("true",))])
{setup}
endings = run_all([Command({words!r})] * {count}, seconds={seconds})
print(*[f"{{each.manner}}: {{each.told}}" for each in endings], sep="\\n")
while {wait}:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        print("no child is left")
        break
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return done.stdout.splitlines()
