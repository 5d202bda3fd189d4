"""Files that a session is to leave alone: the daemon's, and what its role keeps.

An attempt makes a file of a name that was never there, and takes it away again; of what
is hidden nothing is read.
"""

import errno
import os
from pathlib import Path

from redlane.doctor.findings import REPORT, Finding, held, left_open, untried
from redlane.doctor.targets import Targets

__all__ = ["read_hidden", "write_elsewhere", "write_own_file"]

_REFUSALS = (errno.EPERM, errno.EACCES, errno.EROFS)
_OWN = "policies of the daemon"
_HIDDEN = "what `hidden` names"
_ELSEWHERE = "file outside of `writable`"


def write_own_file(to: Targets) -> Finding:
    """Try to add a file to what the daemon loads, under a name that it does not."""
    return _make(_OWN, Path(to.own_file), REPORT)


def write_elsewhere(to: Targets) -> Finding:
    """Try to make a file where the role does not have files made."""
    if to.file_elsewhere is None:
        return untried(_ELSEWHERE, to.why_nowhere)
    return _make(_ELSEWHERE, Path(to.file_elsewhere), REPORT)


def read_hidden(to: Targets) -> Finding:
    """Try to open something that the role hides, of which nothing is read."""
    if to.hidden is None:
        return untried(_HIDDEN, to.why_nothing)
    try:
        os.close(os.open(to.hidden, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        found = held if error.errno in _REFUSALS else untried
        return found(_HIDDEN, f"{to.hidden}: {error.strerror}")
    return left_open(_HIDDEN, f"{to.hidden} can be opened", REPORT)


def _make(name: str, path: Path, mend: str) -> Finding:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except OSError as error:
        found = held if error.errno in _REFUSALS else untried
        return found(name, f"a file in {path.parent}: {error.strerror}")
    path.unlink(missing_ok=True)
    return left_open(name, f"a file in {path.parent} can be made", mend)
