"""Restores: a backup becomes the database, and what was there is kept aside."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane_hub.clock import Clock
from redlane_hub.errors import OperatorError
from redlane_hub.security.secrets import kept_secrets
from redlane_hub.store import lease
from redlane_hub.store.copies import Progress, copy_database, opened_read_only
from redlane_hub.store.existing import telling_clearly
from redlane_hub.store.files import place, sync_file, unfinished

__all__ = ["restore"]


def restore(
    source: Path, database: Path, progress: Progress, clock: Clock, *, replace: bool
) -> list[Path]:
    """Make `source` the database; the files that were kept aside.

    The secrets beside the source come along. Raises OperatorError while a hub serves
    the database, and where there is one and it may not be replaced.
    """
    if database.is_dir():
        raise OperatorError(f"{database}: is a directory; name a file in it")
    if not database.resolve().parent.is_dir():
        raise OperatorError(f"{database.parent}: there is no such directory")
    if database.exists() and source.samefile(database):
        raise OperatorError(f"{source}: is the database itself")
    with lease.replacing(database), telling_clearly(database):
        if database.exists() and not replace:
            raise OperatorError(
                f"{database}: exists; --force replaces it, and keeps it aside"
            )
        aside = f".replaced-{clock():%Y%m%dT%H%M%SZ}"
        with _copied(source, database.resolve(), progress) as made:
            kept = _replace_secrets(source, database, aside)
            kept += _keep_database(database.resolve(), aside)
            place(made, database.resolve(), replace=True)
        return kept


@contextmanager
def _copied(source: Path, database: Path, progress: Progress) -> Iterator[Path]:
    with unfinished(database) as made:
        with telling_clearly(source), opened_read_only(source) as connection:
            copy_database(connection, made, progress)
        # So that little time is left between the old database and the new one.
        sync_file(made)
        yield made


def _replace_secrets(source: Path, database: Path, aside: str) -> list[Path]:
    kept = []
    for ending, text in kept_secrets(source).items():
        path = Path(f"{database}{ending}")
        data = text.encode()
        if path.is_file():
            if path.read_bytes().strip() == data:
                continue
            kept.append(Path(f"{path}{aside}"))
            place(path, kept[-1])
        with unfinished(path) as made:
            made.write_bytes(data + b"\n")
            place(made, path, replace=True)
    return kept


def _keep_database(database: Path, aside: str) -> list[Path]:
    """Give the database a second name, and take its log away from the first.

    SQLite would play the log of the old database into the new one. The database itself
    is replaced in one step later, so that there always is one.
    """
    kept = []
    if database.exists():
        kept.append(Path(f"{database}{aside}"))
        place(database, kept[-1])
    for ending in ("-wal", "-shm", "-journal"):
        path = Path(f"{database}{ending}")
        if path.exists():
            path.rename(f"{database}{aside}{ending}")
    return kept
