"""Signals that wait for a caller while its call is being answered.

A call that the supervisor waits for in the caller's place has to end when a signal
comes, as it would natively: a handler may be what ends the wait.
"""

from errno import EINTR
from pathlib import Path

__all__ = ["RESTART", "interruption"]

RESTART = 512
"""ERESTARTSYS: once the signal is taken, the kernel calls again or tells EINTR."""


def interruption(thread: int) -> int:
    """The errno to end a thread's call with for a signal that waits for it; or 0.

    RESTART only where the signal is sure to be this thread's: without a signal to take,
    it would see a number that means nothing.
    """
    try:
        text = Path(f"/proc/{thread}/status").read_bytes()
    except OSError:
        return 0
    fields = dict(line.split(b":", 1) for line in text.splitlines() if b":" in line)
    try:
        closed = int(fields[b"SigBlk"], 16) | int(fields[b"SigIgn"], 16)
        if int(fields[b"SigPnd"], 16) & ~closed:
            return RESTART
        if not int(fields[b"ShdPnd"], 16) & ~closed:
            return 0
        return RESTART if int(fields[b"Threads"]) == 1 else EINTR
    except (KeyError, ValueError):
        return 0
