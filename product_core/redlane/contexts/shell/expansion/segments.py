"""The parts of a word on their way to fields, and what is to be said of them."""

import re
from collections.abc import Callable

from redlane.contexts.shell.expansion.scope import Value
from redlane.contexts.shell.grammar.syntax import Brace, Parameter, Part, Word

__all__ = [
    "Segment",
    "begins_with_slash",
    "changed",
    "ends_in_slash",
    "is_embedded",
    "is_joined",
    "is_known",
    "is_path_member",
    "is_spelled",
    "is_value",
    "listed",
    "number_of",
    "shown",
    "unbraced",
]

_PATH = re.compile(r"[/~][^\s$`]+\S*")

Segment = tuple[str, bool]
"""A stretch of a word, and whether it is split into fields."""


def is_value(text: str) -> bool:
    """Whether it is known whole, or it is known where a path begins."""
    return is_known(text) or _PATH.fullmatch(text) is not None


def is_known(text: str) -> bool:
    """Whether nothing in it was kept as it is written."""
    return "$" not in text and "`" not in text


def is_embedded(word: Word, *, in_command: bool) -> bool:
    """Whether something in a word stands within letters: it may spell them apart.

    A command may also begin or end with it; another word must be no path.
    """
    if isinstance(word, str):
        return False
    texts = [str(part) if isinstance(part, str) else "" for part in word]
    if in_command:
        return any(texts)
    return bool(texts[0] and texts[-1]) and "/" not in "".join(texts)


def is_spelled(word: Word) -> bool:
    """Whether what is not known in a word may just spell it apart: it is no path."""
    text = "".join(part for part in word if isinstance(part, str))
    return bool(text) and not any(each in text for each in "/ \t\n")


def is_joined(part: Part) -> bool:
    """Whether a part stands for all elements as one word: `"$*"`, `"${a[*]}"`."""
    return isinstance(part, Parameter) and "*" in (part.name, part.subscript)


def number_of(value: Value) -> Value:
    """How many elements an array has."""
    if value is None:
        return None
    return str(len(value) if isinstance(value, tuple) else int(value != ""))


def changed(value: Value, change: Callable[[str], Value]) -> Value:
    """`change` put to a text or to every element of an array."""
    if value is None:
        return None
    if isinstance(value, str):
        return change(value)
    elements = [change(each) for each in value]
    return tuple(each for each in elements if isinstance(each, str))


def listed(values: tuple[str, ...], *, quoted: bool) -> tuple[Segment, ...]:
    """Elements as fields of their own."""
    row: list[Segment] = []
    for place, value in enumerate(values):
        if place:
            row.append((" ", True))
        row.append((value, not quoted))
    return tuple(row)


def shown(part: Part, following: Part | None) -> str:
    """A part that is not known, `$name` in one spelling where that is clear."""
    if not isinstance(part, Parameter) or part.operator or part.prefix:
        return str(getattr(part, "source", part))
    runs_on = isinstance(following, str) and following[:1].isidentifier()
    return part.source if runs_on else f"${part.name}"


def is_path_member(before: Part | None, following: Part | None) -> bool:
    """Whether a part is all that stands between two slashes or the word's ends."""
    begins = not before or ends_in_slash(before)
    return begins and (not following or begins_with_slash(following))


def ends_in_slash(part: Part | None) -> bool:
    """Whether a directory's name may come behind it."""
    return isinstance(part, str) and part.endswith("/")


def begins_with_slash(part: Part | None) -> bool:
    """Whether a directory's name may stand before it."""
    return isinstance(part, str) and part.startswith("/")


def unbraced(word: tuple[Part, ...]) -> tuple[Part, ...]:
    """A word with its braces as letters, as where none are expanded."""
    return tuple(str(part) if isinstance(part, Brace) else part for part in word)
