"""Values that a shell expands once more when it uses them.

An array's index is arithmetic, and arithmetic runs the substitutions in it, even those
of a variable's value: `x='a[$(command)]'; ((x))`. `${x@P}` and `BASH_ENV` do the same.
"""

from collections.abc import Iterable, Iterator, Sequence

from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.syntax import Word
from redlane.contexts.shell.knowledge.inner import Text

__all__ = ["commands_in_values", "evaluates", "is_worked_out"]

_EVALUATES = frozenset(
    (
        *("let", "test", "[", "[[", "unset", "read", "mapfile", "readarray", "wait"),
        "set",
        *("declare", "typeset", "local", "readonly", "export", "env", "compgen"),
    )
)
_LEADING = 4
_MOST = 64


def evaluates(words: Sequence[Word]) -> bool:
    """Whether a command may expand its arguments, or what it reads, once more."""
    leading = words[:_LEADING]
    return any(
        word in _EVALUATES or (word.startswith("-v") and "printf" in leading)
        for word in leading
        if isinstance(word, str)
    )


def commands_in_values(values: Iterable[object]) -> Iterator[Text]:
    """The substitutions that stand literally in `values`."""
    for value in values:
        if isinstance(value, str) and ("$(" in value or "`" in value):
            for text in _substitutions(value):
                yield Text(text, later=True)


def _substitutions(value: str) -> Iterator[str]:
    place = value.find("$(")
    for _ in range(_MOST):
        if place < 0:
            break
        yield value[place + 2 : _end(value, place + 2)]
        place = value.find("$(", place + 2)
    else:
        raise TooComplex("a value holds too many substitutions")
    yield from value.split("`", 2 * _MOST)[1::2]


def _end(value: str, place: int) -> int:
    """Where the parenthesis that was opened before `place` is closed."""
    depth = 1
    for at in range(place, len(value)):
        depth += (value[at] == "(") - (value[at] == ")")
        if depth == 0:
            return at
    return len(value)


def is_worked_out(name: str) -> bool:
    """Whether the subscript of a variable's name is more than a number or a word."""
    _, bracket, subscript = name.partition("[")
    return bool(bracket) and not subscript.removesuffix("]").isalnum()
