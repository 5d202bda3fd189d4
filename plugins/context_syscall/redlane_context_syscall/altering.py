"""Changes of size, rights, owner, times and attributes, done in the caller's place.

What a path leads to is pinned, judged, and changed by the pin; what a descriptor stands
for, by a copy of it. What is in no file system keeps nothing that could be changed.
"""

import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from errno import E2BIG, EFAULT, EINVAL, ENAMETOOLONG, ERANGE
from functools import partial
from types import MappingProxyType

from redlane_context_syscall.arguments import PathArgument, arguments_of
from redlane_context_syscall.calls import Answer, Handler, Value
from redlane_context_syscall.emulated_call import (
    EmulatedCall,
    EmulatedCalls,
    NameRules,
    text,
)
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_SYMLINK_NOFOLLOW,
    utimensat,
)
from redlane_context_syscall.resolve import pin
from redlane_context_syscall.target import Target, signed
from redlane_context_syscall.walking import failure
from redlane_context_syscall.world import World

__all__ = ["Altering"]

_WORD = 0xFFFFFFFF
_RIGHTS = 0o7777
_LONGEST_NAME, _LARGEST_VALUE = 255, 65_536  # of an extended attribute
_MICROSECONDS = 1_000_000
_TIMES = struct.Struct("@qqqq")
_BOTH = struct.Struct("@qq")
_BY_DESCRIPTOR = ("fchmod", "fchown", "fsetxattr", "fremovexattr")

File = int | str
"""An open file of ours, or the kernel's own link to one that is pinned."""
Change = Callable[[File], None]
Prepare = Callable[[Target, int], Change]
"""Reads what a call has to say beside its file, from a register on."""


class Altering:
    """Answers such changes; one for each session, for several threads at once."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: NameRules,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._calls = EmulatedCalls(listener, world, decisions, blocking=blocking)

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        return {name: partial(self._answer, name) for name in _PREPARING}

    def _answer(self, name: str, notification: Notification) -> Answer:
        """Read all there is to read, find the file, and change it."""
        call = self._calls.begin(notification, name)
        target = call.target
        if name in _BY_DESCRIPTOR:
            change = self._prepared(call, 1)
            return self._change_open(call, notification.args[0], change)
        argument = arguments_of(name)[0]
        _check_flags(call, argument)
        change = self._prepared(call, argument.pointer + 1)
        directory = AT_FDCWD
        if argument.directory >= 0:
            directory = notification.args[argument.directory]
        pointer = notification.args[argument.pointer]
        if not pointer and argument.optional:
            if signed(directory) == AT_FDCWD:
                call.fail(EFAULT)
            if argument.flags >= 0 and notification.args[argument.flags] & _WORD:
                call.fail(EINVAL)
            return self._change_open(call, directory, change)
        path = call.read(pointer)
        follow = argument.follows_in(notification.args)
        left = call.left((directory, path, follow))
        if left is not None:
            return left
        with call.resolving():
            named = text(path)
            if not named and _names_directory(argument, notification.args):
                descriptor = target.directory(directory)
                canonical = target.world.view.path_of(descriptor)
            else:
                pinned = pin(target, directory, named, follow=follow)
                descriptor, canonical = pinned.descriptor, pinned.canonical
        with _closing(descriptor):
            call.check(canonical, changed=_kept(canonical))
            with call.acting():
                change(f"/proc/self/fd/{descriptor}")
        return Value()

    def _prepared(self, call: EmulatedCall, at: int) -> Change:
        try:
            return _PREPARING[call.name](call.target, at)
        except OSError:
            call.check()
            raise

    def _change_open(self, call: EmulatedCall, register: int, change: Change) -> Answer:
        """Change what a descriptor stands for: in its table it may be exchanged."""
        try:
            descriptor = call.target.copied(register)
        except PermissionError:
            call.refuse("its descriptors are closed to the supervisor")
        with _closing(descriptor):
            canonical = call.target.world.view.path_of(descriptor)
            call.check(canonical, changed=_kept(canonical))
            with call.acting():
                change(descriptor)
        return Value()


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def _kept(canonical: bytes | None) -> tuple[bytes | None, ...]:
    """What is changed in a file system: a pipe or a socket is in none."""
    return () if canonical and not canonical.startswith(b"/") else (canonical,)


def _check_flags(call: EmulatedCall, argument: PathArgument) -> None:
    """Have a call fail on flags that the kernel does not know."""
    if argument.flags < 0:
        return
    flags = call.target.notification.args[argument.flags] & _WORD
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        call.fail(EINVAL)


def _names_directory(argument: PathArgument, registers: tuple[int, ...]) -> bool:
    """Whether an empty path stands for the directory argument itself."""
    return bool(argument.flags >= 0 and registers[argument.flags] & argument.empty)


def _rights(target: Target, at: int) -> Change:
    mode = target.notification.args[at] & _RIGHTS
    return lambda file: os.chmod(file, mode)  # noqa: PTH101  # may be a number


def _owner(target: Target, at: int) -> Change:
    user, group = (_identity(each) for each in target.notification.args[at : at + 2])
    return lambda file: os.chown(file, user, group)


def _identity(register: int) -> int:
    """A user or a group; -1 leaves it as it is."""
    number = register & _WORD
    return -1 if number == _WORD else number


def _size(target: Target, at: int) -> Change:
    register = target.notification.args[at]
    if register >> 63:
        raise failure(EINVAL)
    return lambda file: os.truncate(file, register)


def _times(target: Target, at: int) -> Change:
    """Two of struct timespec; null is now."""
    address = target.notification.args[at]
    return _to(target.read(address, _TIMES.size) if address else None)


def _times_in_microseconds(target: Target, at: int) -> Change:
    """Two of struct timeval."""
    address = target.notification.args[at]
    if not address:
        return _to(None)
    seconds, part, later, later_part = _TIMES.unpack(target.read(address, _TIMES.size))
    if not (0 <= part < _MICROSECONDS and 0 <= later_part < _MICROSECONDS):
        raise failure(EINVAL)
    return _to(_TIMES.pack(seconds, part * 1000, later, later_part * 1000))


def _times_in_seconds(target: Target, at: int) -> Change:
    """A struct utimbuf."""
    address = target.notification.args[at]
    if not address:
        return _to(None)
    seconds, later = _BOTH.unpack(target.read(address, _BOTH.size))
    return _to(_TIMES.pack(seconds, 0, later, 0))


def _to(times: bytes | None) -> Change:
    def change(file: File) -> None:
        if isinstance(file, int):
            utimensat(file, None, times)
        else:
            utimensat(AT_FDCWD, file.encode(), times)

    return change


def _attribute(target: Target, at: int) -> Change:
    """Name, value, its size, and flags."""
    name_at, value_at, size, flags = target.notification.args[at : at + 4]
    flags &= _WORD
    if flags & ~(os.XATTR_CREATE | os.XATTR_REPLACE):
        raise failure(EINVAL)
    name = _attribute_name(target, name_at)
    if size > _LARGEST_VALUE:
        raise failure(E2BIG)
    value = target.read(value_at, size) if size else b""
    return lambda file: os.setxattr(file, name, value, flags)


def _no_attribute(target: Target, at: int) -> Change:
    name = _attribute_name(target, target.notification.args[at])
    return lambda file: os.removexattr(file, name)


def _attribute_name(target: Target, address: int) -> bytes:
    try:
        name = target.read_string(address)
    except OSError as error:
        if error.errno == ENAMETOOLONG:
            raise failure(ERANGE) from None
        raise
    if not 0 < len(name) <= _LONGEST_NAME:
        raise failure(ERANGE)
    return name


_PREPARING: Mapping[str, Prepare] = MappingProxyType(
    {
        "truncate": _size,
        **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), _rights),
        **dict.fromkeys(("chown", "lchown", "fchown", "fchownat"), _owner),
        "utime": _times_in_seconds,
        **dict.fromkeys(("utimes", "futimesat"), _times_in_microseconds),
        "utimensat": _times,
        **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), _attribute),
        **dict.fromkeys(("removexattr", "lremovexattr", "fremovexattr"), _no_attribute),
    }
)
