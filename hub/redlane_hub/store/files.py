"""Files beside a database: private, owned as it is, complete or absent."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = [
    "PRIVATE",
    "create_private",
    "give_to_owner",
    "place",
    "sync_directory",
    "sync_file",
    "unfinished",
]

PRIVATE = 0o600
"""Password hashes, addresses and secrets are nobody else's."""


def give_to_owner(descriptor: int, like: Path) -> None:
    """Give a new file the owner that `like` has, or its directory where it is none.

    Only root can, and must: the service could not read what an administrator made.
    """
    if os.geteuid() == 0:
        owner = (like if like.exists() else like.resolve().parent).stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def create_private(path: Path) -> None:
    """An empty file that only its owner can read, unless there is one already."""
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, PRIVATE)
        give_to_owner(descriptor, path.parent)
        os.close(descriptor)


@contextmanager
def unfinished(path: Path) -> Iterator[Path]:
    """A new private file beside `path` to write to; what is left of it is removed."""
    # Named before it is made: a signal in between would leave it behind.
    name = path.parent / f".{path.name}.{secrets.token_hex(8)}"
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, PRIVATE)
        try:
            give_to_owner(descriptor, path)
        finally:
            os.close(descriptor)
        yield name
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(f"{name}{ending}").unlink(missing_ok=True)


def place(made: Path, path: Path, *, replace: bool = False) -> None:
    """Give a finished file its name, in one step and safely on the disk.

    Raises FileExistsError where there is one already, unless it may be replaced.
    """
    sync_file(made)
    if replace:
        made.replace(path)
    else:
        _place_new(made, path)
    sync_directory(path.parent)


def _place_new(made: Path, path: Path) -> None:
    try:
        path.hardlink_to(made)  # fails where a rename would replace
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError from None
        made.rename(path)


def sync_file(path: Path) -> None:
    """Wait until the file's bytes are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


sync_directory = sync_file
"""Wait until the names in the directory are on the disk."""
