"""The bpf(2) system call: maps, programs, and what ties programs to the kernel.

Nothing is pinned: maps and programs live as long as their descriptors here, so that
the kernel takes all of it back when the supervisor ends, however it does.
"""

import ctypes
import os
import struct
from enum import IntEnum

from redlane_context_syscall.numbers import number_of

__all__ = [
    "AttachType",
    "MapType",
    "ProgramType",
    "attach_to_cgroup",
    "attach_to_tracepoint",
    "create_map",
    "delete",
    "load_program",
    "look_up",
    "update",
]

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_MAP_CREATE, _LOOK_UP, _UPDATE, _DELETE = range(4)
_PROGRAM_LOAD, _TRACEPOINT_OPEN, _LINK_CREATE = 5, 17, 28
_LICENCE = b"Dual MIT/GPL\0"  # some of the kernel's helpers ask for such a one
_LOG_BYTES = 65_536
_NAME_BYTES = 16


class MapType(IntEnum):
    """Kinds of maps."""

    HASH = 1
    ARRAY = 2
    CGROUPS = 8
    RECENT = 9  # a hash that drops what was used least recently when it is full


class ProgramType(IntEnum):
    """What programs can be tied to."""

    RAW_TRACEPOINT = 17
    CGROUP_SOCKET_ADDRESS = 18


class AttachType(IntEnum):
    """Where in a cgroup a program runs; NONE for other programs."""

    NONE = 0
    CONNECT_IPV4 = 10
    CONNECT_IPV6 = 11


def create_map(
    kind: MapType, key: int, value: int, entries: int, flags: int = 0
) -> int:
    """A map with keys and values of so many bytes; returns its descriptor."""
    return _bpf(_MAP_CREATE, struct.pack("=5I", kind, key, value, entries, flags))


def update(descriptor: int, key: bytes, value: bytes) -> None:
    """Set an entry."""
    _on_entry(_UPDATE, descriptor, key, ctypes.create_string_buffer(value, len(value)))


def look_up(descriptor: int, key: bytes, size: int) -> bytes:
    """The value of an entry; raises FileNotFoundError where there is none."""
    value = ctypes.create_string_buffer(size)
    _on_entry(_LOOK_UP, descriptor, key, value)
    return value.raw


def delete(descriptor: int, key: bytes) -> None:
    """Remove an entry; raises FileNotFoundError where there is none."""
    _on_entry(_DELETE, descriptor, key, None)


def load_program(
    kind: ProgramType,
    instructions: bytes,
    name: str,
    attach: AttachType = AttachType.NONE,
) -> int:
    """Have a program verified and taken; returns its descriptor.

    Raises OSError; the last line of what the verifier says stands in its message.
    """
    code = ctypes.create_string_buffer(instructions, len(instructions))
    licence = ctypes.create_string_buffer(_LICENCE)
    log = ctypes.create_string_buffer(_LOG_BYTES)
    attributes = struct.pack(
        f"=IIQQIIQII{_NAME_BYTES}sII",
        kind,
        len(instructions) // 8,
        ctypes.addressof(code),
        ctypes.addressof(licence),
        1,
        _LOG_BYTES,
        ctypes.addressof(log),
        0,
        0,
        name.encode()[: _NAME_BYTES - 1],
        0,
        attach,
    )
    try:
        return _bpf(_PROGRAM_LOAD, attributes)
    except OSError as error:
        said = log.value.decode(errors="replace").strip().splitlines()
        verdict = next((line for line in reversed(said) if "processed" not in line), "")
        message = f"{error.strerror}: {verdict}" if verdict else error.strerror
        raise OSError(error.errno, message) from None


def attach_to_cgroup(program: int, cgroup: int, attach: AttachType) -> int:
    """Let a program run for a cgroup while the descriptor returned is open.

    Programs of others, on this cgroup or above it, run beside it.
    """
    return _bpf(_LINK_CREATE, struct.pack("=IIII", program, cgroup, attach, 0))


def attach_to_tracepoint(program: int, name: str) -> int:
    """Let a program run at a tracepoint while the descriptor returned is open."""
    text = ctypes.create_string_buffer(name.encode())
    return _bpf(
        _TRACEPOINT_OPEN, struct.pack("=QII", ctypes.addressof(text), program, 0)
    )


def _on_entry(
    command: int,
    descriptor: int,
    key: bytes,
    value: "ctypes.Array[ctypes.c_char] | None",
) -> None:
    own_key = ctypes.create_string_buffer(key, len(key))
    address = 0 if value is None else ctypes.addressof(value)
    keys = ctypes.addressof(own_key)
    _bpf(command, struct.pack("=IIQQQ", descriptor, 0, keys, address, 0))


def _bpf(command: int, attributes: bytes) -> int:
    number = number_of("bpf")
    own = ctypes.create_string_buffer(attributes, len(attributes))
    result: int = _LIBRARY.syscall(number, command, own, len(attributes))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
