"""Reading files: each once, whole, or an error; never a skip and never a hang."""

import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redlane.errors import LoadError

__all__ = ["LARGEST", "Listing", "Overlay", "list_json", "read_file"]

LARGEST = 16 * 1024 * 1024
"""The largest file that is read, in bytes."""

_TOO_LARGE = f"larger than {LARGEST // 1024 // 1024} MiB"
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The `*.json` names of a directory, bytewise, and the names passed over."""

    files: tuple[Path, ...]
    ignored: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Overlay:
    """What is on disk, with some files as they would be: their content, None if gone.

    Those must have names that are read.
    """

    instead: Mapping[Path, bytes | None] = field(default_factory=dict)

    def list_json(self, directory: Path) -> Listing:
        """As the function does."""
        listing = list_json(directory)
        files = {each for each in listing.files if each not in self.instead}
        files |= {
            each
            for each, data in self.instead.items()
            if data is not None and each.parent == directory
        }
        return Listing(tuple(sorted(files, key=os.fsencode)), listing.ignored)

    def read(self, path: Path) -> bytes:
        """As `read_file` does."""
        data = self.instead.get(path)
        if data is not None and len(data) > LARGEST:
            raise LoadError(_TOO_LARGE)
        return read_file(path) if data is None else data


def list_json(directory: Path) -> Listing:
    """What is to be read in a directory; a directory that is not there is empty.

    Editors leave hidden files (`.#x.json`) beside what they edit: hidden names are not
    read, nor are names whose ending is another spelling of `.json`; both are told.
    Raises LoadError when the directory cannot be read.
    """
    try:
        names = sorted(os.listdir(directory), key=os.fsencode)  # noqa: PTH208  # names
    except FileNotFoundError:
        if directory.is_symlink():
            raise LoadError(
                "a symbolic link to a directory that is not there"
            ) from None
        return Listing(())
    except OSError as error:
        raise LoadError(_why(error)) from None
    alike = [name for name in names if name.lower().endswith(".json")]
    wanted = [name for name in alike if _is_wanted(name)]
    return Listing(
        files=tuple(directory / name for name in wanted),
        ignored=tuple(directory / name for name in alike if not _is_wanted(name)),
    )


def _is_wanted(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def read_file(path: Path) -> bytes:
    """The whole content of a regular file that stays the same while it is read.

    Raises LoadError for whatever else is there; the message does not name the path.
    """
    try:
        _require_regular(path.stat())
        descriptor = os.open(
            path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
        )
        try:
            return _read_unchanged(path, descriptor)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise LoadError(_why(error)) from None


def _read_unchanged(path: Path, descriptor: int) -> bytes:
    """Everything in an open file, with proof that it was one version of it."""
    before = os.fstat(descriptor)
    _require_regular(before)
    if before.st_size > LARGEST:
        raise LoadError(_TOO_LARGE)
    data = _read_all(descriptor, before.st_size)
    after, named = os.fstat(descriptor), path.stat()
    if not _identity(before) == _identity(after) == _identity(named):
        raise LoadError("changed while it was read; load again")
    if len(data) != after.st_size:
        raise LoadError("could not be read whole; load again")
    return data


def _read_all(descriptor: int, size: int) -> bytes:
    """The content, and one byte more when the file has grown."""
    pieces = []
    left = size + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _require_regular(status: os.stat_result) -> None:
    """Refuse what is no file before it is opened: opening a device can act on it."""
    if not stat.S_ISREG(status.st_mode):
        kind = next(
            (name for is_kind, name in _KINDS if is_kind(status.st_mode)), "odd"
        )
        raise LoadError(f"not a file but {kind}")


def _why(error: OSError | ValueError) -> str:
    """The system's reason, in words and without the path."""
    if isinstance(error, OSError) and error.errno is not None:
        if error.errno == errno.ELOOP:
            return "cannot be read: the symbolic links lead in a circle"
        if error.errno == errno.ENOENT:
            return "cannot be read: it is gone, or a symbolic link to nothing"
        return f"cannot be read: {os.strerror(error.errno).lower()}"
    return f"cannot be read: {error}"
