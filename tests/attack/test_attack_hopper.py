"""A process that forks and exits all the time is stopped and killed like any other."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from spec.redlane_home import wait_for

from redlane.membership.trees import continue_tree, kill_tree, members, stop_tree
from redlane.processes import Process, read_process

SUPERVISOR = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
if not os.fork():
    os.setsid()
    while True:
        if os.fork():
            os._exit(0)
print("up", flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        sys.exit()
"""


@pytest.fixture
def root() -> Iterator[Process]:
    """A supervisor with nothing below it but the one that is never the same."""
    started = subprocess.Popen(
        [sys.executable, "-c", SUPERVISOR], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "up\n"
    process = read_process(started.pid)
    assert process is not None
    yield process
    kill_tree(process)
    started.wait(20)
    started.stdout.close()


def living(root: Process) -> set[tuple[int, int]]:
    return {each.key for each in members(root)}


def test_what_was_stopped_stays_the_same(root: Process) -> None:
    for _ in range(10):
        assert stop_tree(root)
        stopped = wait_for(lambda: living(root))
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            assert living(root) == stopped
        assert continue_tree(root)
        wait_for(lambda: not living(root) & stopped)  # noqa: B023  # called at once


def test_kill_leaves_nothing(root: Process) -> None:
    assert kill_tree(root)
    assert not living(root)
    gone = read_process(root.pid)
    assert gone is None or gone.state == "dead"
