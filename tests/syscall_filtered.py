"""Makes system calls under the filter of a session, and tells what became of each."""

import ctypes
import errno
import mmap
import os
import struct
import time
from collections.abc import Sequence

from redlane.api import GuardOptions
from redlane_context_syscall.filter import program
from redlane_context_syscall.kernel.listener import Listener
from redlane_context_syscall.kernel.system import pidfd_getfd, pidfd_open
from redlane_context_syscall.numbers import number_of

__all__ = ["HIGH", "THROUGH", "Call", "load", "numbers_of", "outcomes_of", "plain"]

_ASKED = errno.EUCLEAN  # what we answer, and no call here fails with by itself
THROUGH = "let through"
HIGH = 0xDEADBEEF << 32
"""What a program may leave in the upper half of a register."""
_SECONDS = 30
_NEW_LISTENER, _NEW_PRIVILEGES, _DUMPABLE = 8, 38, 4
_LIBRARY = ctypes.PyDLL(None, use_errno=True)
_RESULTS_AT = 16

Call = tuple[str, tuple[int, ...]]
"""The name of a system call, and its arguments."""


def outcomes_of(code: bytes, calls: Sequence[Call]) -> list[str]:
    """Make the calls under the filter: what became of each."""
    names = {_ASKED: "asked", errno.EPERM: "EPERM", errno.ENOSYS: "ENOSYS"}
    names[errno.EOPNOTSUPP] = "EOPNOTSUPP"
    return [names.get(number, THROUGH) for number in numbers_of(code, calls)]


def numbers_of(code: bytes, calls: Sequence[Call]) -> tuple[int, ...]:
    """The errno of each call under the filter, 0 for success."""
    page = mmap.mmap(-1, mmap.PAGESIZE * 4)
    child = os.fork()
    if not child:
        _make_calls(code, calls, page)
    try:
        _answer(child, page)
    finally:
        status = os.waitpid(child, 0)[1]
    assert status == 0
    return struct.unpack_from(f"={len(calls)}i", page, _RESULTS_AT)


def _make_calls(code: bytes, calls: Sequence[Call], page: mmap.mmap) -> None:
    try:
        numbered = [(number_of(name) or 0, args) for name, args in calls]
        load(code, page)
        for at, (number, args) in enumerate(numbered):
            registers = [ctypes.c_ulong(each) for each in (*args, *[0] * 6)[:6]]
            result = _LIBRARY.syscall(ctypes.c_long(number), *registers)
            seen = ctypes.get_errno() if result == -1 else 0
            struct.pack_into("=i", page, _RESULTS_AT + 4 * at, seen)
        os._exit(0)
    finally:
        os._exit(1)


def load(code: bytes, page: mmap.mmap) -> None:
    """Load the filter, tell its listener at the start of `page`, wait for a 1 at 4."""
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    _LIBRARY.prctl(_DUMPABLE, 1, 0, 0, 0)
    _LIBRARY.prctl(_NEW_PRIVILEGES, 1, 0, 0, 0)
    number = _LIBRARY.syscall(
        number_of("seccomp"), 1, _NEW_LISTENER, ctypes.c_char_p(head)
    )
    struct.pack_into("=i", page, 0, number)
    while not page[4]:
        os.sched_yield()


def _answer(child: int, page: mmap.mmap) -> None:
    """Tell every call that is asked about that it was."""
    deadline = time.monotonic() + _SECONDS
    while not (number := struct.unpack_from("=i", page)[0]):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert number > 0
    process = pidfd_open(child)
    listener = Listener(pidfd_getfd(process, number))
    os.close(process)
    page[4] = 1
    while (notification := listener.receive()) is not None:
        listener.answer(notification.id, error=_ASKED)
    listener.close()


def plain(
    *named: str,
    protected: frozenset[int] = frozenset(),
    namespaces: bool = False,
    places: bool = False,
    coreless: bool = False,
) -> bytes:
    """The filter for policies that name these calls."""
    options = GuardOptions(namespaces=namespaces, places=places, coreless=coreless)
    return program(dict.fromkeys(named, False), protected, options)
