"""bind, done in the caller's place where a role has places in which files are made.

A Unix socket that is bound to a path is a file. The address is read once, the socket is
a copy of the caller's, and the directory is pinned: another thread may exchange all
three meanwhile. The kernel looks the path up once more, though, and keeps it as the
socket's name, which others are told and answer to: so it gets the canonical path, from
a thread that may make sockets below the pinned directory alone, or else the bare name.
"""

import os
import socket
import struct
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from errno import EADDRINUSE, EINVAL

from redlane_context_syscall.addresses import (
    LONGEST_ADDRESS,
    UNIX,
    address_texts,
    unix_path,
)
from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.calls import GO_ON, Answer, Handler, Value
from redlane_context_syscall.candidates import address_seen
from redlane_context_syscall.emulated_call import EmulatedCall, EmulatedCalls, NameRules
from redlane_context_syscall.kernel.landlock import make_sockets_below
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, bind
from redlane_context_syscall.resolve import DirectoryEntry, place
from redlane_context_syscall.target import signed
from redlane_context_syscall.walking import failure
from redlane_context_syscall.world import World

__all__ = ["Binding"]

_FAMILY = struct.Struct("=H")
_LONGEST_UNIX = 110  # struct sockaddr_un
_NETLINK = struct.Struct("=HHII")  # family, -, port, groups
_DOMAIN = 39  # SO_DOMAIN


class Binding:
    """Answers bind; one for each session, for several threads at once."""

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
        """The handler of the call, by its name."""
        return {"bind": self.bind}

    def bind(self, notification: Notification) -> Answer:
        """Take the registers socket, address, length."""
        call = self._calls.begin(notification, "bind", told_as=UNIX)
        address = _read(call)
        try:
            number = call.target.copied(notification.args[0])
        except PermissionError:
            call.refuse("its descriptors are closed to the supervisor")
        except OSError:
            call.check()
            raise
        try:
            return _bind(call, number, address)
        finally:
            os.close(number)


def _read(call: EmulatedCall) -> bytes | OSError:
    """The address, to be judged from now on; or why the kernel would not take it."""
    _, pointer, register = call.target.notification.args[:3]
    length = signed(register)
    try:
        most = min(length, LONGEST_ADDRESS)
        address = call.target.read(pointer, most) if length > 0 else b""
    except PermissionError:
        call.refuse("its memory is closed to the supervisor")
    except OSError as error:
        call.take(None)
        return error
    call.take(*address_texts(address))
    return address if 0 <= length <= LONGEST_ADDRESS else failure(EINVAL)


def _bind(call: EmulatedCall, number: int, address: bytes | OSError) -> Answer:
    """Bind a copy of the socket, wherever that is."""
    try:
        domain = _domain(number)
        if isinstance(address, OSError):
            raise address
    except OSError:
        call.check()
        raise
    is_unix = domain == socket.AF_UNIX and len(address) <= _LONGEST_UNIX
    path = unix_path(address) if is_unix else None
    reason = call.target.foreign()
    if reason and call.target.world.allows_namespaces:
        return _judge_only(call, address, path)
    if path is None:
        _bind_nameless(call, number, domain, address)
    elif reason:
        call.refuse(reason)
    else:
        _bind_path(call, number, path)
    return Value()


def _domain(number: int) -> int:
    """The family of a socket; raises OSError for what is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=number) as copy:
        try:
            return copy.getsockopt(socket.SOL_SOCKET, _DOMAIN)
        finally:
            copy.detach()


def _judge_only(call: EmulatedCall, address: bytes, path: bytes | None) -> Answer:
    """Leave it to the kernel where the path means something else than to us."""
    call.take(*address_seen(call.target, "bind", address))
    seen = call.literals if path is not None else ()
    paths = (each if each is None else each.removeprefix(UNIX) for each in seen)
    call.check(changed=tuple(paths))
    return GO_ON


def _bind_nameless(
    call: EmulatedCall, number: int, domain: int, address: bytes
) -> None:
    """Bind to what is no path, by the very bytes that were judged."""
    call.check()
    with call.acting():
        if domain == socket.AF_NETLINK and len(address) >= _NETLINK.size:
            family, rest, port, groups = _NETLINK.unpack_from(address)
            if not port:  # the kernel would take the number of our process
                own = _NETLINK.pack(family, rest, call.target.tgid, groups)
                try:
                    return bind(number, own)
                except OSError as error:
                    if error.errno != EADDRINUSE:
                        raise
        bind(number, address)
    return None


def _bind_path(call: EmulatedCall, number: int, path: bytes) -> None:
    """Bind to a path: have it judged, and the file made in the pinned directory."""
    with call.resolving():
        there = place(call.target, AT_FDCWD, path)
    try:
        try:
            call.check_made(there)
        except FileExistsError:
            raise failure(EADDRINUSE) from None
        # What it changes of itself, its directory among it, goes with the thread.
        with ThreadPoolExecutor(max_workers=1) as apart:
            apart.submit(_make, call, number, there, path).result()
    finally:
        there.close()


def _make(call: EmulatedCall, number: int, there: DirectoryEntry, path: bytes) -> None:
    """As the caller, with its umask; to be done in a thread of its own."""
    whole = there.canonical or b""
    try:
        with adopted(call.target, creating=True):
            os.fchdir(there.parent)
            is_short = _FAMILY.size + len(whole) <= _LONGEST_UNIX
            if b"/" in path and there.is_plain and whole and is_short:
                try:
                    make_sockets_below(there.parent)
                    return bind(number, _unix(whole))
                except OSError as error:
                    if error.errno == EADDRINUSE:
                        raise
            bind(number, _unix(there.name))
    except UnfaithfulError as error:
        call.refuse(error.reason)
    return None


def _unix(path: bytes) -> bytes:
    return _FAMILY.pack(socket.AF_UNIX) + path
