"""Everything that runs in a session: stop it, let it go on, kill it.

The supervisor itself is left alone as long as anything else lives: it is what keeps
the tree together. So is the launcher of one that answers for system calls: who is just
starting a program stops only once the launcher has looked at that.

A process may fork and exit all the time, to be somebody else whenever it is looked for.
So a look counts only when the next one sees the very same processes, and it goes from
parent to child: every process hangs on one that was seen, wherever it moves to.
"""

import os
import select
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from redlane.processes import (
    SUPERVISOR,
    Process,
    ProcessUnreadableError,
    State,
    is_pending,
    processes,
    read_process,
    tracer,
    user_ids,
)

__all__ = ["continue_tree", "kill_tree", "members", "stop_tree"]

_OF_CALLS = b"redlane.daemon.supervising"
"""What the command line of a supervisor of system calls says: its module."""
_MOST_SECONDS = 5.0
_PARTING_MILLISECONDS = 1000
_PAUSE_SECONDS = 0.001


def members(root: Process) -> list[Process]:
    """The living processes below `root`, in no order; `root` is not among them."""
    return [each for each in _below(root) if each.state is not State.DEAD]


def _below(root: Process) -> list[Process]:
    """One look at all below `root`, those included that are gone by now."""
    children = _children if _lists_children() else _found_children()
    found: dict[int, Process] = {}
    waiting = [root.pid]
    while waiting:
        for pid in children(waiting.pop()):
            if pid not in found:
                found[pid] = _seen(pid)
                waiting.append(pid)
    return list(found.values())


def _seen(pid: int) -> Process:
    """The process; a dead one when it is gone, or when it cannot be looked at."""
    with suppress(ProcessUnreadableError):
        process = read_process(pid)
        if process is not None:
            return process
    return Process(pid, 0, 0, "", State.DEAD)


def _lists_children() -> bool:
    """Whether the kernel lists the children of a process (CONFIG_PROC_CHILDREN)."""
    return Path("/proc/thread-self/children").exists()


def _children(pid: int) -> list[int]:
    """The children of all threads of a process, as the kernel lists them."""
    found: list[int] = []
    with suppress(OSError):
        for task in os.scandir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, Path(task.path, "children").read_bytes().split())
    return found


def _found_children() -> Callable[[int], Iterable[int]]:
    """The same from the parents that all processes name, for kernels without."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for process in processes():
        children[process.parent].append(process.pid)
    return lambda pid: children.get(pid, ())


def stop_tree(root: Process, by: int | None = None) -> bool:
    """Stop all below `root` (SIGSTOP); False when that did not work within 5 s.

    With `by`, here and below, only what this user may signal is touched.
    """
    return _repeat(root, signal.SIGSTOP, _stopping(root), by)


def continue_tree(root: Process, by: int | None = None) -> bool:
    """Let all below `root` go on (SIGCONT); False when that did not work in 5 s."""
    # What goes on may fork and exit as it likes: no two looks need be the same.
    return _repeat(
        root, signal.SIGCONT, lambda each: each.state is not State.STOPPED, by, looks=1
    )


def kill_tree(root: Process, by: int | None = None) -> bool:
    """Kill all below `root`, then `root` itself if it does not go by itself.

    False when something is left after 5 s.
    """
    _repeat(root, signal.SIGSTOP, _stopping(root), by)
    gone = _repeat(root, signal.SIGKILL, lambda _: False, by)
    if gone and not _exits(root):
        _signal(root, signal.SIGKILL, by)
        gone = _exits(root)
    return gone


def _stopping(root: Process) -> Callable[[Process], bool]:
    """Whether a process is not, or need not be, stopped any more."""
    launcher = _launcher(root)
    return lambda each: _rests(each) or each.key == launcher


def _launcher(root: Process) -> tuple[int, int] | None:
    """The key of the process by which a supervisor of system calls starts programs.

    It is that one's first child, and nothing else becomes a child of it while that
    lives. Without such a supervisor the first child is the agent, whatever its name.
    """
    if root.name != SUPERVISOR or _OF_CALLS not in _command(root.pid):
        return None
    children = map(_seen, _children(root.pid))
    living = (each for each in children if each.state is not State.DEAD)
    first = min(living, key=lambda each: each.start, default=None)
    return first.key if first and first.name == SUPERVISOR else None


def _command(pid: int) -> bytes:
    """A command line; empty for a process that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _rests(process: Process) -> bool:
    """Whether a process is stopped, or runs no further for another reason.

    Its tracer may be stopped, which alone could move it. In the kernel it may wait for
    a child of vfork(2) that is stopped: it stops as soon as that lets it go.
    """
    if process.state is State.TRACED:
        by = read_process(tracer(process.pid))
        return by is not None and by.state is State.STOPPED
    if process.state is State.WAITING:
        return is_pending(process.pid, signal.SIGSTOP)
    return process.state is State.STOPPED


def _repeat(
    root: Process,
    number: int,
    done: Callable[[Process], bool],
    by: int | None,
    looks: int = 2,
) -> bool:
    """Signal what is not `done`, until `looks` in a row find the same, all done."""
    deadline = time.monotonic() + _MOST_SECONDS
    before, alike = None, 0
    while time.monotonic() < deadline:
        seen = _below(root)
        living = [each for each in seen if each.state is not State.DEAD]
        left = [each for each in living if not done(each)]
        refused = [_signal(each, number, by) for each in left].count(False)
        now = {(each.key, each.state) for each in seen}
        alike = alike + 1 if now == before else 1
        if len(left) == refused and alike >= looks:
            return not refused
        before = now
        time.sleep(_PAUSE_SECONDS)  # a tree has no event to wait on
    return False


def _signal(process: Process, number: int, by: int | None) -> bool:
    """Signal exactly this process, not one that has its id by now.

    False when it is one that user `by` may not signal.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return True
    try:
        now = read_process(process.pid)
        if now is not None and now.key == process.key:
            if by is not None and not _may_signal(by, process.pid):
                return False
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return True


def _may_signal(uid: int, pid: int) -> bool:
    """Whether the kernel lets a user signal a process, as kill(2) says."""
    real, _, saved, _ = user_ids(pid) or (uid,) * 4
    return uid in {real, saved}


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
