"""Files of clients, one after the other: put through Redlane, and given back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.errors import RedlaneError
from redlane.mcp_clients.clients import CLIENTS, McpClient
from redlane.mcp_clients.difference import difference
from redlane.mcp_clients.files import ConfigurationFile, RefusedError, read_file
from redlane.mcp_clients.records import Record, Records, digest_of
from redlane.mcp_clients.rewriting import Rewritten, Told, give_back, put_through
from redlane.mcp_clients.tree import UnreadableError

__all__ = ["Importing", "Report"]

_CODING = "utf-8"
_FAILURES = (RefusedError, UnreadableError, UnicodeDecodeError, RedlaneError)


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a file; `copy` is where it is kept as it was.

    `difference` is what would change, where nothing is to be changed.
    """

    file: Path
    client: str
    servers: tuple[Told, ...] = ()
    changed: bool = False
    difference: str = ""
    copy: Path | None = None
    error: str | None = None


class Importing:
    """Changes files and keeps records of it; `dry` only says what would be done.

    `ours` says which commands are Redlane.
    """

    def __init__(
        self, records: Records, ours: Callable[[str], bool], *, dry: bool
    ) -> None:
        """Nothing is read yet."""
        self._records = records
        self._ours = ours
        self._dry = dry

    def put_through(self, path: Path, client: McpClient, program: str) -> Report | None:
        """Have the servers of a file go through `program`; None without such a file."""
        try:
            file = read_file(path)
            if file is None:
                return None
            done = put_through(_text(file.data), client, program, self._ours)
            kept = self._put(file, client, done)
        except _FAILURES as error:
            return Report(path, client.name, error=_why(error))
        return Report(
            path,
            client.name,
            done.told,
            changed=bool(done.wrapped),
            difference=self._shown(file.data, done.text.encode(_CODING), path),
            copy=kept,
        )

    def _put(
        self, file: ConfigurationFile, client: McpClient, done: Rewritten
    ) -> Path | None:
        """Write the file; where its copy is."""
        data = done.text.encode(_CODING)
        if self._dry or data == file.data:
            return None
        digests = digest_of(file.data), digest_of(data)
        record = self._records.add(
            Record(file.path, client.name, *digests, done.wrapped), file.data
        )
        try:
            file.replace(data)
        except RefusedError:
            self._records.drop([record])
            raise
        return record.copy

    def give_back(self, path: Path, records: Sequence[Record]) -> Report:
        """Take back what was done to a file, newest first, or nothing of it.

        A file that nobody has changed since gets the very bytes that it had.
        """
        client = records[0].client
        told: list[Told] = []
        try:
            file = _there(path)
            data = file.data
            for record in records:
                data, more = self._step(record, data)
                told += more
            if not self._dry:
                if data != file.data:
                    file.replace(data)
                self._records.drop(records)
        except _FAILURES as error:
            why = f"{_why(error)} (as it was, it is {records[-1].copy})"
            return Report(path, client, error=why)
        return Report(
            path,
            client,
            tuple(told),
            changed=data != file.data,
            difference=self._shown(file.data, data, path),
        )

    def _shown(self, before: bytes, after: bytes, path: Path) -> str:
        """What would change, where nothing does."""
        if not self._dry:
            return ""
        return difference(_text(before), _text(after), str(path))

    def _step(self, record: Record, data: bytes) -> tuple[bytes, tuple[Told, ...]]:
        digest = digest_of(data)
        if digest == record.before:  # it was never changed, or is so no longer
            return data, ()
        original = record.original() if digest == record.after else None
        if original is not None:
            told = tuple(Told(each.place, "restored") for each in record.wrapped)
            return original, told
        client = CLIENTS.get(record.client)
        if client is None:
            raise RedlaneError(f"{record.directory} is of a client that is not known")
        done = give_back(_text(data), client, record.wrapped, self._ours)
        return done.text.encode(_CODING), done.told


def _there(path: Path) -> ConfigurationFile:
    file = read_file(path)
    if file is None:
        raise RefusedError("it is not there any more")
    return file


def _text(data: bytes) -> str:
    return data.decode(_CODING)


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(error)
