"""Typing into a terminal, which would run commands in the shell of a person.

The terminal is a new one that nobody reads from.
"""

import errno
import fcntl
import os
import pty
import termios

from redlane.doctor.findings import REPORT, Finding, held, left_open, untried
from redlane.doctor.targets import Targets

__all__ = ["judge_typing", "type_into_terminal"]

_NAME = "typing into a terminal"
_REFUSALS = (errno.EACCES, errno.EPERM)


def type_into_terminal(_: Targets) -> Finding:
    """Try TIOCSTI on the controlling terminal of a child."""
    try:
        child, terminal = pty.fork()
    except OSError as error:
        return untried(_NAME, f"there is no terminal to be had: {error.strerror}")
    if child == 0:
        os._exit(_errno_of_typing())
    # Until it is closed: who hangs up ends the child.
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(terminal)
    return judge_typing(number)


def judge_typing(number: int) -> Finding:
    """What the error of an attempt says; 0 is none, and less a signal."""
    if number == 0:
        return left_open(_NAME, "ioctl(TIOCSTI) is let through", REPORT)
    if number == errno.EIO:
        return held(_NAME, "ioctl(TIOCSTI): this kernel has none (legacy_tiocsti)")
    if number in _REFUSALS:
        return held(_NAME, f"ioctl(TIOCSTI): {os.strerror(number)}")
    return untried(_NAME, f"ioctl(TIOCSTI) ended with {number}")


def _errno_of_typing() -> int:
    try:
        fcntl.ioctl(0, termios.TIOCSTI, b"x")
    except OSError as error:
        return error.errno or errno.EINVAL
    return 0
