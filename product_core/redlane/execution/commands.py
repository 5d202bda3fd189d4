"""Command lines of policies: split as a POSIX shell does, but run without a shell."""

import os
import re
from collections.abc import Iterator

from redlane.errors import RedlaneError
from redlane.model.problem import Problem, Severity

__all__ = ["SEARCH_PATH", "CommandError", "command_problems", "split_command"]

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a program named without a slash is looked for, whatever the caller's PATH."""

_PIECE = re.compile(
    r"""
      (?P<space> [ \t\n]+ )
    | '(?P<single> [^']* )'
    | "(?P<double> (?: [^"\\] | \\. )* )"
    | \\(?P<escaped> . )
    | (?P<plain> [^ \t\n'"\\]+ )
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE_IN_QUOTES = re.compile(r'\\(?:\n|([$`"\\]))')
_OPERATOR = re.compile(r"[|&;<>`]|\$\(")


class CommandError(RedlaneError):
    """A command line that names no program: nothing in it, or a quote left open."""


def split_command(line: str) -> tuple[str, ...]:
    """The words of `line`, quotes and backslashes taken as a POSIX shell takes them.

    Nothing is expanded: `$HOME`, `*`, `~` and `#` stand for themselves. Raises
    CommandError for what cannot be a command.
    """
    if "\0" in line:
        raise CommandError(
            "the command holds a NUL character, which no program can get"
        )
    words: list[str] = []
    word: str | None = None
    for kind, text in _pieces(line):
        if kind == "space":
            words.extend([] if word is None else [word])
            word = None
        elif kind == "escaped" and text == "\n":
            continue  # a line that goes on
        elif kind == "double":
            word = (word or "") + _ESCAPE_IN_QUOTES.sub(_unescaped, text)
        else:
            word = (word or "") + text
    words.extend([] if word is None else [word])
    if not words or not words[0]:
        raise CommandError("the command is empty; name a program and its arguments")
    return tuple(words)


def command_problems(
    line: str,
    *,
    without: str = "the policy blocks all that it is asked about",
) -> Iterator[Problem]:
    """What is wrong with a command line, and what will hardly do what was meant.

    `without` says what becomes of it where the program is not there.
    """
    try:
        words = split_command(line)
    except CommandError as error:
        yield Problem(Severity.ERROR, str(error))
        return
    operator = _unquoted_operator(line)
    if operator:
        yield Problem(
            Severity.WARNING,
            f"{operator} means nothing here, because commands run without a shell; "
            "quote it, or use sh -c '…'",
        )
    if not _is_program(words[0]):
        yield Problem(
            Severity.WARNING,
            f"no program {words[0]!r} is to be found in {_where(words[0])}; "
            f"without it {without}",
        )


def _pieces(line: str) -> Iterator[tuple[str, str]]:
    """The quoted, escaped and plain pieces of a line, each with its kind."""
    position = 0
    while position < len(line):
        piece = _PIECE.match(line, position)
        if piece is None:
            what = {"'": "single quote", '"': "double quote"}.get(line[position])
            problem = f"a {what} is never closed" if what else "a backslash ends it"
            raise CommandError(f"the command does not split into words: {problem}")
        kind = piece.lastgroup or ""
        yield kind, piece[kind]
        position = piece.end()


def _unescaped(escape: re.Match[str]) -> str:
    """What a backslash within double quotes stands for; a continued line is nothing."""
    return escape[1] or ""


def _unquoted_operator(line: str) -> str | None:
    """The first thing that only a shell would act on: an operator, or a second line."""
    for kind, text in _pieces(line.strip(" \t\n")):
        found = _OPERATOR.search(text) if kind == "plain" else None
        if found:
            return f"an unquoted {found[0]}"
        if kind == "space" and "\n" in text:
            return "a line break"
    return None


def _is_program(name: str) -> bool:
    directories = ["/"] if "/" in name else SEARCH_PATH.split(":")
    paths = [os.path.join(directory, name) for directory in directories]  # noqa: PTH118  # as execvp joins them
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in paths)  # noqa: PTH113  # an odd name must not raise


def _where(name: str) -> str:
    return "/ (give its whole path)" if "/" in name else SEARCH_PATH
