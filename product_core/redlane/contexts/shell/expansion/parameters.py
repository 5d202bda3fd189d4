"""`${name…}`: what an operator makes of a value that is known."""

import fnmatch
import re

from redlane.contexts.shell.expansion.scope import Scope, Value
from redlane.contexts.shell.grammar.syntax import Parameter

__all__ = ["applied", "elements_of", "is_beyond", "sliced", "sum_of", "values_of"]

_ROOTED = frozenset({"HOME", "PATH", "PWD", "OLDPWD", "SHELL", "BASH"})
_SLICE = re.compile(r"\s*(-?\d+|\(-\d+\))(?:\s*:\s*(-?\d+))?\s*")
_SUM = re.compile(r"\s*(-?[1-9]\d{0,8}|0)\s*(?:([-+*/%])\s*([1-9]\d{0,8}|0)\s*)?")
_KEYED = re.compile(r"\[([^]]{1,9})\]\+?=")
_BEYOND = re.compile(r"[\\'\"&]|\[[\^:]|\[\[|[@?*+!]\(|^/?[#%]")
_MOST_PATTERN_WORK = 1_000_000
_SPECIAL = {"IFS": " \t\n", "HOME": "~"}


def values_of(part: Parameter, scope: Scope) -> tuple[Value, ...] | None:
    """What the parameter may hold; None when the text never sets it.

    An empty string stands for a parameter that is known to be unset.
    """
    name = part.name
    if part.prefix == "!" and part.operator not in ("@", "*"):
        return _indirect(name, scope)
    meant = scope.references.get(name)
    if name in scope.variables or meant is not None:
        values = scope.variables.get(name, ())
        values += () if meant is None else scope.values(meant)
        return tuple(one for each in values for one in _elements(each, part.subscript))
    if name.isdigit() or name in "@*#":
        return _positional(name, scope)
    special = scope.cwd if name == "PWD" else _SPECIAL.get(name)
    return None if special is None else (special,)


def _indirect(name: str, scope: Scope) -> tuple[Value, ...] | None:
    found: list[Value] = []
    for value in scope.variables.get(name, ()):
        if isinstance(value, str):
            found += scope.variables.get(value, ())
    return tuple(found) or None


def _elements(value: Value, subscript: str) -> tuple[Value, ...]:
    """What an element may be; under a key that is worked out, any of them."""
    if not isinstance(value, tuple) or subscript in ("@", "*"):
        return (value,)
    place = sum_of(subscript or "0")
    if place is None:
        return value if len(value) == 1 else (*value, None)
    try:
        return (value[int(place)],)
    except IndexError:
        return ("",)


def _positional(name: str, scope: Scope) -> tuple[Value, ...] | None:
    if name == "0":
        return (scope.name,)
    return tuple(dict.fromkeys(_taken(name, each) for each in scope.parameters))


def _taken(name: str, parameters: tuple[str, ...] | None) -> Value:
    """`$name` of positional parameters: one, all, or how many there are."""
    if parameters is None or name in "@*":
        return parameters
    if name == "#":
        return str(len(parameters))
    return parameters[int(name) - 1] if int(name) <= len(parameters) else ""


def sum_of(expression: str) -> str | None:
    """What an arithmetic expression of at most two numbers comes to."""
    found = _SUM.fullmatch(expression)
    if found is None:
        return None
    one, operator, other = int(found[1]), found[2], int(found[3] or 0)
    if operator in ("/", "%"):
        if not other:
            return None
        size = abs(one) // other if operator == "/" else abs(one) % other
        return str(size if one >= 0 else -size)
    if operator == "*":
        return str(one * other)
    return str(one - other if operator == "-" else one + other)


def elements_of(fields: tuple[str, ...]) -> tuple[str, ...]:
    """The elements of an array that is written so: `(a [5]=b [key]=c)`, in order."""
    placed: dict[int, str] = {}
    following = 0
    for field in fields:
        found = _KEYED.match(field)
        if found is None:
            place, value = following, field
        else:
            place = int(found[1]) if found[1].isdecimal() else following
            value = field[found.end() :]
        placed[place], following = value, place + 1
    return tuple(placed[place] for place in sorted(placed))


def is_beyond(part: Parameter) -> bool:
    """Whether an operator does what is not worked out here: its value is unknown."""
    if part.operator in ("@", ""):
        return part.operator == "@"
    written = part.source.partition(part.operator)[2]
    if part.operator[:1] in ("^", ","):
        return written not in ("}", "")
    return part.operator[:1] in ("#", "%", "/") and _BEYOND.search(written) is not None


def sliced(part: Parameter, value: Value, argument: str) -> Value:
    """`${array[@]:from:count}` and `${@:from:count}`: elements, and not letters."""
    found = _SLICE.fullmatch(argument)
    if value is None or found is None:
        return None
    elements = (value,) if isinstance(value, str) else value
    start, count = int(found[1].strip("()")), found[2]
    if part.name in ("@", "*"):
        if start == 0:
            return None  # it begins with the shell's name
        start = start - 1 if start > 0 else start
    rest = elements[start:]
    return rest if count is None or int(count) < 0 else rest[: int(count)]


def applied(part: Parameter, value: str, argument: str) -> Value:
    """`value` after the parameter's operator with an argument that is known."""
    if part.prefix == "#":
        return str(len(value))
    if len(value) ** 2 * len(argument) > _MOST_PATTERN_WORK:
        return None
    operator = part.operator
    if operator == ":":
        return _slice(part.name, value, argument)
    if operator[:1] in ("#", "%"):
        return _trimmed(operator, value, argument)
    if operator[:1] == "/":
        return _replaced(operator, value, argument)
    return _recased(operator, value) if operator[:1] in ("^", ",") else value


def _recased(operator: str, value: str) -> str:
    change = str.upper if operator[0] == "^" else str.lower
    return change(value) if len(operator) > 1 else change(value[:1]) + value[1:]


def _slice(name: str, value: str, argument: str) -> Value:
    found = _SLICE.fullmatch(argument)
    if not found:
        return None
    start = int(found[1].strip("()"))
    length = found[2]
    if name in _ROOTED and value == "~":
        return "/" if (start, length) == (0, "1") else None
    rest = value[start:] if start >= -len(value) else ""
    return rest if length is None else rest[: int(length)]


def _pattern(glob: str) -> str:
    """A shell pattern as a regular expression without its end mark."""
    translated = fnmatch.translate(glob)
    return translated.removeprefix("(?s:").removesuffix(r")\Z")


def _trimmed(operator: str, value: str, glob: str) -> str:
    pattern = re.compile(_pattern(glob), re.DOTALL)
    lengths = range(len(value) + 1)
    if operator.startswith("#"):
        order = reversed(lengths) if operator == "##" else iter(lengths)
        for size in order:
            if pattern.fullmatch(value, 0, size):
                return value[size:]
    else:
        order = iter(lengths) if operator == "%%" else reversed(lengths)
        for size in order:
            if pattern.fullmatch(value, size):
                return value[:size]
    return value


def _replaced(operator: str, value: str, argument: str) -> str:
    glob, _, new = argument.partition("/")
    anchor = glob[:1] if operator == "/" and glob[:1] in ("#", "%") else ""
    pattern = _pattern(glob.removeprefix(anchor))
    if not pattern:
        return value
    if anchor == "#":
        pattern = rf"\A(?:{pattern})"
    elif anchor == "%":
        pattern = rf"(?:{pattern})\Z"
    count = 0 if operator == "//" else 1
    return re.sub(pattern, lambda _: new, value, count=count, flags=re.DOTALL)
