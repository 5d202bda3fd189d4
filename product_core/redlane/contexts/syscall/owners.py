"""Which program makes a call: a name that nobody in the session can have given itself.

It is the name of a file below /usr or /opt that is root's alone, as everything above it
is; and where the session is root's too, it has not changed since that began.
"""

import os
import stat
import time
from pathlib import Path

from redlane.model.content import SystemCall

__all__ = ["PROGRAM", "Programs"]

PROGRAM = "program"
"""The detail of a call that has the canonical path of its program, as its guard saw it.

Empty where that lies there no more, or cannot be told.
"""

_INSTALLED = ("/usr/", "/opt/")


class Programs:
    """Tells the installed programs of one session by their names."""

    def __init__(self) -> None:
        """The session begins now."""
        self._began = time.time()
        self._is_root = os.geteuid() == 0

    def name(self, call: SystemCall) -> str:
        """The name of the program that makes a call; "" for one of no account."""
        path = call.details.get(PROGRAM)
        if not isinstance(path, str) or not path.startswith(_INSTALLED):
            return ""
        file = Path(path)
        try:
            if not all(map(_is_roots_alone, (file, *file.parents))):
                return ""
            if self._is_root and file.stat().st_ctime >= self._began:
                return ""
        except OSError:
            return ""
        return file.name


def _is_roots_alone(path: Path) -> bool:
    about = path.lstat()
    if stat.S_ISLNK(about.st_mode) or about.st_uid != 0:
        return False
    return not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
