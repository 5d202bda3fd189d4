"""The files that keep pins over a kill: one a server, below a directory a user.

Each is written whole or not at all, and has lasted when the write returns. One that
cannot be read is an error, and never no pins.
"""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from redlane.errors import RedlaneError
from redlane.state.pin import PinnedServer, PinsError, record_of, server_of
from redlane.state.session_file import write_whole
from redlane.wire.strict_json import parse_json

__all__ = ["PinFiles"]

_OWN = "own"
"""The directory of a daemon of one user."""
_OWNER = re.compile(r"u(0|[1-9][0-9]{0,9})")
_KEY = re.compile(r"[0-9a-f]{32}")
_SUFFIX = ".json"


class PinFiles:
    """The files below one directory, which need not be there yet."""

    def __init__(self, directory: Path) -> None:
        """Keep the files in `directory`."""
        self._directory = directory

    def owners(self) -> list[int | None]:
        """The users who have pins; None stands for nobody in particular."""
        names = _names(self._directory)
        found = [int(each[1]) for each in map(_OWNER.fullmatch, names) if each]
        return [*([None] if _OWN in names else []), *sorted(found)]

    def load(self, owner: int | None) -> dict[str, PinnedServer]:
        """All servers of a user, by key; raises PinsError."""
        return {key: self._read(owner, key) for key in self.keys(owner)}

    def keys(self, owner: int | None) -> list[str]:
        """The keys of a user's servers, whether their files can be read or not."""
        return sorted(
            name.removesuffix(_SUFFIX)
            for name in _names(self._place(owner))
            if name.endswith(_SUFFIX) and _KEY.fullmatch(name.removesuffix(_SUFFIX))
        )

    def save(self, owner: int | None, server: PinnedServer) -> None:
        """Keep a server; it has lasted when this returns. Raises PinsError."""
        place = self._place(owner)
        fresh = [each for each in (place, self._directory) if not each.is_dir()]
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(
                place / f"{server.key}{_SUFFIX}",
                json.dumps(record_of(server), indent=1).encode(),
            )
            for each in (place, *(made.parent for made in fresh)):
                _sync(each)
        except OSError as error:
            raise PinsError(
                f"{place}: the tools of MCP server {server.name!r} cannot be pinned "
                f"({error.strerror})"
            ) from error

    def remove(self, owner: int | None, key: str) -> None:
        """Forget a server, whatever its file holds; raises PinsError."""
        place = self._place(owner)
        try:
            (place / f"{key}{_SUFFIX}").unlink(missing_ok=True)
            _sync(place)
        except OSError as error:
            raise PinsError(
                f"{place / key}{_SUFFIX} cannot be removed ({error.strerror})"
            ) from error

    def _read(self, owner: int | None, key: str) -> PinnedServer:
        path = self._place(owner) / f"{key}{_SUFFIX}"
        try:
            server = server_of(parse_json(path.read_bytes()))
            if server.key != key:
                raise PinsError("it is the file of another server")
        except (OSError, RedlaneError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise PinsError(
                f"{path}: the pins of an MCP server cannot be read ({reason}): mend "
                f"the file, or forget them: redlane mcp pins forget {key[:16]}"
            ) from error
        return server

    def _place(self, owner: int | None) -> Path:
        return self._directory / (_OWN if owner is None else f"u{owner}")


def _names(directory: Path) -> list[str]:
    """What is in a directory; nothing where there is none. Raises PinsError."""
    try:
        return os.listdir(directory)  # noqa: PTH208  # names are all that is wanted
    except FileNotFoundError:
        return []
    except OSError as error:
        raise PinsError(
            f"{directory}: the pins of MCP servers cannot be read ({error.strerror})"
        ) from error


def _sync(directory: Path) -> None:
    """Have the names in a directory last."""
    with suppress(FileNotFoundError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
