"""Configuration files: read with care, and replaced as a whole or not at all.

Who may write where a file lies could have it, or what leads there, be another one while
it is being replaced. So a file must be the caller's own; and root, to whom every file
is open, goes through directories alone that nobody else can change.
"""

import contextlib
import os
import pwd
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ConfigurationFile", "RefusedError", "owner_of", "read_file"]

_MOST_BYTES = 64 * 1024 * 1024
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class RefusedError(Exception):
    """A file is not read or not replaced; the message says why."""


@dataclass(frozen=True, slots=True)
class ConfigurationFile:
    """A file as it was read; `path` is where it really is, behind all links."""

    path: Path
    data: bytes
    status: os.stat_result

    def replace(self, data: bytes) -> None:
        """Put this in its place, with the same mode, group and attributes.

        Raises RefusedError when somebody has changed the file meanwhile.
        """
        if not self.status.st_mode & stat.S_IWUSR:
            raise RefusedError("it is read-only")
        try:
            with _directory(self.path.parent) as directory:
                self._replace(data, directory)
        except OSError as error:
            raise RefusedError(f"it cannot be written: {error.strerror}") from error

    def _replace(self, data: bytes, directory: int) -> None:
        name = f".{self.path.name[:200]}.{secrets.token_hex(6)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=directory)
        try:
            with os.fdopen(file, "wb") as new:
                new.write(data)
                new.flush()
                self._dress(file, directory)
                os.fsync(file)
            self._check_unchanged(directory)
            os.rename(name, self.path.name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            os.unlink(name, dir_fd=directory)
            raise
        os.fsync(directory)

    def _check_unchanged(self, directory: int) -> None:
        now = os.stat(self.path.name, dir_fd=directory, follow_symlinks=False)
        if not _same(self.status, now):
            raise RefusedError("somebody has just changed it: try again")

    def _dress(self, new: int, directory: int) -> None:
        """Give the new file what the old one has besides its content."""
        if os.fstat(new).st_gid != self.status.st_gid:
            os.fchown(new, -1, self.status.st_gid)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        old = os.open(self.path.name, flags, dir_fd=directory)
        try:
            with contextlib.suppress(OSError):  # not every file system has them
                for name in os.listxattr(old):
                    os.setxattr(new, name, os.getxattr(old, name))
        finally:
            os.close(old)
        os.fchmod(new, stat.S_IMODE(self.status.st_mode))


def read_file(path: Path) -> ConfigurationFile | None:
    """The file, links followed; None when there is none.

    Raises RefusedError when it is not to be changed by this user.
    """
    path = path.absolute()
    try:
        if not os.path.lexists(path):
            return None
        _check_way(path)
        real = Path(os.path.realpath(path, strict=True))
        _check_way(real)
        with _directory(real.parent) as directory:
            return _read(real, directory)
    except NotADirectoryError:
        return None
    except OSError as error:
        raise RefusedError(f"it cannot be read: {error.strerror}") from error


def owner_of(status: os.stat_result) -> str:
    """The name of the user whose file it is."""
    try:
        return pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        return str(status.st_uid)


def _read(path: Path, directory: int) -> ConfigurationFile:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path.name, flags, dir_fd=directory), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError("it is no file")
        if status.st_uid != os.geteuid():
            owner = owner_of(status)
            raise RefusedError(f"it is {owner}'s: run this as {owner}")
        if status.st_nlink > 1:
            raise RefusedError("it has a second name (a hard link), which would stay")
        if status.st_size > _MOST_BYTES:
            raise RefusedError("it is too large")
        data = file.read(_MOST_BYTES + 1)
        if not _same(status, os.fstat(file.fileno())) or len(data) != status.st_size:
            raise RefusedError("somebody is just changing it: try again")
    return ConfigurationFile(path, data, status)


def _check_way(path: Path) -> None:
    """For root: what leads to the file is root's, and nobody else can change it."""
    if os.geteuid() != 0:
        return
    for each in (path, *path.parents):
        status = each.lstat()
        sticky = status.st_mode & stat.S_ISVTX and each != path
        open_to_all = status.st_mode & _OTHERS_WRITE and not stat.S_ISLNK(
            status.st_mode
        )
        if status.st_uid != 0:
            owner = owner_of(status)
            raise RefusedError(f"{each} is {owner}'s: run this as {owner}")
        if open_to_all and not sticky:
            raise RefusedError(f"{each} can be changed by others than root")


@contextlib.contextmanager
def _directory(path: Path) -> Iterator[int]:
    """A directory, which is really the one at that path."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        if Path(f"/proc/self/fd/{descriptor}").readlink() != path:
            raise RefusedError("somebody is just changing what leads to it: try again")
        yield descriptor
    finally:
        os.close(descriptor)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    fields = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
    return all(getattr(one, each) == getattr(other, each) for each in fields)
