"""The paths and addresses of a call that the kernel does itself, read to be judged."""

import os
import struct
from collections.abc import Iterator

from redlane_context_syscall.addresses import (
    LONGEST_ADDRESS,
    UNIX,
    address_texts,
    unix_path,
)
from redlane_context_syscall.arguments import ADDRESSES, PathArgument, arguments_of
from redlane_context_syscall.foreign import candidates_abroad
from redlane_context_syscall.kernel.system import AT_FDCWD
from redlane_context_syscall.resolve import pin, place
from redlane_context_syscall.target import Target, signed

__all__ = ["address_seen", "candidates_of", "seen_as"]

Candidate = bytes | None

_MESSAGE = struct.Struct("@PI")  # how struct msghdr begins: an address and its length
_BETWEEN_MESSAGES = 64  # the size of struct mmsghdr
_MOST_MESSAGES = 1024


def candidates_of(target: Target, name: str) -> tuple[Candidate, ...]:
    """Every path and address of a call, as written and as it is in truth."""
    found: dict[Candidate, None] = {}
    for argument in arguments_of(name):
        found.update(dict.fromkeys(_path(target, argument)))
    for address in _addresses(target, name):
        found.update(dict.fromkeys(address_seen(target, name, address)))
    return tuple(found)


def seen_as(
    target: Target, directory: int, path: bytes, *, follow: bool
) -> tuple[Candidate, ...]:
    """A path as written, and as it is in truth if it leads anywhere.

    One that cannot be resolved fails in the kernel as well; it is judged as written.
    """
    try:
        if target.foreign():
            return candidates_abroad(target, directory, path, follow=follow)
        return path, _canonical(target, directory, path, follow=follow)
    except PermissionError:
        return path, None
    except OSError:
        return (path,)


def _canonical(
    target: Target, directory: int, path: bytes, *, follow: bool
) -> Candidate:
    """Of what is there, or of where it would come to be; raises OSError."""
    try:
        there = pin(target, directory, path, follow=follow)
    except FileNotFoundError:
        parent = place(target, directory, path)
        parent.close()
        return parent.canonical
    there.close()
    return there.canonical


def _path(target: Target, argument: PathArgument) -> tuple[Candidate, ...]:
    """The candidates of one path argument."""
    registers = target.notification.args
    directory, pointer = _directory(target, argument), registers[argument.pointer]
    is_optional = argument.may_be_empty(registers)
    try:
        path = target.read_string(pointer) if pointer or not is_optional else b""
    except OSError:
        return (None,)
    if not path and is_optional:
        return _itself(target, argument)
    if argument.text_of >= 0:
        return _link_text(target, argument, path)
    follow = argument.follows_in(registers)
    return seen_as(target, directory, path, follow=follow)


def _directory(target: Target, argument: PathArgument) -> int:
    if argument.directory < 0:
        return AT_FDCWD
    return target.notification.args[argument.directory]


def _itself(target: Target, argument: PathArgument) -> tuple[Candidate, ...]:
    """The file that a descriptor stands for, when a call has no path besides.

    It is no path that was written, so only the true one counts. What is in no file
    system, a pipe or a socket, has none.
    """
    if argument.directory < 0:
        return ()
    try:
        held = target.directory(_directory(target, argument))
    except PermissionError:
        return (None,)
    except OSError:
        return ()
    try:
        path = target.world.view.path_of(held)
    finally:
        os.close(held)
    return (path,) if path is None or path.startswith(b"/") else ()


def _link_text(
    target: Target, argument: PathArgument, text: bytes
) -> tuple[Candidate, ...]:
    """What a new symlink says, and where it would lead from where it would be."""
    if text.startswith(b"/"):
        return seen_as(target, AT_FDCWD, text, follow=True)
    try:
        link = target.read_string(target.notification.args[argument.text_of])
    except OSError:
        return text, None
    before, slash, _ = link.rstrip(b"/").rpartition(b"/")
    beside = seen_as(
        target, _directory(target, argument), before + slash + text, follow=True
    )
    return (text, *beside[1:])


def _addresses(target: Target, name: str) -> Iterator[bytes | None]:
    """The socket addresses of a call as they are in memory."""
    registers = target.notification.args
    if name in ADDRESSES:
        pointer, length = (registers[each] for each in ADDRESSES[name])
        if pointer or name != "sendto":
            yield _memory(target, pointer, signed(length))
    elif name == "sendmsg":
        yield from _message(target, registers[1])
    elif name == "sendmmsg":
        for each in range(min(registers[2] & 0xFFFFFFFF, _MOST_MESSAGES)):
            yield from _message(target, registers[1] + each * _BETWEEN_MESSAGES)


def _message(target: Target, address: int) -> Iterator[bytes | None]:
    """The address in a struct msghdr, if it has one."""
    header = _memory(target, address, _MESSAGE.size, most=_MESSAGE.size)
    if header is None:
        yield None
        return
    pointer, length = _MESSAGE.unpack(header)
    if pointer and length:
        yield _memory(target, pointer, signed(length))


def _memory(
    target: Target, address: int, length: int, most: int = LONGEST_ADDRESS
) -> bytes | None:
    """So many bytes; None where they cannot be read."""
    try:
        return target.read(address, min(length, most)) if length > 0 else b""
    except OSError:
        return None


def address_seen(
    target: Target, name: str, address: bytes | None
) -> tuple[Candidate, ...]:
    """The forms of an address; a Unix socket's path also as it is in truth."""
    if address is None:
        return (None,)
    forms = address_texts(address)
    path = unix_path(address)
    if path is None:
        return forms
    seen = seen_as(target, AT_FDCWD, path, follow=name != "bind")
    return (*forms, *(each if each is None else UNIX + each for each in seen))
