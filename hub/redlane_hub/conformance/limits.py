"""What one check may use, and how a process is held to it."""

import os
import resource
import signal

__all__ = ["CPU_SECONDS", "MEMORY_BYTES", "WALL_SECONDS", "limit_this_process"]

CPU_SECONDS = 2
"""Processor time of one check."""

WALL_SECONDS = 6.0
"""Time by the clock of one check: a busy machine gives no more than a third of it."""

MEMORY_BYTES = 256 * 1024 * 1024
"""Address space of one check, with some 60 MB that Python takes by itself."""

_NICENESS = 5


def limit_this_process() -> None:
    """Take everything from this process but memory, time and what is open already.

    The kernel ends it when its time is over, whatever it is doing: Python's own signal
    handlers would wait for a pattern that never ends.
    """
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    # At the first of the two a process ends in a way of its own: that tells the cause.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    # No new descriptor: no file, no socket, no network.
    _limit(resource.RLIMIT_NOFILE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    # Served requests come first.
    os.nice(_NICENESS)


def _limit(kind: int, most: int) -> None:
    resource.setrlimit(kind, (most, most))
