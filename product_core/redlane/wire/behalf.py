"""Connections that the supervisor of a session has made for one of its processes.

It connects the sockets of a session in their programs' place, so that the kernel names
it and not them. To a daemon it says first for whom: `REDLANE FOR <process id>`, a line.
"""

import re

__all__ = ["LONGEST_BEHALF", "behalf_in"]

LONGEST_BEHALF = 32
"""The line has no more bytes."""

_LINE = re.compile(rb"REDLANE FOR ([1-9][0-9]{0,8})\n")


def behalf_in(begun: bytes) -> tuple[int, int] | None:
    """The process, and how long the line is; None where a connection begins with none.

    `begun` is the first that has come: the line comes in one piece.
    """
    found = _LINE.match(begun)
    return None if found is None else (int(found[1]), found.end())
