"""The files of a model that comes from elsewhere: each what was told of it, and all."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from redlane_match_ml.errors import SourceError
from redlane_match_ml.fetching import Progress, fetch, too_long

__all__ = ["Arrival", "Digests"]

_PIECE = 1024 * 1024
_ANOTHER = "what came is not what was told of it"


@dataclass(frozen=True, slots=True)
class Digests:
    """What is known of a file before it comes: its SHA-256, git's name, its size."""

    sha256: str | None = None
    git: str | None = None
    size: int | None = None

    def are_of(self, file: Path) -> bool:
        """Whether that is the file."""
        size = file.stat().st_size
        whole, git = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size)  # noqa: S324  # git's
        with file.open("rb") as opened:
            while piece := opened.read(_PIECE):
                whole.update(piece)
                git.update(piece)
        return (
            self.sha256 in (None, whole.hexdigest())
            and self.git in (None, git.hexdigest())
            and self.size in (None, size)
        )


@dataclass(slots=True)
class Arrival:
    """Where the files of a model come to.

    Those that are fetched lie in `partial` until all have come, then in `staged`.
    `most` bytes may come from now on.
    """

    staged: Path
    partial: Path
    most: int
    progress: Progress
    _come: dict[str, Path] = field(default_factory=dict)

    def fetch(self, url: str, name: str, digests: Digests) -> None:
        """Have all of a file; raises SourceError, also when it is another one."""
        kept = self.partial / hashlib.sha256(f"{name} {url}".encode()).hexdigest()[:32]
        self.partial.mkdir(parents=True, exist_ok=True)
        is_here = digests.sha256 and kept.is_file() and digests.are_of(kept)
        if not is_here:
            fetch(url, kept, self.most, partial(self.progress, name))
        self._count(url, kept.stat().st_size)
        if not is_here and not digests.are_of(kept):
            kept.unlink()
            raise SourceError(f"{url}: {_ANOTHER}", is_refused=True)
        self._come[name] = kept

    def write(self, name: str, data: bytes, sha256: str) -> None:
        """Have a file that is here; raises SourceError when it is another one."""
        self._count(name, len(data))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise SourceError(f"{name}: {_ANOTHER}", is_refused=True)
        (self.staged / name).write_bytes(data)

    def settle(self) -> None:
        """Put what was fetched with the rest."""
        for name, kept in self._come.items():
            kept.replace(self.staged / name)
        with suppress(OSError):  # there is none, or something of another model
            self.partial.rmdir()

    def _count(self, what: str, size: int) -> None:
        if size > self.most:
            raise too_long(what, self.most)
        self.most -= size
