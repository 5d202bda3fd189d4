"""BPF programs written down instruction by instruction, without a compiler.

Our programs are a few dozen instructions long and the same on every kernel. Written
like this they need neither kernel headers nor clang nor a second to compile, which a
Debian server has none of. The names follow the kernel's `Documentation/bpf`.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

__all__ = [
    "Helper",
    "Instruction",
    "Register",
    "add",
    "add_in_memory",
    "address_of_map",
    "assemble",
    "call",
    "copy",
    "end",
    "go_to",
    "go_to_if_equal",
    "go_to_if_greater",
    "go_to_if_other",
    "load",
    "store",
    "store_number",
]

_ENCODED = struct.Struct("=BBhi")
_SIZES: Mapping[int, int] = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
_LOAD_IMMEDIATE = 0x18
_MAP_DESCRIPTOR = 1  # pseudo source register: the number is a map's descriptor
_FROM_REGISTER = 0x08


class Register(IntEnum):
    """R0 is what a call returns, R1 to R5 its arguments; R6 to R9 outlive calls.

    FRAME is the end of the stack of 512 bytes.
    """

    R0 = 0
    R1 = 1
    R2 = 2
    R3 = 3
    R4 = 4
    R5 = 5
    R6 = 6
    R7 = 7
    R8 = 8
    R9 = 9
    FRAME = 10


class Helper(IntEnum):
    """Functions of the kernel that a program may call, by their numbers."""

    MAP_LOOKUP = 1
    MAP_DELETE = 3
    MONOTONIC_NANOSECONDS = 5
    PROCESS_AND_THREAD = 14
    IS_UNDER_CGROUP = 37
    SEND_SIGNAL = 109
    READ_KERNEL = 113


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `target` is the label that it goes to."""

    code: int
    destination: int = 0
    source: int = 0
    offset: int = 0
    immediate: int = 0
    target: str | None = None

    @property
    def width(self) -> int:
        """How many slots it takes."""
        return 2 if self.code == _LOAD_IMMEDIATE else 1

    def encoded(self) -> bytes:
        """The instruction as the kernel reads it; a wide one has an empty second half.

        No 64-bit number but a map's descriptor is ever loaded, hence the empty half.
        """
        registers = self.destination | self.source << 4
        first = _ENCODED.pack(self.code, registers, self.offset, self.immediate)
        return first + bytes(8 * (self.width - 1))


def copy(destination: Register, value: Register | int) -> Instruction:
    """Put a register's value, or a number, into a register."""
    return _either(0xB7, destination, value)


def add(destination: Register, value: Register | int) -> Instruction:
    """Add a register's value, or a number, to a register."""
    return _either(0x07, destination, value)


def load(
    destination: Register, address: Register, offset: int, size: int
) -> Instruction:
    """Read `size` bytes from memory, zero-extended."""
    return Instruction(0x61 | _SIZES[size], destination, address, offset)


def store(address: Register, offset: int, value: Register, size: int) -> Instruction:
    """Write the low `size` bytes of a register to memory."""
    return Instruction(0x63 | _SIZES[size], address, value, offset)


def store_number(address: Register, offset: int, value: int) -> Instruction:
    """Write a number to four bytes of memory."""
    return Instruction(0x62, address, 0, offset, value)


def add_in_memory(address: Register, offset: int, value: Register) -> Instruction:
    """Add a register to eight bytes of memory, atomically."""
    return Instruction(0xDB, address, value, offset)


def address_of_map(destination: Register, descriptor: int) -> Instruction:
    """Put the address of the map with this descriptor into a register."""
    return Instruction(_LOAD_IMMEDIATE, destination, _MAP_DESCRIPTOR, 0, descriptor)


def call(helper: Helper) -> Instruction:
    """Call a function of the kernel."""
    return Instruction(0x85, immediate=helper)


def end() -> Instruction:
    """Return R0."""
    return Instruction(0x95)


def go_to(target: str) -> Instruction:
    """Go on at a label."""
    return Instruction(0x05, target=target)


def go_to_if_equal(left: Register, right: Register | int, target: str) -> Instruction:
    """Go on at a label if both are the same."""
    return replace(_either(0x15, left, right), target=target)


def go_to_if_other(left: Register, right: Register | int, target: str) -> Instruction:
    """Go on at a label if the two differ."""
    return replace(_either(0x55, left, right), target=target)


def go_to_if_greater(left: Register, right: Register | int, target: str) -> Instruction:
    """Go on at a label if `left` is greater than `right`, both unsigned."""
    return replace(_either(0x25, left, right), target=target)


def assemble(*lines: Instruction | str) -> bytes:
    """The program; a text among the lines is the label of what comes next.

    Raises KeyError for a label that there is not.
    """
    labels: dict[str, int] = {}
    placed: list[tuple[int, Instruction]] = []
    position = 0
    for line in lines:
        if isinstance(line, str):
            labels[line] = position
        else:
            placed.append((position, line))
            position += line.width
    return b"".join(
        (
            line
            if line.target is None
            else replace(line, offset=labels[line.target] - at - 1)
        ).encoded()
        for at, line in placed
    )


def _either(code: int, destination: Register, value: Register | int) -> Instruction:
    """An instruction that takes its second operand from a register or from itself."""
    if isinstance(value, Register):
        return Instruction(code | _FROM_REGISTER, destination, value)
    return Instruction(code, destination, immediate=value)
