"""What the tests of the attachments in the kernel share: a cgroup, rules, programs.

They need root and cgroup2; elsewhere they are skipped and say so.
"""

import ctypes
import os
import shutil
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.ebpf.cgroup import SessionCgroup

__all__ = [
    "SECONDS",
    "Rules",
    "execute",
    "ipv4",
    "ipv6",
    "libc_connect",
    "privileged",
    "session_cgroup",
    "two_programs",
    "until",
]

_LIBRARY = ctypes.CDLL(None, use_errno=True)
SECONDS = 20.0

privileged = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="BPF programs and fanotify marks want root"
    ),
]


@contextmanager
def session_cgroup() -> Iterator[SessionCgroup]:
    """A cgroup as a session has it; nothing of it may be left behind."""
    try:
        cgroup = SessionCgroup.create()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        yield cgroup
    finally:
        cgroup.remove()
        assert not cgroup.directory.exists()


class Rules:
    """A judge with a function for its rules; it keeps what is reported."""

    def __init__(
        self,
        named: Mapping[str, bool],
        rule: Callable[[SystemCall], Ruling],
        slow: frozenset[str] = frozenset(),
    ) -> None:
        self.named = MappingProxyType(dict(named))
        self.is_slow = slow
        self.generation = 0
        self.reported: list[tuple[SystemCall, Ruling]] = []
        self._rule = rule

    def rule(self, call: SystemCall) -> Ruling:
        return self._rule(call)

    def on_change(self, tell: Callable[[], None]) -> None:
        """These rules never change."""

    def report(self, call: SystemCall, ruling: Ruling) -> None:
        self.reported.append((call, ruling))


def ipv4(address: str, port: int) -> bytes:
    """An address as connect(2) takes it."""
    head = struct.pack("=H", socket.AF_INET) + struct.pack("!H", port)
    return head + socket.inet_pton(socket.AF_INET, address) + bytes(8)


def ipv6(address: str, port: int) -> bytes:
    """An address as connect(2) takes it."""
    head = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
    return head + socket.inet_pton(socket.AF_INET6, address) + bytes(4)


def libc_connect(descriptor: int, address: "ctypes.Array[ctypes.c_char]") -> int:
    """Connect to what lies in this memory; the errno, 0 when it went well."""
    result = _LIBRARY.connect(descriptor, address, len(address))
    return ctypes.get_errno() if result < 0 else 0


def two_programs(directory: Path) -> tuple[Path, Path]:
    """An allowed program, which ends well, and a denied one, which does not."""
    allowed, denied = directory / "prog0", directory / "prog1"
    shutil.copy("/bin/true", allowed)
    shutil.copy("/bin/false", denied)
    return allowed, denied


def execute(
    file: str | bytes | int, *, before: Callable[[], None] | None = None
) -> int:
    """Execute in a child of this process; its wait status, or errno as exit status."""
    pid = os.fork()
    if pid == 0:
        status = 255
        try:
            if before is not None:
                before()
            os.execve(file, ["program"], {})
        except OSError as error:
            status = 100 + (error.errno or 0)
        os._exit(status)
    return os.waitpid(pid, 0)[1]


def until(condition: Callable[[], bool]) -> None:
    """Wait for this, without a sleep."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        os.sched_yield()
