"""The forms in which a command's words are shown to patterns."""

import re
from collections.abc import Iterable, Iterator, Sequence
from posixpath import join, normpath

from redlane.contexts.shell.grammar.syntax import Group, Part, Pipeline, Simple

__all__ = [
    "group_form",
    "normal_forms",
    "pipeline_form",
    "placed",
    "placed_forms",
    "plain_form",
    "simple_form",
]

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
    if directory is None or not (moved or any(map(_leads_out, argv))):
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
    if moved or _leads_out(word):
        return normpath(join(directory, word))
    return word


def _leads_out(word: str) -> bool:
    """Whether a relative path means the whole working directory, or leads out."""
    return word in _HERE or (".." in word and ".." in word.split("/"))


def group_form(group: Group) -> str:
    """A compound command, or a function by its name alone, in one line."""
    return f"{group.function}()" if group.function else _form(group)


def _form(group: Group) -> str:
    """A compound command in one line, without its conditions' words."""
    return "{ " + "; ".join(pipeline_form(each) for each in group.body) + "; }"


def pipeline_form(pipeline: Pipeline) -> str:
    """A pipeline as it is written, in one line."""
    return " | ".join(
        _form(stage) if isinstance(stage, Group) else simple_form(stage)
        for stage in pipeline.stages
    )


def simple_form(simple: Simple) -> str:
    """The words of a simple command as they are written."""
    return " ".join(
        word if isinstance(word, str) else "".join(map(_shown, word))
        for word in simple.words
    )


def _shown(part: Part) -> str:
    return str(part) if isinstance(part, str) else part.source
