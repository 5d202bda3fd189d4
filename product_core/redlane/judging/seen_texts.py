"""What somebody has seen of a command, and whether another one is a part of that.

A part is taken for seen only if it does the same wherever it stands: what a text's own
shell starts does, in the directories that the text names. What the text's process has
become by itself does in its directory, and so does what a program below starts, where
the text is that one program. All of them with the variables that its process had.
"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from redlane.contexts.shell.knowledge.code import interpreter_of
from redlane.contexts.shell.knowledge.shells import SHELLS
from redlane.judging.used_files import Used
from redlane.model.content import Content, Reader
from redlane.model.policy import Action

__all__ = ["Part", "Place", "Seen", "texts_of"]

_WORKED_OUT = frozenset(b"$`")
"""What in a text stands for something else, by variables that another may have set."""


class Place(Enum):
    """Where a part stands, seen from the process of the text."""

    OF_ITS_SHELL = auto()
    ITSELF = auto()
    """Whatever that process has been in between, it may have set variables."""
    BELOW = auto()


def texts_of(content: Content) -> frozenset[bytes]:
    """The command, and all that a Flag sees of it."""
    return frozenset((content.data, *content.views(Action.FLAG, Reader.PATTERN)))


@dataclass(frozen=True, slots=True)
class Seen:
    """What somebody decided on: a text, what a Flag sees of it, and what it would use.

    `held_at` is in nanoseconds since 1970, as times of files are.
    """

    data: bytes
    texts: frozenset[bytes]
    used: Used
    held_at: int

    @property
    def is_one_program(self) -> bool:
        """Whether it is a single command, which may be written in two ways."""
        words = [_words(each) for each in self.data.split(b"\n")]
        return None not in words and len({tuple(e[1:]) for e in words if e}) == 1


@dataclass(frozen=True, slots=True)
class Part:
    """A command that asks, of which a Flag has seen `texts`, and what it would use."""

    data: bytes
    texts: frozenset[bytes]
    used: Used
    has_arguments: bool

    def stands_in(self, seen: Seen, place: Place) -> bool:
        """Whether it was seen, and is the same in this place."""
        return self._was_read(seen) and self._is_there(seen, place)

    def _was_read(self, seen: Seen) -> bool:
        """Whether its text was seen, or its words with all that is inside of them.

        A script was seen by its name, too, where its interpreter is started.
        """
        if self.data in seen.texts and not self.has_arguments:
            return True
        lines = [_words(each) for each in self.data.split(b"\n")]
        if None in lines:
            return False
        inside, forms = self.texts - {self.data}, set[bytes]()
        for words in filter(None, lines):
            started = filter(None, _behind_interpreter(words))
            own = [_joined(words), *map(_joined, started)]
            if not seen.texts.intersection(own):
                return False
            forms.update(own)
        return inside - forms <= seen.texts

    def _is_there(self, seen: Seen, place: Place) -> bool:
        """Whether it would do there what it does where the text is."""
        mine, other = self.used, seen.used
        if not mine.place or mine.place[1:] != other.place[1:]:
            return False
        if mine.more and not other.more:
            return False
        if place is Place.BELOW and not seen.is_one_program:
            return False
        if not self._is_alike(seen, place):
            return False
        return mine.is_part_of(other, seen.held_at)

    def _is_alike(self, seen: Seen, place: Place) -> bool:
        """Whether nothing that was set in between can have made it another thing.

        What its shell has started may have been another program first.
        """
        if self.used.variables != seen.used.variables:
            return False
        return place is Place.OF_ITS_SHELL or (
            self.used.place == seen.used.place
            and not _WORKED_OUT.intersection(self.data)
        )


def _joined(words: list[str]) -> bytes:
    return " ".join(words).encode(errors="surrogateescape")


def _behind_interpreter(words: list[str]) -> Iterator[list[str]]:
    """What started the interpreter of a script: its path, and its name."""
    yield [_base(words[0]), *words[1:]]
    if _base(words[0]) == "env":
        words = words[1:]
        yield words
    if words and (_base(words[0]) in SHELLS or interpreter_of(_base(words[0]))):
        yield [_base(words[0]), *words[1:]]
        rest = words[1:]
        if rest:
            yield rest
            yield [_base(rest[0]), *rest[1:]]


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _words(line: bytes) -> list[str] | None:
    """The words of one simple command; None for anything else."""
    if b"`" in line:
        return None
    lexer = shlex.shlex(
        line.decode(errors="surrogateescape"), posix=True, punctuation_chars=True
    )
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quote that is not closed
        return None
    is_simple = all(set(each) - set("();<>|&") for each in words if each)
    return words if words and is_simple else None
