"""Run a command, and see that nothing that it started is left when it has ended.

    contained.py COMMAND…

What is left at the end is named and killed, and the run has failed: the tests own every
process that they start. Nothing is adopted meanwhile, for Redlane tells orphans by who
adopts them: so what is looked for are processes without a parent that began during the
run and run in this checkout, from it, or in a directory of the tests. Those that this
program stands below are none: who starts a run in the background may be gone.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["run"]

_OURS = (str(Path(__file__).parents[1]) + "/", "/pytest-of-", "/redlane-calls-")
_GRACE_SECONDS = 20.0
"""How long what is ending by itself may take."""


def run(command: Sequence[str]) -> int:
    """Run `command`; its exit status, or 1 if it was good and something is left."""
    before = set(_orphans())
    child = subprocess.Popen(command)
    # A terminal tells all of them; what is left is to be seen to nevertheless.
    signal.signal(signal.SIGINT, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    code = child.wait()
    left = _end_what_is_left(before)
    for each in left:
        sys.stderr.write(f"left behind by the tests: {each}\n")
    return (code if code >= 0 else 128 - code) or (1 if left else 0)


def _end_what_is_left(before: set[int]) -> list[str]:
    """Kill, after a while, what still runs; how each was called."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while (left := set(_orphans()) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    named = [f"{pid}: {_called(pid)}" for pid in left]
    for pid in left:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return named


def _orphans() -> Iterator[int]:
    """The processes of the tests that the system's first process has adopted."""
    ancestors = set(_ancestors())
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent = _state_and_parent(place)
            is_adopted = parent == 1 and state != "Z" and _is_ours(place)
            if is_adopted and int(place.name) not in ancestors:
                yield int(place.name)


def _ancestors() -> Iterator[int]:
    process = os.getpid()
    with suppress(OSError):
        while process:
            yield process
            _, process = _state_and_parent(Path(f"/proc/{process}"))


def _state_and_parent(place: Path) -> tuple[str, int]:
    state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
    return state, int(parent)


def _is_ours(place: Path) -> bool:
    told = f"{_called(int(place.name))} {(place / 'cwd').readlink()}/"
    return any(each in told for each in _OURS)


def _called(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b" ".join(words).decode(errors="replace")[:200].strip()
    return "?"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
