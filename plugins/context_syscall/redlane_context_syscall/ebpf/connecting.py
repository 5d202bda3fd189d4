"""connect(2) made exact: the kernel connects to what was judged, or not at all.

A connect that was judged is left to the kernel, which reads the address once more;
another thread may have changed it meanwhile. Therefore the address judged is put into
a map, and a program that runs in the kernel when a socket of the session's cgroup is
connected compares: only the same address, for the same thread, gets through, once.

What that covers are sockets of IPv4 and IPv6 (TCP, MPTCP, UDP; ICMP since Linux 6.1)
made in the session. A connection made by other calls (MSG_FASTOPEN) has nothing in the
map and is refused. The kernel runs no program for raw sockets and UDP-Lite, nor do we
for other families, Unix sockets above all: connecting those stays advisory.
"""

import os
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from redlane_context_syscall.ebpf import kernel
from redlane_context_syscall.ebpf.assembler import (
    Helper,
    Instruction,
    Register,
    add,
    address_of_map,
    assemble,
    call,
    copy,
    end,
    go_to,
    go_to_if_equal,
    go_to_if_greater,
    go_to_if_other,
    load,
    store,
)
from redlane_context_syscall.ebpf.cgroup import SessionCgroup

__all__ = ["Connecting", "grant"]

_IPV4, _IPV6 = 2, 10
_GRANT = struct.Struct("=QI2s2x16s")
_THREAD = struct.Struct("=I")
_MOST_THREADS = 8192
_GRANT_SECONDS = 10
_FIRST_NAMESPACE = 0xEFFFFFFC  # the kernel's PROC_PID_INIT_INO

# Offsets in struct bpf_sock_addr; the port is in network order, as in the address.
_FAMILY, _ADDRESS_4, _ADDRESS_6, _PORT = 0, 4, 8, 24
_ACCEPT, _REFUSE = 1, 0


def grant(address: bytes | None, deadline: int) -> bytes | None:
    """What the kernel is to compare with, for an address as policies see it.

    None for all that is not "192.0.2.1:443" or "[2001:db8::1%eth0]:443".
    """
    host, _, port = (address or b"").decode(errors="replace").rpartition(":")
    is_ipv6 = host.startswith("[") and host.endswith("]")
    try:
        number = int(port).to_bytes(2, "big")
        if is_ipv6:
            raw = IPv6Address(host[1:-1].partition("%")[0]).packed
        else:
            raw = IPv4Address(host).packed
    except (ValueError, OverflowError):
        return None
    return _GRANT.pack(deadline, _IPV6 if is_ipv6 else _IPV4, number, raw)


class Connecting:
    """The programs of one session's cgroup, and the map that they look into."""

    def __init__(self, cgroup: SessionCgroup) -> None:
        """Load and attach; raises OSError saying what this machine lacks."""
        _require_first_namespace()
        self._descriptors: list[int] = []
        try:
            self._attach(cgroup)
        except OSError:
            self.close()
            raise

    def _attach(self, cgroup: SessionCgroup) -> None:
        self._grants = kernel.create_map(
            kernel.MapType.RECENT, _THREAD.size, _GRANT.size, _MOST_THREADS
        )
        self._descriptors.append(self._grants)
        for attach, words in (
            (kernel.AttachType.CONNECT_IPV4, (_ADDRESS_4,)),
            (kernel.AttachType.CONNECT_IPV6, tuple(range(_ADDRESS_6, _PORT, 4))),
        ):
            program = kernel.load_program(
                kernel.ProgramType.CGROUP_SOCKET_ADDRESS,
                _program(self._grants, words),
                "redlane_connect",
                attach,
            )
            self._descriptors.append(program)
            self._descriptors.append(
                kernel.attach_to_cgroup(program, cgroup.descriptor, attach)
            )

    def allow(self, thread: int, address: bytes | None) -> None:
        """Let a thread's connect through, if it is to this address and comes soon.

        To be called just before the call is left to the kernel, for every address:
        what was allowed to the thread before is no longer. Raises OSError.
        """
        deadline = time.monotonic_ns() + _GRANT_SECONDS * 1_000_000_000
        value = grant(address, deadline)
        if value is not None:
            kernel.update(self._grants, _THREAD.pack(thread), value)
            return
        with suppress(FileNotFoundError):
            kernel.delete(self._grants, _THREAD.pack(thread))

    def close(self) -> None:
        """Take the programs from the cgroup again."""
        while self._descriptors:
            os.close(self._descriptors.pop())


def _program(grants: int, words: Sequence[int]) -> bytes:
    """Accept what the calling thread was granted, and take the grant back."""
    r0, r1, r2, r6, r7, r8 = (Register(each) for each in (0, 1, 2, 6, 7, 8))
    same_address: list[Instruction] = []
    for at, offset in enumerate(words):
        same_address += [
            load(r1, r6, offset, 4),
            load(r2, r7, 16 + 4 * at, 4),
            go_to_if_other(r1, r2, "take back"),
        ]
    return assemble(
        copy(r6, r1),
        copy(r8, _REFUSE),
        call(Helper.PROCESS_AND_THREAD),
        store(Register.FRAME, -4, r0, 4),
        *_with_grant(grants, Helper.MAP_LOOKUP),
        go_to_if_equal(r0, 0, "answer"),
        copy(r7, r0),
        call(Helper.MONOTONIC_NANOSECONDS),
        load(r1, r7, 0, 8),
        go_to_if_greater(r0, r1, "take back"),
        load(r1, r6, _FAMILY, 4),
        load(r2, r7, 8, 4),
        go_to_if_other(r1, r2, "take back"),
        load(r1, r6, _PORT, 4),
        load(r2, r7, 12, 4),
        go_to_if_other(r1, r2, "take back"),
        *same_address,
        copy(r8, _ACCEPT),
        "take back",
        *_with_grant(grants, Helper.MAP_DELETE),
        go_to("answer"),
        "answer",
        copy(r0, r8),
        end(),
    )


def _with_grant(grants: int, helper: Helper) -> tuple[Instruction, ...]:
    """Call a helper with the map and the thread's id, which lies on the stack."""
    return (
        address_of_map(Register.R1, grants),
        copy(Register.R2, Register.FRAME),
        add(Register.R2, -4),
        call(helper),
    )


def _require_first_namespace() -> None:
    """Threads have the kernel's own ids only in the machine's first pid namespace."""
    if Path("/proc/self/ns/pid").stat().st_ino != _FIRST_NAMESPACE:
        raise PermissionError(1, "the supervisor is in a pid namespace (a container)")
