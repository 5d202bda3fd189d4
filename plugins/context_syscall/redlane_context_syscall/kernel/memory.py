"""Memory of another process, as the kernel would read it in a system call.

Not through /proc/PID/mem: that reads what the process itself may not, and a descriptor
of it that is kept stays with the memory of before an exec, or of a vfork's parent.
"""

import ctypes
import errno
import os
import struct
import threading

__all__ = ["LONGEST_PATH", "read", "read_string"]

LONGEST_PATH = 4095
"""Bytes of a path without its closing NUL."""

_PAGE = 4096
_CHUNK = 256  # most paths are shorter
_VECTOR = struct.Struct("@PN")

_LIBRARY = ctypes.CDLL(None, use_errno=True)
_readv = _LIBRARY.process_vm_readv
_readv.argtypes = (
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_char_p,
    ctypes.c_ulong,
    ctypes.c_ulong,
)
_readv.restype = ctypes.c_ssize_t


class _Buffer(threading.local):
    """One page for each thread, so that a read allocates little."""

    def __init__(self) -> None:
        self.page = ctypes.create_string_buffer(_PAGE)
        self.address = ctypes.addressof(self.page)
        self.chunk = _VECTOR.pack(self.address, _CHUNK)


_BUFFER = _Buffer()


def read_string(pid: int, address: int) -> bytes:
    """The string at an address of a thread's memory.

    Raises OSError: EFAULT where memory ends before the string does, ENAMETOOLONG for
    one longer than a path may be, ESRCH and EPERM where there is nothing to be read.
    """
    buffer = _BUFFER
    room = _PAGE - (address & (_PAGE - 1))
    if room >= _CHUNK:
        got = _readv(pid, buffer.chunk, 1, _VECTOR.pack(address, _CHUNK), 1, 0)
        if got < 0:
            raise _error()
        string = buffer.page.value
        if len(string) < got:  # what follows is left from an earlier read
            return string
    return _read_on(pid, address)


def _read_on(pid: int, address: int) -> bytes:
    """The same for any string: up to the end of each page, which may be the last."""
    string = b""
    while True:
        room = _PAGE - ((address + len(string)) & (_PAGE - 1))
        part = read(pid, address + len(string), room)
        end = part.find(0)
        string += part if end < 0 else part[:end]
        if len(string) > LONGEST_PATH:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        if end >= 0:
            return string


def read(pid: int, address: int, length: int) -> bytes:
    """Exactly `length` bytes; raises OSError as `read_string` does."""
    buffer = ctypes.create_string_buffer(length)
    ours = _VECTOR.pack(ctypes.addressof(buffer), length)
    if not 0 <= address <= address + length < 1 << 64:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    got = _readv(pid, ours, 1, _VECTOR.pack(address, length), 1, 0)
    if got < 0:
        raise _error()
    if got < length:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return buffer.raw


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
