"""What is left of a session whose supervisor was killed.

Nothing adopts such processes but a reaper outside, so that the process tree does not
tell whose they are. But what `redlane-run` holds to places bears a mark that it cannot
take off: no new privileges, a filter of its calls, and one byte as the hard limit of
its core files.
"""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from redlane.processes import (
    SUPERVISOR,
    Process,
    ProcessUnreadableError,
    ancestry,
    processes,
    read_process,
    user_ids,
)

__all__ = ["bears_mark", "end_left", "is_left"]

_FLAGS = {b"NoNewPrivs:": b"1", b"Seccomp:": b"2"}
_LIMIT, _HARD = b"Max core file size", b"1"
_MOST_SECONDS = 5.0
_PAUSE_SECONDS = 0.002
_CLEAN_LOOKS = 3
"""So many in a row have to find nothing."""


def bears_mark(pid: int) -> bool:
    """Whether a process was started in a session that `redlane-run` holds to places."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
        limits = Path(f"/proc/{pid}/limits").read_bytes()
    except OSError:  # gone, or hidden: then its ancestors are, too
        return False
    said = dict(line.split(b"\t", 1) for line in status.splitlines() if b"\t" in line)
    cores = next((e for e in limits.splitlines() if e.startswith(_LIMIT)), b"")
    hard = cores.removeprefix(_LIMIT).split()[1:2]
    return hard == [_HARD] and all(said.get(k) == v for k, v in _FLAGS.items())


def is_left(pid: int) -> bool:
    """Whether a process bears the mark, and nothing above it is a supervisor."""
    if not bears_mark(pid):
        return False
    try:
        chain = ancestry(pid, _supervises)
    except ProcessUnreadableError:
        return False
    return chain is not None and not _supervises(chain.processes[-1])


def _supervises(process: Process) -> bool:
    """Whether it is a supervisor, and not what has given itself the name of one."""
    return process.name == SUPERVISOR and not bears_mark(process.pid)


def end_left(since: Process, by: int | None = None) -> bool:
    """Kill what is left that began after a supervisor; False when some is after 5 s.

    With `by`, only what that user may signal.
    """
    deadline = time.monotonic() + _MOST_SECONDS
    looks = 0
    while looks < _CLEAN_LOOKS:
        looks += 1
        for each in processes():
            # At once: what forks and exits all the time is another by the next look.
            if _is_to_end(each, since, by):
                _kill(each)
                looks = 0
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE_SECONDS)  # until they are gone; nothing tells of that
    return True


def _is_to_end(process: Process, since: Process, by: int | None) -> bool:
    if process.start < since.start or process.pid == os.getpid():
        return False
    try:
        is_theirs = by is None or set(user_ids(process.pid)) == {by}
    except ProcessUnreadableError:
        return False
    return is_theirs and is_left(process.pid)


def _kill(process: Process) -> None:
    """Kill this very process, unless it is not ours to signal."""
    with suppress(OSError, ProcessUnreadableError):
        descriptor = os.pidfd_open(process.pid)
        try:
            now = read_process(process.pid)
            if now is not None and now.key == process.key:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
