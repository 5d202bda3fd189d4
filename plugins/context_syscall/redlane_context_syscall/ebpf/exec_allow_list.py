"""What a session executes lies on a file system that is watched, or is killed.

fanotify tells of every program opened on the file systems that carry its mark. Files
in memory (memfd_create) lie on none that can carry one. So a program runs in the
kernel after each exec, before the new program's first instruction: when a process of
the session's cgroup has executed something that lies elsewhere, it is killed.
"""

import os
import signal
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress

from redlane_context_syscall.ebpf import kernel
from redlane_context_syscall.ebpf.assembler import (
    Helper,
    Instruction,
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
    store_number,
)
from redlane_context_syscall.ebpf.btf import KernelTypes
from redlane_context_syscall.ebpf.cgroup import SessionCgroup

__all__ = ["ExecAllowList"]

_NUMBER = struct.Struct("=I")
_COUNT = struct.Struct("=Q")
_MOST_DEVICES = 4096
_BINARY = 16  # the tracepoint's third argument, a struct linux_binprm
_WAY_TO_THE_DEVICE = (
    ("linux_binprm", "file"),
    ("file", "f_inode"),
    ("inode", "i_sb"),
    ("super_block", "s_dev"),
)


class ExecAllowList:
    """The program at sched_process_exec, and the file systems that it lets pass."""

    def __init__(self, cgroup: SessionCgroup) -> None:
        """Load and attach; raises OSError or LookupError where that cannot be.

        Every exec of the session is fatal until `keep_to` has said what is not.
        """
        types = KernelTypes.of_this_kernel()
        way = [types.offset(*each) for each in _WAY_TO_THE_DEVICE]
        self._known: set[int] = set()
        self._descriptors: list[int] = []
        try:
            self._attach(cgroup, way)
        except OSError:
            self.close()
            raise

    def _attach(self, cgroup: SessionCgroup, way: Sequence[int]) -> None:
        kinds = kernel.MapType
        self._devices = self._held(kernel.create_map(kinds.HASH, 4, 4, _MOST_DEVICES))
        self._killed = self._held(kernel.create_map(kinds.ARRAY, 4, 8, 1))
        cgroups = self._held(kernel.create_map(kinds.CGROUPS, 4, 4, 1))
        kernel.update(cgroups, _NUMBER.pack(0), _NUMBER.pack(cgroup.descriptor))
        program = kernel.load_program(
            kernel.ProgramType.RAW_TRACEPOINT,
            _program(cgroups, self._devices, self._killed, way),
            "redlane_exec",
        )
        self._held(program)
        self._held(kernel.attach_to_tracepoint(program, "sched_process_exec"))

    def keep_to(self, devices: Iterable[int]) -> None:
        """Let the session execute what lies on these devices (as st_dev), no other.

        Raises OSError when they are too many; some are known then.
        """
        wanted = {os.major(each) << 20 | os.minor(each) for each in devices}
        for each in self._known - wanted:
            with suppress(FileNotFoundError):
                kernel.delete(self._devices, _NUMBER.pack(each))
            self._known.discard(each)
        for each in wanted - self._known:
            kernel.update(self._devices, _NUMBER.pack(each), _NUMBER.pack(1))
            self._known.add(each)

    @property
    def killed(self) -> int:
        """How many processes have been killed."""
        raw = kernel.look_up(self._killed, _NUMBER.pack(0), _COUNT.size)
        return int(_COUNT.unpack(raw)[0])

    def close(self) -> None:
        """Take the program from the kernel again."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _held(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor


def _program(cgroups: int, devices: int, killed: int, way: Sequence[int]) -> bytes:
    """Kill what is of the cgroup and has executed a file of another device."""
    r0, r1, r2, r6 = Register.R0, Register.R1, Register.R2, Register.R6
    read: list[Instruction] = []
    for offset in way[:-1]:
        read += [*_read_kernel(offset, 8), load(Register.R3, Register.FRAME, -8, 8)]
    return assemble(
        copy(r6, r1),
        address_of_map(r1, cgroups),
        copy(r2, 0),
        call(Helper.IS_UNDER_CGROUP),
        go_to_if_other(r0, 1, "out"),
        load(Register.R3, r6, _BINARY, 8),
        *read,
        *_read_kernel(way[-1], 4),
        *_on_stack(devices),
        call(Helper.MAP_LOOKUP),
        go_to_if_other(r0, 0, "out"),
        copy(r1, signal.SIGKILL),
        call(Helper.SEND_SIGNAL),
        # The number of the only entry: zero, in place of the device.
        store_number(Register.FRAME, -8, 0),
        *_on_stack(killed),
        call(Helper.MAP_LOOKUP),
        go_to_if_equal(r0, 0, "out"),
        copy(r1, 1),
        add_in_memory(r0, 0, r1),
        "out",
        copy(r0, 0),
        end(),
    )


def _read_kernel(offset: int, size: int) -> tuple[Instruction, ...]:
    """Read `size` bytes of the kernel, R3 and an offset on, to the stack.

    What cannot be read is zeros, which is no file system's device.
    """
    return (
        add(Register.R3, offset),
        copy(Register.R1, Register.FRAME),
        add(Register.R1, -8),
        copy(Register.R2, size),
        call(Helper.READ_KERNEL),
    )


def _on_stack(descriptor: int) -> tuple[Instruction, ...]:
    """The map, and the key that lies on the stack, as arguments of a helper."""
    return (
        address_of_map(Register.R1, descriptor),
        copy(Register.R2, Register.FRAME),
        add(Register.R2, -8),
    )
