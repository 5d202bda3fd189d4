"""What the tests of the companions in the kernel share: a cgroup, and rules for them.

They need root and cgroup2; elsewhere they are skipped and say so.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import pytest

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.ebpf.cgroup import SessionCgroup

__all__ = ["Rules", "ipv4", "ipv6", "libc_connect", "privileged", "session_cgroup"]

_LIBRARY = ctypes.CDLL(None, use_errno=True)

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
