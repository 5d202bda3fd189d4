"""Opening files with the rights of somebody else: of one thread, for one moment.

Only the thread that calls acts so (setfsuid(2) and the system calls beside it); what
the C library offers for groups would change all threads. Each change is read back. A
thread that cannot be itself again must not go on, and with it the process.
"""

import ctypes
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn

from redlane.errors import DaemonError

__all__ = ["Identity", "acting_as", "check_acting"]

_SETGROUPS = {"x86_64": 116, "aarch64": 159}
_NOBODY = 65534
_TELL = 0xFFFFFFFF
"""No user and no group: given this, the kernel changes nothing and tells what is."""
_TAINTED = 70

_log = logging.getLogger(__name__)
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom files are opened."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


@contextmanager
def acting_as(who: Identity) -> Iterator[None]:
    """Have this thread open files as `who`; raises PermissionError when it cannot."""
    mine = _current()
    try:
        if not _become(who):
            raise PermissionError(f"cannot act as user {who.uid}")
        yield
    finally:
        is_itself = False
        try:
            is_itself = _become(mine)
        finally:
            if not is_itself:
                _end_process()


def check_acting() -> None:
    """Raise DaemonError where this process may not act as others."""
    if os.uname().machine not in _SETGROUPS:
        known = " and ".join(_SETGROUPS)
        raise DaemonError(f"the machine's daemon runs on {known} only")
    try:
        with acting_as(Identity(_NOBODY, _NOBODY)):
            pass
    except PermissionError as error:
        raise DaemonError(
            "the machine's daemon needs the capabilities CAP_SETUID and CAP_SETGID, to "
            "open files with the rights of who asks"
        ) from error


def _current() -> Identity:
    return Identity(
        _libc.setfsuid(ctypes.c_uint(_TELL)) & _TELL,
        _libc.setfsgid(ctypes.c_uint(_TELL)) & _TELL,
        tuple(os.getgroups()),
    )


def _become(who: Identity) -> bool:
    """Change this thread; whether it is `who` then."""
    numbers = (ctypes.c_uint * len(who.groups))(*who.groups)
    number = _SETGROUPS.get(os.uname().machine, -1)
    if set(os.getgroups()) != set(who.groups):
        _libc.syscall(number, len(who.groups), numbers)
    _libc.setfsgid(ctypes.c_uint(who.gid))
    _libc.setfsuid(ctypes.c_uint(who.uid))
    now = _current()
    return (now.uid, now.gid, set(now.groups)) == (who.uid, who.gid, set(who.groups))


def _end_process() -> NoReturn:
    _log.critical("a thread cannot give up the rights of another user: ending")
    os._exit(_TAINTED)
