"""Commands behind which a shell reads nothing more of its script."""

import re

from redlane.contexts.shell.grammar.syntax import Parameter, Word

__all__ = ["is_exit", "is_replacement"]

_PROGRAM = re.compile(r"[A-Za-z0-9/.]")


def is_exit(words: list[Word]) -> bool:
    """Whether it is `exit`, with a status or without: with two words bash goes on."""
    if words[:1] != ["exit"] or len(words) > len(("exit", "status")):
        return False
    return len(words) == 1 or _is_status(words[1])


def _is_status(word: Word) -> bool:
    if isinstance(word, str):
        return word.isdigit()
    parts = [part for part in word if part]
    return len(parts) == 1 and isinstance(parts[0], Parameter) and parts[0].name == "?"


def is_replacement(words: list[Word]) -> bool:
    """Whether it is `exec` with a program: where that fails, the shell ends as well.

    Programs in Perl that a shell may start as well say `eval 'exec perl …'`.
    """
    plain = [word for word in words[:2] if isinstance(word, str)]
    if plain[:1] == ["eval"]:
        plain = plain[1].split(None, 2) if len(plain) > 1 else []
    program = plain[1] if len(plain) > 1 and plain[0] == "exec" else ""
    return _PROGRAM.match(program) is not None
