"""Runs a program with Redlane's own guard answering its system calls.

serve_syscalls.py python|extension SECONDS COMMAND…: how long the command takes, without
the guard's own start, is written to the file SECONDS. There is no daemon: one name is
forbidden, as in the other supervisors that the benchmark compares.
"""

import ctypes
import mmap
import os
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from redlane.api import GuardOptions, Ruling, SystemCall
from redlane_context_syscall.guard import SessionGuard
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open, prctl
from redlane_context_syscall.numbers import number_of

FORBIDDEN = "/forbidden-by-the-benchmark"
NO_NEW_PRIVILEGES, SET_FILTER, NEW_LISTENER, WAIT_KILLABLE = 38, 1, 8, 32
LIBRARY = ctypes.CDLL(None, use_errno=True)


class OneRule:
    """Stands where a session's rules are asked."""

    generation = 1
    named: Mapping[str, bool] = MappingProxyType({"openat": True})
    is_slow: frozenset[str] = frozenset()

    def rule(self, call: SystemCall) -> Ruling:
        """Refuse what has the forbidden name in any candidate."""
        is_bad = any(path is None or FORBIDDEN in path for path in call.paths)
        return Ruling(allowed=not is_bad)

    def alike(self, name: str) -> str:
        """Calls have nothing in common."""
        return name

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        """Tell whoever runs the benchmark: there should be none."""
        print("refused:", call, ruling, file=sys.stderr)

    def on_change(self, tell: Callable[[], None]) -> None:
        """These rules stay as they are."""


def main(kind: str, times: str, *command: str) -> int:
    """Run the command under the guard; its exit status."""
    features = Features.of_this_kernel()
    quick = kind == "extension"
    guard = SessionGuard(OneRule(), GuardOptions(), features, is_quick=quick)
    program = guard.program(os.getpid(), frozenset({os.getpid()}))
    page = mmap.mmap(-1, mmap.PAGESIZE)
    child = os.fork()
    if child == 0:
        run_filtered(program, page, command)
    guard.serve(listener_of(child, page), sys.exit)
    start = time.perf_counter()
    page[8:9] = b"\1"
    _, status = os.waitpid(child, 0)
    Path(times).write_text(str(time.perf_counter() - start))
    return os.waitstatus_to_exitcode(status)


def run_filtered(program: bytes, page: mmap.mmap, command: Sequence[str]) -> None:
    """Load the filter, and make no call that is asked about until it is served."""
    buffer = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    flags = NEW_LISTENER | WAIT_KILLABLE
    number = number_of("seccomp")
    prctl(NO_NEW_PRIVILEGES, 1)
    listener = LIBRARY.syscall(number, SET_FILTER, flags, ctypes.c_char_p(head))
    struct.pack_into("=i", page, 4, listener)
    while page[8] == 0:
        os.sched_yield()
    os.execvp(command[0], list(command))


def listener_of(child: int, page: mmap.mmap) -> int:
    """The listener of the filter that the child has loaded."""
    while not (number := struct.unpack_from("=i", page, 4)[0]):
        os.sched_yield()
    return pidfd_getfd(pidfd_open(child), number)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
