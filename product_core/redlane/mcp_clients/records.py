"""What was done to which file: a copy of it as it was, and how to take that back.

Each record has a directory of its own, with a number that grows. The copy is written
before the record, and both before the file is changed.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from redlane.errors import RedlaneError
from redlane.mcp_clients.rewriting import Wrapped

__all__ = ["Record", "Records", "digest_of"]

_RECORD = "record.json"
_COPY = "copy"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Record:
    """One change of a file, whose content had and then got these digests."""

    file: Path
    client: str
    before: str
    after: str
    wrapped: tuple[Wrapped, ...]
    directory: Path = Path()

    @property
    def copy(self) -> Path:
        """The file as it was."""
        return self.directory / _COPY

    def original(self) -> bytes | None:
        """The content of the copy; None when it is no longer what it was."""
        try:
            data = self.copy.read_bytes()
        except OSError:
            return None
        return data if digest_of(data) == self.before else None


def digest_of(data: bytes) -> str:
    """What tells contents apart."""
    return hashlib.sha256(data).hexdigest()


class Records:
    """The records in a directory, which is the user's own."""

    def __init__(self, directory: Path) -> None:
        """Look at nothing yet."""
        self._directory = directory

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Have nobody else change them, or the files, meanwhile."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self._directory.stat()
            file = os.open(
                self._directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise RedlaneError(f"{self._directory}: {error.strerror}") from error
        try:
            if status.st_uid != os.geteuid() or status.st_mode & _OTHERS_WRITE:
                raise RedlaneError(
                    f"{self._directory} can be changed by others: remove it, or chmod "
                    "go-w (it holds copies of configurations)"
                )
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    def add(self, record: Record, original: bytes) -> Record:
        """Keep a record, and the file as it was; returns it with its directory."""
        number = max((int(each.name) for each in self._all()), default=0) + 1
        directory = self._directory / f"{number:06}"
        document = {
            "file": os.fsdecode(record.file),
            "client": record.client,
            "before": record.before,
            "after": record.after,
            "wrapped": [asdict(each) for each in record.wrapped],
        }
        try:
            directory.mkdir(mode=0o700)
            _write(directory / _COPY, original)
            _write(directory / _RECORD, json.dumps(document, indent=1).encode())
            for each in (directory, self._directory):
                _sync(each)
        except OSError as error:
            raise RedlaneError(f"{directory}: {error.strerror}") from error
        return _read(directory)

    def newest_first(self) -> list[Record]:
        """Every record; raises RedlaneError when one cannot be read."""
        found = sorted(self._all(), reverse=True)
        return [_read(each) for each in found if (each / _RECORD).exists()]

    def drop(self, records: Sequence[Record]) -> None:
        """Forget records, whose change is undone."""
        for each in records:
            for name in (_RECORD, _COPY):
                (each.directory / name).unlink(missing_ok=True)
            each.directory.rmdir()

    def _all(self) -> list[Path]:
        try:
            return [each for each in self._directory.iterdir() if each.name.isdigit()]
        except FileNotFoundError:
            return []


def _read(directory: Path) -> Record:
    path = directory / _RECORD
    try:
        document: Any = json.loads(path.read_bytes())
        wrapped = tuple(
            Wrapped(tuple(each["place"]), tuple(each["words"]), bool(each["added"]))
            for each in document["wrapped"]
        )
        return Record(
            Path(document["file"]),
            str(document["client"]),
            str(document["before"]),
            str(document["after"]),
            wrapped,
            directory,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RedlaneError(f"{path} cannot be read: {error}") from error


def _write(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
