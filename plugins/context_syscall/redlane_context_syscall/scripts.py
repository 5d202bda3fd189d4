"""What runs a script: the program that its first line names.

The kernel starts that one in the script's place, and makes no system call for it. To
policies it is a program that is executed, too.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from stat import S_ISREG

from redlane_context_syscall.arguments import arguments_of
from redlane_context_syscall.candidates import seen_as
from redlane_context_syscall.kernel.system import AT_FDCWD
from redlane_context_syscall.resolve import pin
from redlane_context_syscall.target import Target

__all__ = ["interpreters"]

_MARK = b"#!"
_LONGEST_LINE = 256
_MOST_IN_TURN = 5
_SPACES = b" \t"


def interpreters(target: Target, name: str) -> Iterator[tuple[bytes | None, ...]]:
    """The candidates of each program that runs another: a script may run a script."""
    (argument,) = arguments_of(name)
    registers = target.notification.args
    directory = registers[argument.directory] if argument.directory >= 0 else AT_FDCWD
    with suppress(OSError):
        path = target.read_string(registers[argument.pointer])
        for _ in range(_MOST_IN_TURN):
            path = _named_in(_first_line(target, directory, path))
            if not path:
                return
            directory = AT_FDCWD
            yield tuple(dict.fromkeys(seen_as(target, directory, path, follow=True)))


def _first_line(target: Target, directory: int, path: bytes) -> bytes:
    """As much of a program as the kernel looks at; raises OSError."""
    if path:
        descriptor = pin(target, directory, path).descriptor
    else:
        descriptor = target.directory(directory)
    try:
        ours = target.world.view.descriptors
        # The program is opened by its pin; a FIFO or a device is no program.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        if not S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        opened = os.open(b"%d" % descriptor, flags, dir_fd=ours)
    finally:
        os.close(descriptor)
    try:
        return os.read(opened, _LONGEST_LINE)
    finally:
        os.close(opened)


def _named_in(start: bytes) -> bytes:
    """The interpreter that a script names; empty for other programs."""
    if not start.startswith(_MARK):
        return b""
    line = start[len(_MARK) :].partition(b"\n")[0].strip(_SPACES).partition(b"\0")[0]
    return line.replace(b"\t", b" ").partition(b" ")[0]
