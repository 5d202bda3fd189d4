"""What a command would use when it runs: files, programs, variables, its place."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from stat import S_ISREG

from redlane.model.content import Content

__all__ = ["Used", "used_by"]

_MOST_NAMES, _MOST_PROGRAMS, _MOST_PLACES, _MOST_TOPS = 1000, 50, 50, 20
_MOST_BYTES = 32 * 1024 * 1024
_ROOT = 0
_OPEN = re.compile("[*?[`$\ufffd]")
"""What makes a word stand for other ones, or for bytes that are not known here."""
_INPUT = re.compile(rb"<\s*[\"']?([^\s;|&<>()\"']+)")
_PARTS = re.compile(r"(?:-[A-Za-z]|@|[^=]*=@?)(.+)")
_PASSING = frozenset({b"_", b"SHLVL", b"PWD", b"OLDPWD"})
"""Variables of a shell's own that differ each time."""

_GOES = (("cd",), ("pushd",))

_Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Used:
    """What was found; `more`: there is more that cannot be told.

    `place` is where the process is, and `variables` a digest of those that it has.
    """

    files: tuple[tuple[str, _Identity], ...]
    place: _Identity
    variables: bytes
    more: bool


def used_by(content: Content, pid: int) -> Used:
    """What a command of the process `pid` would use, as it is now."""
    look = _Look(pid)
    files = tuple(chain(look.named(content), look.programs(content)))
    return Used(files, look.place(), look.variables(), look.more)


class _Look:
    """Looks at files as one process sees them, and notes where it does not see all."""

    def __init__(self, pid: int) -> None:
        self.more = False
        self._process = Path(f"/proc/{pid}")
        self._left = _MOST_BYTES
        self._environment = self._read_environment()

    def named(self, content: Content) -> Iterator[tuple[str, _Identity]]:
        """The regular files that words name, in each directory that it goes to."""
        words = [word for command in content.commands for word in command.words]
        inputs = (os.fsdecode(each) for each in _INPUT.findall(content.data))
        names = self._few(chain(*map(_names_in, chain(words, inputs))), _MOST_NAMES)
        self.more |= any(map(_OPEN.search, names))
        goes = (c.words[-1] for c in content.commands if c.words[:1] in _GOES)
        tops = ["", *self._few(goes, _MOST_TOPS)]
        for name in names:
            for top in tops if not name.startswith(("/", "~")) else ("",):
                path = os.path.join(top, name)  # noqa: PTH118  # of another process
                if found := self._identity(self._seen(path)):
                    yield path, found

    def programs(self, content: Content) -> Iterator[tuple[str, _Identity]]:
        """Whatever may be started under a name: all of PATH, the first one or not."""
        starts = (command.words[0] for command in content.commands if command.words)
        names = self._few((e for e in starts if "/" not in e), _MOST_PROGRAMS)
        path = self._environment.get(b"PATH", b"")
        places = self._few(os.fsdecode(path).split(":"), _MOST_PLACES)
        for name in names:
            for place in places:
                where = os.path.join(place, name)  # noqa: PTH118  # as above
                if found := self._identity(self._seen(where)):
                    yield f"{where} of PATH", found

    def place(self) -> _Identity:
        """Which directories its own and its root are."""
        try:
            found = [(self._process / each).stat() for each in ("cwd", "root")]
        except OSError:
            self.more = True
            return ()
        return tuple((each.st_dev, each.st_ino) for each in found)

    def variables(self) -> bytes:
        """A digest of the variables that a command is given."""
        kept = sorted(i for i in self._environment.items() if i[0] not in _PASSING)
        return hashlib.sha256(repr(kept).encode()).digest()

    def _read_environment(self) -> Mapping[bytes, bytes]:
        """By names; of two of one name, shells take the last."""
        try:
            entries = (self._process / "environ").read_bytes().split(b"\0")
        except OSError:
            self.more = True
            return {}
        return {name: value for name, _, value in (e.partition(b"=") for e in entries)}

    def _few(self, names: Iterable[str], most: int) -> list[str]:
        """So many of these, each once."""
        found = list(islice(dict.fromkeys(names), most + 1))
        self.more |= len(found) > most
        return found[:most]

    def _seen(self, path: str) -> str:
        """Where a path of the process is for us."""
        if path.startswith("~/"):
            home = os.fsdecode(self._environment.get(b"HOME", b""))
            path = f"{home}{path[1:]}"
        top = "root" if path.startswith("/") else "cwd"
        return f"{self._process}/{top}/{path}"

    def _identity(self, path: str) -> _Identity | None:
        """Which regular file it is, and what it holds; None when it is none.

        A time of change is the kernel's own: nobody sets it back. But what is mapped
        into memory is changed without it, by whoever may write there.
        """
        try:
            about = Path(path).stat()
            if not S_ISREG(about.st_mode):
                return None
            held = b"" if about.st_uid == _ROOT else self._digest(path, about.st_size)
        except (OSError, ValueError):  # ValueError: a NUL
            return None
        times = (about.st_mtime_ns, about.st_ctime_ns)
        return (about.st_dev, about.st_ino, about.st_size, *times, held)

    def _digest(self, path: str, size: int) -> bytes:
        """A digest of a file's content, as long as there is not too much to read."""
        self._left -= size
        if self._left < 0:
            self.more = True
            return b""
        try:
            with open(path, "rb") as file:  # noqa: PTH123  # faster
                return hashlib.sha256(file.read(size)).digest()
        except OSError:
            self.more = True
            return b""


def _names_in(word: str) -> Iterator[str]:
    """The names of files that a word may be, or have in it."""
    yield word
    if found := _PARTS.fullmatch(word):
        yield found[1]
