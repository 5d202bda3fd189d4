"""Which files and programs a command would use when it runs, and what they hold.

A name is looked for wherever it may be meant: in the directory of the process, and in
each that the command names itself, as in `env -C sub ./x`.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, product
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple

from redlane.contexts.shell.expansion.disk import READING
from redlane.judging.asking_process import AskingProcess
from redlane.model.content import Content

__all__ = ["Used", "used_by"]

_MOST_NAMES, _MOST_PROGRAMS, _MOST_PLACES, _MOST_TOPS = 1000, 50, 50, 20
_MOST_LOOKS = 25_000
_MOST_BYTES = 32 * 1024 * 1024
_ROOT = 0
_FINDING = os.O_PATH | os.O_CLOEXEC
"""Neither reads nor waits: to open a FIFO or a device for reading has effects."""
_OPEN = re.compile("[*?[`$\ufffd]|^~[^/]")
"""What makes a word stand for other ones, or for bytes that are not known here."""
_VALUE = re.compile(rb"(?:<\s*|=)[\"']?([^\s;|&<>()\"']+)")
"""What is read as input, or assigned: no words of a command."""
_LETTERS = re.compile("-[A-Za-z]{1,20}")
_QUOTED = re.compile(rb"(?:<\s*|=)[^\s;|&<>()]*[\"'\\]")
"""A value with quotes in it: which name that is, is not worked out here."""
_LISTS = re.compile("[:,]")
_STEERING = frozenset({"PATH", "HOME"})
"""They say what a name is the name of; their values are taken as they came."""

_Identity = tuple[object, ...]
_Met = tuple[os.stat_result, bytes]
"""What is there, and the digest of a file."""


class _Found(NamedTuple):
    """A file that was found; `changed` is the kernel's own time of it."""

    name: str
    identity: _Identity
    changed: int
    is_program: bool = False


@dataclass(frozen=True, slots=True)
class Used:
    """What was found; `more`: there is more that cannot be told.

    `place` is where the process is, `places` that and each directory that the command
    names, and `variables` a digest of those that the process has.
    """

    files: tuple[_Found, ...]
    place: _Identity
    variables: bytes
    more: bool
    places: tuple[tuple[int, int], ...] = ()

    def is_part_of(self, other: "Used", moment: int) -> bool:
        """Whether what is named is what the other names, and no program is newer.

        That are files, and the directories that they are looked for in. Programs are
        found in PATH, or named whole; `moment` is in nanoseconds since 1970.
        """
        known = {each.identity for each in other.files}
        return set(self.places) <= set(other.places) and all(
            each.identity in known or (each.is_program and each.changed < moment)
            for each in self.files
        )


def used_by(content: Content, pid: int) -> Used:
    """What a command of the process `pid` would use, as it is now."""
    process = AskingProcess(pid)
    place = process.place()
    look = _Look(process, place[:1])
    files = tuple(chain(look.named(content), look.programs(content)))
    look.more |= any(_STEERING.intersection(c.assigned) for c in content.commands)
    more = look.more or process.is_hidden
    places = tuple(sorted(look.places))
    return Used(files, place, process.variables(), more, places)


class _Look:
    """Looks at files as one process sees them, and notes where it does not see all."""

    def __init__(
        self, process: AskingProcess, place: Iterable[tuple[int, int]]
    ) -> None:
        """Look as `process`, whose own directory `place` has."""
        self.more = False
        self._process = process
        self._tops = [""]
        self.places = set(place)
        self._looks_left = _MOST_LOOKS
        self._bytes_left = _MOST_BYTES

    def named(self, content: Content) -> Iterator[_Found]:
        """The regular files that words name, in each directory that words name."""
        names = self._few(_names_of(content), _MOST_NAMES)
        self.more |= any(map(_OPEN.search, names))
        self.more |= bool(_QUOTED.search(content.data))
        relative = [each for each in names if not each.startswith(("/", "~"))]
        started = {each.words[0] for each in content.commands if each.words}
        for top in self._tops:  # those that are found in one come to its end
            for name in relative if top else names:
                path = os.path.join(top, name)  # noqa: PTH118  # of another process
                if met := self._met(path):
                    self._go_to(path, met[0])
                    is_program = name in started and name.startswith("/")
                    yield from _file(path, met, is_program=is_program)

    def programs(self, content: Content) -> Iterator[_Found]:
        """Whatever may be started under a name: all of PATH, the first one or not."""
        starts = (command.words[0] for command in content.commands if command.words)
        names = self._few((e for e in starts if "/" not in e), _MOST_PROGRAMS)
        places = self._few(self._process.program_places(), _MOST_PLACES)
        for name, place in product(names, places):
            for top in [""] if place.startswith("/") else self._tops:
                where = os.path.join(top, place, name)  # noqa: PTH118  # as above
                if met := self._met(where):
                    yield from _file(where, met, is_program=True)

    def _few(self, names: Iterable[str], most: int) -> list[str]:
        """So many of these, each once."""
        found = list(islice(dict.fromkeys(names), most + 1))
        self.more |= len(found) > most
        return found[:most]

    def _go_to(self, path: str, about: os.stat_result) -> None:
        """Look for names there, too, if it is a directory that is not known yet."""
        key = (about.st_dev, about.st_ino)
        if not S_ISDIR(about.st_mode) or key in self.places:
            return
        if len(self._tops) > _MOST_TOPS:
            self.more = True
            return
        self.places.add(key)
        self._tops.append(path)

    def _met(self, path: str) -> _Met | None:
        """What is there; all is told of what was opened, whatever the name is of then.

        What root owns is not read: its times tell.
        """
        self._looks_left -= 1
        if self._looks_left < 0:
            self.more = True
            return None
        try:
            found = os.open(self._process.seen(path), _FINDING)
        except (OSError, ValueError):  # ValueError: a NUL
            return None
        try:
            about = os.fstat(found)
            is_read = S_ISREG(about.st_mode) and about.st_uid != _ROOT
            return about, self._digest(found, about.st_size) if is_read else b""
        finally:
            os.close(found)

    def _digest(self, found: int, size: int) -> bytes:
        """A digest of a file's content, as long as there is not too much to read."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            self.more = True
            return b""
        try:
            with os.fdopen(os.open(f"/proc/self/fd/{found}", READING), "rb") as file:
                return hashlib.sha256(file.read(size)).digest()
        except OSError:
            self.more = True
            return b""


def _file(name: str, met: _Met, *, is_program: bool = False) -> Iterator[_Found]:
    """Which regular file it is, and what it holds; nothing when it is none.

    A time of change is the kernel's own: nobody sets it back. But what is mapped into
    memory is changed without it, by whoever may write there.
    """
    about, held = met
    if S_ISREG(about.st_mode):
        times = (about.st_mtime_ns, about.st_ctime_ns)
        identity = (about.st_dev, about.st_ino, about.st_size, *times, held)
        yield _Found(name, identity, about.st_ctime_ns, is_program)


def _names_of(content: Content) -> Iterator[str]:
    """Whatever in a command may name a file or a directory."""
    words = (word for command in content.commands for word in command.words)
    values = (os.fsdecode(each) for each in _VALUE.findall(content.data))
    return chain.from_iterable(map(_names_in, chain(words, values)))


def _names_in(word: str) -> Iterator[str]:
    """The names of files that a word may be, or have in it: -Csub, --chdir=sub, @list.

    A `~` that is quoted stands for itself.
    """
    letters = _LETTERS.match(word)
    options = (word[at:] for at in range(2, letters.end() + 1)) if letters else ()
    value = word.partition("=")[2]
    for each in filter(None, (word, *options, value)):
        yield each
        if _LISTS.search(each):
            yield from filter(None, _LISTS.split(each))
        if each.startswith("@"):
            yield each[1:]
        if each.startswith("~"):
            yield f"./{each}"
