"""The lease on a database: many may use it, and one alone may replace it.

SQLite's own locks end with each transaction. This one is held for as long as a process
has the database in use, on a file beside it; the kernel lets go of it however the
process ends. Forked workers share it with the process that took it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane_hub.errors import OperatorError
from redlane_hub.store.files import PRIVATE, give_to_owner

__all__ = ["is_used", "lock_path", "replacing", "using"]


def lock_path(database: Path) -> Path:
    """The file that is locked; it stays, and it is empty."""
    return Path(f"{database.resolve()}.lock")


@contextmanager
def using(database: Path) -> Iterator[None]:
    """Use the database together with others; a restore waits for nobody and refuses.

    Raises OperatorError while a restore is under way.
    """
    refusal = "a restore is under way; try again when it is done"
    with _locked(database, fcntl.LOCK_SH, refusal):
        yield


@contextmanager
def replacing(database: Path) -> Iterator[None]:
    """Have the database for oneself. Raises OperatorError while anybody uses it."""
    refusal = "is in use; stop the hub that serves it first"
    with _locked(database, fcntl.LOCK_EX, refusal):
        yield


def is_used(database: Path) -> bool:
    """Whether a hub or a command has it in use at this moment."""
    try:
        with replacing(database):
            return False
    except OperatorError:
        return True


@contextmanager
def _locked(database: Path, how: int, refusal: str) -> Iterator[None]:
    try:
        descriptor = _open(database)
    except OSError as error:
        raise OperatorError(f"{lock_path(database)}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OperatorError(f"{database}: {refusal}") from None
        yield
    finally:
        os.close(descriptor)


def _open(database: Path) -> int:
    # Never through a link: an administrator may run this where the hub's user writes.
    path, flags = lock_path(database), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, PRIVATE)
    except FileExistsError:
        return os.open(path, flags)
    give_to_owner(descriptor, database)
    return descriptor
