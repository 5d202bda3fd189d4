"""Counts, in the kernel, of the system calls that a session makes.

A program at sys_exit counts each call of the session's cgroup, and how many of them
failed with EPERM, whoever refused them: what the seccomp filter refuses on the spot
passes sys_exit too, though it never passes sys_enter. The counts are read from shared
memory, so that looking costs nothing. While it is attached, each call of every process
of the machine takes a little longer.
"""

import mmap
import os
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from errno import EPERM
from types import MappingProxyType

from redlane_context_syscall.ebpf import kernel
from redlane_context_syscall.ebpf.assembler import (
    Helper,
    Register,
    add,
    add_in_memory,
    address_of_map,
    assemble,
    call,
    copy,
    end,
    go_to_if_equal,
    go_to_if_other,
    load,
)
from redlane_context_syscall.ebpf.cgroup import SessionCgroup
from redlane_context_syscall.numbers import name_of

__all__ = ["Audit", "Counted"]

_NUMBER = struct.Struct("=I")
_COUNTS = struct.Struct("=QQ")
_MOST_NUMBERS = 1024
_MAPPABLE = 0x400
_REGISTERS, _RESULT = 0, 8  # the tracepoint's arguments

_NUMBER_IN_REGISTERS = MappingProxyType({"x86_64": 120, "aarch64": 280})
"""Where the number of a system call is kept in struct pt_regs."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How often a system call was made, and how often it failed with EPERM."""

    calls: int
    refused: int


class Audit:
    """The counting program of one session's cgroup."""

    def __init__(self, cgroup: SessionCgroup) -> None:
        """Load and attach; raises OSError saying what this machine lacks."""
        offset = _NUMBER_IN_REGISTERS.get(platform.machine())
        if offset is None:
            raise OSError(f"not known how {platform.machine()} numbers system calls")
        self._descriptors: list[int] = []
        try:
            self._attach(cgroup, offset)
        except OSError:
            self._let_go()
            raise

    def _attach(self, cgroup: SessionCgroup, offset: int) -> None:
        kinds = kernel.MapType
        counts = self._held(
            kernel.create_map(kinds.ARRAY, 4, _COUNTS.size, _MOST_NUMBERS, _MAPPABLE)
        )
        cgroups = self._held(kernel.create_map(kinds.CGROUPS, 4, 4, 1))
        kernel.update(cgroups, _NUMBER.pack(0), _NUMBER.pack(cgroup.descriptor))
        program = kernel.load_program(
            kernel.ProgramType.RAW_TRACEPOINT,
            _program(cgroups, counts, offset),
            "redlane_audit",
        )
        self._held(program)
        size = _COUNTS.size * _MOST_NUMBERS
        self._counts = mmap.mmap(counts, size, prot=mmap.PROT_READ)
        try:
            self._held(kernel.attach_to_tracepoint(program, "sys_exit"))
        except OSError:
            self._counts.close()
            raise

    def counts(self) -> Mapping[str, Counted]:
        """What was counted so far, by name; calls without a name by their number."""
        return {
            name_of(number) or str(number): Counted(calls, refused)
            for number, (calls, refused) in enumerate(_COUNTS.iter_unpack(self._counts))
            if calls
        }

    def close(self) -> None:
        """Count no more."""
        self._let_go()
        self._counts.close()

    def _let_go(self) -> None:
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _held(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor


def _program(cgroups: int, counts: int, offset: int) -> bytes:
    """Count a call of the cgroup, and once more if it returns EPERM."""
    r0, r1, r2, r3, r6, r7 = (Register(each) for each in (0, 1, 2, 3, 6, 7))
    return assemble(
        copy(r6, r1),
        address_of_map(r1, cgroups),
        copy(r2, 0),
        call(Helper.IS_UNDER_CGROUP),
        go_to_if_other(r0, 1, "out"),
        load(r3, r6, _REGISTERS, 8),
        load(r7, r6, _RESULT, 8),
        add(r3, offset),
        copy(r1, Register.FRAME),
        add(r1, -8),
        copy(r2, 4),
        call(Helper.READ_KERNEL),
        address_of_map(r1, counts),
        copy(r2, Register.FRAME),
        add(r2, -8),
        call(Helper.MAP_LOOKUP),
        go_to_if_equal(r0, 0, "out"),
        copy(r1, 1),
        add_in_memory(r0, 0, r1),
        go_to_if_other(r7, -EPERM, "out"),
        add_in_memory(r0, 8, r1),
        "out",
        copy(r0, 0),
        end(),
    )
