"""What the machine's daemon may do is for itself alone: what it starts gets none of it.

systemd hands capabilities to a service that is not root's as ambient ones, and those
pass on to every program that it runs.
"""

import ctypes
import os

from redlane.errors import DaemonError

__all__ = ["clear_ambient"]

_PR_CAP_AMBIENT = 47
_CLEAR_ALL = 4


def clear_ambient() -> None:
    """Let checkers start without our capabilities; raises DaemonError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise DaemonError(f"ambient capabilities cannot be cleared: {reason}")
