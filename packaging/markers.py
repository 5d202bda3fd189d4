"""Environment markers: `python_version < "3.13" and extra == "speed"`.

The grammar is that of dependency specifiers (PEP 508). A marker that is not understood
is an error: a dependency must neither be lost nor made up.
"""

import re
from collections.abc import Callable, Mapping

__all__ = ["holds"]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')
    |(?P<word>[a-z_.]+)
    |(?P<sign>===|==|~=|!=|<=|>=|<|>|\(|\)))""",
    re.VERBOSE,
)
_VERSIONS = {"python_version", "python_full_version", "implementation_version"}
_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "==": lambda sign: sign == 0,
    "===": lambda sign: sign == 0,
    "!=": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}


def holds(marker: str, environment: Mapping[str, str]) -> bool:
    """Whether a marker is true of the environment; ValueError when it is none."""
    reading = _Reading(marker, environment)
    value = reading.alternatives()
    if reading.tokens:
        raise ValueError(f"not a marker: {marker.strip()}")
    return value


class _Reading:
    """The tokens not read yet, and one method for each rule of the grammar."""

    def __init__(self, marker: str, environment: Mapping[str, str]) -> None:
        self.marker = marker
        self.environment = environment
        self.tokens = _tokens(marker)

    def alternatives(self) -> bool:
        value = self._conjunction()
        while self._take("or"):
            # Read before it is joined: `or` must not leave tokens behind.
            other = self._conjunction()
            value = value or other
        return value

    def _conjunction(self) -> bool:
        value = self._term()
        while self._take("and"):
            other = self._term()
            value = value and other
        return value

    def _term(self) -> bool:
        if self._take("("):
            value = self.alternatives()
            if not self._take(")"):
                raise self._error()
            return value
        left, operator, right = self._next(), self._operator(), self._next()
        return _compare(self._value(left), operator, self._value(right), {left, right})

    def _operator(self) -> str:
        token = self._next()
        return f"not {self._next()}" if token == "not" else token  # noqa: S105  # a word of the grammar

    def _value(self, token: str) -> str:
        if token[0] in "\"'":
            return token[1:-1]
        if token not in self.environment:
            raise self._error()
        return self.environment[token]

    def _take(self, token: str) -> bool:
        if self.tokens[:1] != [token]:
            return False
        del self.tokens[0]
        return True

    def _next(self) -> str:
        if not self.tokens:
            raise self._error()
        return self.tokens.pop(0)

    def _error(self) -> ValueError:
        return ValueError(f"not a marker: {self.marker.strip()}")


def _tokens(marker: str) -> list[str]:
    tokens, at, text = [], 0, marker.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"not a marker: {marker.strip()}")
        tokens.append(match[0].strip())
        at = match.end()
    return tokens


def _compare(left: str, operator: str, right: str, sides: set[str]) -> bool:
    if operator in {"in", "not in"}:
        return (left in right) is (operator == "in")
    if sides & _VERSIONS:
        return _compare_versions(left, operator, right)
    if operator not in _ORDERS:
        raise ValueError(f"no such comparison of texts: {operator}")
    return _ORDERS[operator]((left > right) - (left < right))


def _compare_versions(left: str, operator: str, right: str) -> bool:
    if operator == "~=":
        least = _release(right)
        return (
            _release(left) >= least and _release(left)[: len(least) - 1] == least[:-1]
        )
    if operator not in _ORDERS:
        raise ValueError(f"no such comparison of versions: {operator}")
    if right.endswith(".*"):
        prefix = _release(right[:-2])
        same = _release(left)[: len(prefix)] == prefix
        return _ORDERS[operator](0 if same else 1)
    ours, theirs = _release(left), _release(right)
    longest = max(len(ours), len(theirs))
    ours += (0,) * (longest - len(ours))
    theirs += (0,) * (longest - len(theirs))
    return _ORDERS[operator]((ours > theirs) - (ours < theirs))


def _release(version: str) -> tuple[int, ...]:
    """The numbers of a version; an interpreter that is packaged is a final release."""
    match = re.match(r"\d+(?:\.\d+)*", version)
    if match is None:
        raise ValueError(f"not a version: {version}")
    return tuple(map(int, match[0].split(".")))
