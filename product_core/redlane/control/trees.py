"""Everything that runs in a session: stop it, let it go on, kill it.

The supervisor itself is left alone as long as anything else lives: it is what keeps
the tree together.
"""

import os
import select
import signal
import time
from collections import defaultdict
from collections.abc import Callable

from redlane.control.processes import Process, State, processes, read_process

__all__ = ["continue_tree", "kill_tree", "members", "stop_tree"]

_MOST_SECONDS = 5.0
_PARTING_MILLISECONDS = 1000


def members(root: Process) -> list[Process]:
    """The living processes below `root`, in no order; `root` is not among them."""
    children: defaultdict[int, list[Process]] = defaultdict(list)
    for process in processes():
        children[process.parent].append(process)
    found, waiting = [], [root]
    while waiting:
        below = children.pop(waiting.pop().pid, [])
        found += [each for each in below if each.state is not State.DEAD]
        waiting += below
    return found


def stop_tree(root: Process) -> bool:
    """Stop all below `root` (SIGSTOP); False when that did not work within 5 s."""
    return _repeat(root, signal.SIGSTOP, lambda each: each.state is State.STOPPED)


def continue_tree(root: Process) -> bool:
    """Let all below `root` go on (SIGCONT); False when that did not work in 5 s."""
    return _repeat(root, signal.SIGCONT, lambda each: each.state is not State.STOPPED)


def kill_tree(root: Process) -> bool:
    """Kill all below `root`, then `root` itself if it does not go by itself.

    False when something is left after 5 s.
    """
    _repeat(root, signal.SIGSTOP, lambda each: each.state is State.STOPPED)
    gone = _repeat(root, signal.SIGKILL, lambda _: False)
    if gone and not _exits(root):
        _signal(root, signal.SIGKILL)
        gone = _exits(root)
    return gone


def _repeat(root: Process, number: int, done: Callable[[Process], bool]) -> bool:
    """Signal what is not `done`, until a look at all of the tree finds nothing."""
    deadline = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < deadline:
        left = [each for each in members(root) if not done(each)]
        if not left:
            return True
        for process in left:
            _signal(process, number)
        time.sleep(0.005)  # signals take a moment; a tree has no event to wait on
    return False


def _signal(process: Process, number: int) -> None:
    """Signal exactly this process, not one that has its id by now."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return
    try:
        now = read_process(process.pid)
        if now is not None and now.key == process.key:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return
    finally:
        os.close(descriptor)


def _exits(process: Process) -> bool:
    """Whether the process ends within a second, or has ended already."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return True
    try:
        now = read_process(process.pid)
        if now is None or now.key != process.key:
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(_PARTING_MILLISECONDS))
    finally:
        os.close(descriptor)
