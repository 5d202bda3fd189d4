"""Scripts on disk: what a shell would read when a command names a file."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from redlane.contexts.shell.expansion.disk import (
    DESCRIPTOR,
    OWN_DISK,
    Disk,
    UnreadableError,
)
from redlane.contexts.shell.grammar.expansions import TooComplex

__all__ = [
    "ELF",
    "MOST_BYTES",
    "MOST_SCRIPT_BYTES",
    "Script",
    "interpreter_of_file",
    "read_script",
    "read_text",
    "real_name",
    "script_words",
]

MOST_BYTES = 1024 * 1024
"""The longest text that is read as commands where no file holds it."""

MOST_SCRIPT_BYTES = 16 * 1024 * 1024
"""The longest script that is judged; a longer one is refused, not half read."""

ELF = b"\x7fELF"
"""How a program begins that the machine runs itself."""
_LONGEST_FIRST_LINE = 4096
_NULL_DEVICE = os.makedev(1, 3)


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, and the words of its `#!` line if it has one."""

    path: str
    text: str
    interpreter: tuple[str, ...]


def read_script(path: str, cwd: str | None, disk: Disk = OWN_DISK) -> Script | None:
    """The script at `path`; None when there is none, or it is no readable text.

    Raises TooComplex for a text that is too long to be judged.
    """
    full = _full(path, cwd, disk)
    data = _read(full, disk, MOST_SCRIPT_BYTES) if full else None
    if full is None or data is None:
        return None
    if len(data) > MOST_SCRIPT_BYTES:
        most = f"{MOST_SCRIPT_BYTES} bytes"
        raise TooComplex(f"the script {path!r} is longer than {most}")
    text = _decoded(data)
    return Script(str(Path(full)), text, _interpreter(text))


def read_text(path: str, cwd: str | None, disk: Disk = OWN_DISK) -> tuple[str, ...]:
    """The text of a file, cut off a little above the bound; nothing if unreadable."""
    full = _full(path, cwd, disk)
    data = _read(full, disk, MOST_BYTES) if full else None
    return () if data is None else (_decoded(data),)


def script_words(
    path: str, cwd: str | None, disk: Disk = OWN_DISK, *, may_be_sh: bool = True
) -> tuple[str, ...]:
    """The words that run the script at `path`: its interpreter, or a shell.

    Without `may_be_sh` what names no interpreter is none.
    """
    script = read_script(path, cwd, disk)
    if script is None or not (script.interpreter or may_be_sh):
        return ()
    return (*(script.interpreter or ("sh",)), path)


def interpreter_of_file(
    path: str, cwd: str | None, disk: Disk = OWN_DISK
) -> tuple[str, ...]:
    """The words of a file's `#!` line; nothing where it has none, or cannot be read."""
    full = _full(path, cwd, disk)
    try:
        is_there = full is not None and disk.is_regular(full)
        data = _read(full, disk, _LONGEST_FIRST_LINE) if full and is_there else None
    except UnreadableError:
        return ()
    return _interpreter(_decoded(data or b""))


def real_name(path: str, cwd: str | None, disk: Disk = OWN_DISK) -> str | None:
    """The name of the program that a symbolic link leads to, if it is another."""
    full = _full(path, cwd, disk)
    target = disk.link_target(full) if full else None
    if full is None or target is None:
        return None
    real = target.rpartition("/")[2]
    return real if real != full.rpartition("/")[2] else None


def _full(path: str, cwd: str | None, disk: Disk) -> str | None:
    """The absolute path, where one can be known."""
    if not path.startswith("~"):
        path = os.path.join(cwd or "", path)  # noqa: PTH118  # paths are texts, also odd ones
    full = disk.expanded(path)
    return full if full.startswith("/") and "\0" not in full else None


def _read(path: str, disk: Disk, most: int) -> bytes | None:
    """The bytes of a regular file that is no program, one more than `most` at most.

    Raises UnreadableError when it cannot be read, though a shell might.
    """
    descriptor = disk.open(path)
    if descriptor is None:
        return None
    try:
        with open(descriptor, "rb") as file:  # noqa: PTH123  # a descriptor, not a path
            if not _is_file(path, os.fstat(descriptor)):
                return None
            if file.peek(len(ELF))[: len(ELF)] == ELF:
                return None
            return file.read(most + 1)
    except (OSError, ValueError):
        return None


def _decoded(data: bytes) -> str:
    """The text as a shell reads it, which passes over a NUL wherever it stands."""
    return data.replace(b"\0", b"").decode(errors="replace")


def _is_file(path: str, status: os.stat_result) -> bool:
    """Whether it is a file whose bytes are there to be read, and to be judged.

    Raises UnreadableError for what gives its reader bytes that nobody else can see.
    """
    if stat.S_ISREG(status.st_mode):
        return True
    empty = stat.S_ISDIR(status.st_mode) or status.st_rdev == _NULL_DEVICE
    if not (empty or DESCRIPTOR.fullmatch(path)):
        raise UnreadableError(f"{path!r} is no file: what comes out of it is not known")
    return False


def _interpreter(text: str) -> tuple[str, ...]:
    """The words of `#!`: the interpreter, and all that follows as one argument."""
    if not text.startswith("#!"):
        return ()
    line = text[2:].partition("\n")[0].strip()
    return tuple(line.split(None, 1))
