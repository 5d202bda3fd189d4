"""Run a command, and see that nothing that it started is left when it has ended.

    contained.py COMMAND…

Whatever loses its parent becomes a child of this process. What is left at the end is
named and killed, and the run has failed: the tests own every process that they start.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["run"]

_SUBREAPER = 36
_GRACE_SECONDS = 5.0
"""How long what is ending by itself may take."""


def run(command: Sequence[str]) -> int:
    """Run `command`; its exit status, or 1 if it was good and something is left."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    child = subprocess.Popen(command)
    # A terminal tells all of them; what is left is to be seen to nevertheless.
    signal.signal(signal.SIGINT, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: child.send_signal(number))
    status = _wait_for(child.pid)
    left = _end_what_is_left()
    for each in left:
        sys.stderr.write(f"left behind by the tests: {each}\n")
    return status or (1 if left else 0)


def _wait_for(main: int) -> int:
    """Take every child's end until that of the main one."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == main:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _end_what_is_left() -> list[str]:
    """Kill, after a while, what still runs; how each was called."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while _reap() and time.monotonic() < deadline:
        time.sleep(0.05)
    left: dict[int, str] = {}
    while running := list(_children()):
        for pid in running:
            left.setdefault(pid, _called(pid))
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Those below the killed come here next.
        _reap()
    return [f"{pid}: {words}" for pid, words in left.items()]


def _reap() -> bool:
    """Take the ends that have come; whether there are children still."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def _children() -> Iterator[int]:
    own = Path(f"/proc/self/task/{os.getpid()}/children")
    yield from map(int, own.read_text().split())


def _called(pid: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b" ".join(words).decode(errors="replace")[:200].strip()
    return "?"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
