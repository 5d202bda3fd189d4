"""The forms in which a command's words are shown to patterns."""

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import join, normpath

__all__ = ["normal_forms", "placed", "placed_forms", "plain_form"]

_OPERATORS = re.compile(r"[;&|<>()\n]")
_SET_OFF = ("-", "/", "~", "$", "`", "<(", ">(")
_HERE = frozenset({".", "./", "*", "./*", ".*", "./.*"})
_LONGEST_PATH = 1024


def plain_form(argv: Iterable[str]) -> str:
    """The words with single spaces between, operators inside them as commas.

    `rm -r ';' x` is one command: a pattern that stops at `;` must not stop there.
    """
    return _OPERATORS.sub(",", " ".join(argv))


def normal_forms(argv: Iterable[str]) -> tuple[str, ...]:
    """The words as they are, and their plain form where that is another."""
    form = " ".join(argv)
    if _OPERATORS.search(form) is None:
        return (form,)
    return form, plain_form((form,))


def placed_forms(
    argv: Sequence[str], directory: str | None, *, moved: bool
) -> Iterator[str]:
    """The command with the paths that its relative operands lead to.

    After a `cd` (`moved`) any operand may be one, before it only what leads out of
    the working directory or means all of it.
    """
    if directory is None:
        return
    words = [argv[0], *(placed(each, directory, moved=moved) for each in argv[1:])]
    if words != list(argv):
        yield plain_form(words)


def placed(word: str, directory: str | None, *, moved: bool) -> str:
    """The path that a word means in `directory`; what is no relative path stays."""
    if directory is None or not word or word.startswith(_SET_OFF):
        return word
    if len(word) > _LONGEST_PATH or "\n" in word or "://" in word:
        return word
    if moved or word in _HERE or ".." in word.split("/"):
        return normpath(join(directory, word))
    return word
