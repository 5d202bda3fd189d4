"""Whether a process takes open files of others here: tried out on this one.

`redlane-run` takes its callers' sockets, to bind and to connect them in their place.
Filters around a whole machine, as container managers load them, may refuse that.
"""

import ctypes
import os

__all__ = ["why_no_files_are_taken"]

_PIDFD_GETFD = 438
"""On x86-64 and aarch64 alike."""


def why_no_files_are_taken() -> str:
    """What the kernel says to one that would take another's open file, or ""."""
    try:
        process = os.pidfd_open(os.getpid())
    except OSError as refusal:
        return refusal.strerror or str(refusal)
    ours, theirs = os.pipe()
    libc = ctypes.CDLL(None, use_errno=True)
    taken = libc.syscall(_PIDFD_GETFD, process, theirs, 0)
    error = os.strerror(ctypes.get_errno()) if taken < 0 else ""
    for file in (ours, theirs, process, taken):
        if file >= 0:
            os.close(file)
    return error
