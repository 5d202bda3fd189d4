"""/dev/tty is the terminal of whoever opens it, and nobody gets one by our doing."""

import errno
import fcntl
import os
import pty
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from syscall_harness import Decisions, Kit, forked, supervised

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.opening import Opening

OPENS = ("open", "openat", "creat")


def allowing(kit: Kit) -> Mapping[str, Handler]:
    opening = Opening(kit.listener, kit.world, Decisions(), blocking=kit.blocking)
    return opening.handlers()


def own_terminal() -> tuple[int, int]:
    """Have a session of our own on a new terminal; both its ends."""
    master, slave = pty.openpty()
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    return master, slave


def spoken_to(master: int) -> Any:
    """What /dev/tty leads to: what comes out at the other end of a terminal."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    os.write(terminal, b"hello")
    flags = fcntl.fcntl(terminal, fcntl.F_GETFL)
    os.close(terminal)
    return os.read(master, 5), oct(flags)


def terminal_of_this_process() -> bytes:
    """The number of its controlling terminal; 0 without one."""
    return Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[4]


def in_a_session_of_its_own() -> Any:
    return spoken_to(own_terminal()[0])


def test_a_terminal_that_is_the_supervisors_too_is_opened() -> None:
    def within() -> Any:
        master, _ = own_terminal()
        return supervised(lambda: spoken_to(master), OPENS, allowing).result

    assert forked(within) == forked(in_a_session_of_its_own)


def test_another_terminal_than_the_supervisors_is_opened() -> None:
    def within() -> Any:
        own_terminal()
        return supervised(in_a_session_of_its_own, OPENS, allowing).result

    assert forked(within) == forked(in_a_session_of_its_own)


def test_the_terminal_of_a_supervisor_without_one_is_opened() -> None:
    def within() -> Any:
        os.setsid()
        return supervised(in_a_session_of_its_own, OPENS, allowing).result

    assert forked(within) == forked(in_a_session_of_its_own)


def test_a_caller_without_a_terminal_does_not_get_the_supervisors() -> None:
    def without(master: int) -> Any:
        os.setsid()
        return spoken_to(master)

    def within() -> Any:
        master, _ = own_terminal()
        return supervised(lambda: without(master), OPENS, allowing).result

    assert forked(within) == "ENXIO"


def test_the_supervisor_takes_no_terminal_that_it_opens() -> None:
    """A session's leader would get one that is opened without O_NOCTTY."""

    def act() -> Any:
        _, slave = pty.openpty()
        os.close(os.open(os.ttyname(slave), os.O_RDWR))
        return terminal_of_this_process()

    def within() -> Any:
        os.setsid()
        result = supervised(act, OPENS, allowing).result
        return result, terminal_of_this_process()

    assert forked(within) == (b"0", b"0")
