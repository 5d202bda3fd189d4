"""Backups: one file of its own, with the hub's secrets beside it.

A backup is laid out as a live hub is, so a hub can also be pointed at it.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from redlane_hub.errors import OperatorError
from redlane_hub.security.secrets import SECRET_ENDINGS, kept_secrets
from redlane_hub.store.copies import Progress, copy_database
from redlane_hub.store.database import Database
from redlane_hub.store.existing import telling_clearly
from redlane_hub.store.files import place, unfinished

__all__ = ["back_up"]

_OTHER_ENDINGS = ("", "-wal", "-shm", "-journal")


def back_up(
    database: Database, target: Path, progress: Progress, *, with_secrets: bool = True
) -> list[Path]:
    """Write a backup while the hub may serve; the files that were made.

    The database comes last: where it is, the backup is complete. Raises OperatorError
    when anything of that name is there, or when the copy or a secret is not sound.
    """
    with telling_clearly(target), ExitStack() as stack:
        _require_nothing(target)
        secrets = kept_secrets(database.path) if with_secrets else {}
        made = stack.enter_context(unfinished(target))
        copy_database(database.reading(), made, progress)
        copies = stack.enter_context(_written(secrets, target))
        for source, path in [*copies, (made, target)]:
            place(source, path)
        return [target, *(path for _, path in copies)]


def _require_nothing(target: Path) -> None:
    for ending in (*_OTHER_ENDINGS, *SECRET_ENDINGS):
        path = Path(f"{target}{ending}")
        if path.is_dir():
            raise OperatorError(f"{path}: is a directory; name a file in it")
        if path.exists() or path.is_symlink():
            raise OperatorError(f"{path}: exists; a backup overwrites nothing")
    if not target.parent.is_dir():
        raise OperatorError(f"{target.parent}: there is no such directory")


@contextmanager
def _written(
    secrets: Mapping[str, str], target: Path
) -> Iterator[list[tuple[Path, Path]]]:
    """Private copies of the secrets, each with the name that it shall have."""
    with ExitStack() as stack:
        copies = []
        for ending, text in secrets.items():
            path = Path(f"{target}{ending}")
            made = stack.enter_context(unfinished(path))
            made.write_text(f"{text}\n", encoding="ascii")
            copies.append((made, path))
        yield copies
