"""What the reader of a shell text finds: words, commands, groups, pipelines."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

__all__ = [
    "Arithmetic",
    "Assignment",
    "Brace",
    "Group",
    "Parameter",
    "Part",
    "Pipeline",
    "Redirection",
    "Simple",
    "Substitution",
    "Word",
]


class Brace(StrEnum):
    """An unquoted character that may belong to a brace expansion."""

    OPEN = "{"
    COMMA = ","
    CLOSE = "}"


class Parameter(NamedTuple):
    """A `$name` or `${name…}`; `source` is how it was written.

    `prefix` is `#` (length) or `!` (indirection), `subscript` an array's index.
    """

    name: str
    source: str
    quoted: bool = False
    prefix: str = ""
    subscript: str = ""
    operator: str = ""
    argument: "Word" = ""


class Substitution(NamedTuple):
    """A `$(…)`, a pair of backquotes, or with sign `<` or `>` a process."""

    sign: str
    body: "list[Pipeline]"
    source: str
    quoted: bool = False


class Arithmetic(NamedTuple):
    """A `$((…))`: its value is not worked out, the commands in it are found."""

    inside: "Word"
    source: str
    quoted: bool = False


Part = str | Brace | Parameter | Substitution | Arithmetic
"""A stretch of a word; plain text has its quotes removed."""

Word = str | tuple[Part, ...]
"""A word: a string when all of it is known at once, else its parts."""


class Assignment(NamedTuple):
    """A `name=word`, `name+=word` or `name=(words)`."""

    name: str
    appends: bool
    value: "Word | list[Word]"


@dataclass(slots=True)
class Redirection:
    """A redirection; for `<<` the target is the text of the here-document."""

    descriptor: str
    operator: str
    target: Word = ""


@dataclass(slots=True)
class Simple:
    """A simple command; `[[ … ]]` is read as one."""

    assignments: list[Assignment] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """A compound command; all that it holds counts, whatever its conditions.

    `opener` is the word that opened it, `function` the name that it defines,
    `variable` and `values` what a `for` sets, `values` also the words of a `case`.
    """

    opener: str
    body: "list[Pipeline]" = field(default_factory=list)
    function: str = ""
    variable: str = ""
    values: list[Word] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`; `conditional` when it stands after `&&` or `||`.

    In the `background` it runs in a shell of its own, which `&` or `coproc` starts.
    """

    stages: list[Simple | Group] = field(default_factory=list)
    conditional: bool = False
    background: bool = False


def parts_of(word: Word) -> tuple[Part, ...]:
    """The parts of a word, one where all of it is known."""
    return (word,) if isinstance(word, str) else word


def joined(given: Iterable[Part]) -> Word:
    """The parts as one word: a string if nothing in it needs to be expanded."""
    parts = list(given)
    braces = Brace.OPEN in parts and Brace.CLOSE in parts
    whole: list[Part] = []
    for part in parts:
        if isinstance(part, str) and (not braces or not isinstance(part, Brace)):
            text = str(part)
            if whole and type(whole[-1]) is str:
                whole[-1] += text
            else:
                whole.append(text)
        else:
            whole.append(part)
    if not whole:
        return ""
    if len(whole) == 1 and type(whole[0]) is str:
        return whole[0]
    return tuple(whole)
