r"""From a policy's regular expression to RE2's: one pass over its text.

RE2 reads \d \w \s as ASCII and does not know \uXXXX; both are written out here. All
that means one thing in RE2 and another elsewhere is refused by name, so that a pattern
never quietly matches something else than its author meant.
"""

import re
from dataclasses import dataclass, field

from redlane.patterns.classes import SHORTHANDS, inside_class, outside_class
from redlane.patterns.refusals import PatternError, refuse_escape, refuse_group

__all__ = ["Translation", "is_one_character", "translate", "translate_as"]

_PLAIN = re.compile(r"[^\\\[({]+")
_QUOTED = re.compile(r"\\Q.*?(?:\\E|\Z)", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^}]*\}|.)|x\{[0-9A-Fa-f]*\}|[0-7]{1,3}|.)", re.DOTALL
)
_HEX = re.compile(
    r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[uU]\{([0-9A-Fa-f]{1,8})\})"
)
_POSIX = re.compile(r"\[:\^?\w*:\]")
_NAME = re.compile(r"\(\?P?<([^>=!][^>]*)>")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*)((?:-[a-zA-Z]*)?[:)])")
_REPEAT = re.compile(r"\{(0|[1-9]\d{0,7})(?:(,)(0|[1-9]\d{0,7})?)?\}")
_ODD_REPEAT = re.compile(r"\{(?:\d+(?:,\d*)?|,\d+)\}")
_WORD_EDGE = re.compile(r"\\b\{[a-z]")
_HIGH, _LOW, _END = 0xD800, 0xDC00, 0xE000
_MOST_REPEATS = 1000
"""What RE2 allows, repeats inside repeats multiplied."""


@dataclass(slots=True)
class Translation:
    """A pattern in RE2's syntax, as far as it has been read."""

    pattern: str
    loose: bool
    captures: bool = True
    parts: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    classes: int = 0
    """How many shorthands it has: with none, exact and loose spelling are the same."""
    properties: int = 0
    r"""How many Unicode properties it names itself, such as \p{Greek}."""
    repeats: list[tuple[int, str]] = field(default_factory=list)
    """The place of each counted repeat in `parts`, and its outline, `*` or `+`."""
    longest_repeat: int = 1
    group_repeats: int = 1

    @property
    def text(self) -> str:
        """The whole translated pattern."""
        return "".join(self.parts)

    @property
    def outline(self) -> str:
        """The pattern with `*` or `+` for counted repeats.

        It matches wherever the pattern does, and stays small whatever the counts.
        """
        parts = self.parts.copy()
        for place, outline in self.repeats:
            parts[place] = outline
        return "".join(parts)

    @property
    def expansion(self) -> int:
        """How often, at most, any part is written out for its repeats."""
        return min(_MOST_REPEATS, self.longest_repeat * self.group_repeats)


def translate(pattern: str) -> str:
    """`pattern` as RE2 reads it, with the exact Unicode classes.

    Raises PatternError for what the dialect refuses. The result may still be refused by
    RE2, which sees unbalanced brackets and wrong repeats.
    """
    return translate_as(pattern, loose=False).text


def translate_as(pattern: str, *, loose: bool, captures: bool = True) -> Translation:
    """`pattern` with its classes spelled exactly, or loosely (see `classes`).

    Without `captures` none of its groups has a number or a name.
    """
    surrogate = next((each for each in pattern if _HIGH <= ord(each) < _END), None)
    if surrogate is not None:
        raise PatternError(
            f"half a surrogate pair ({ascii(surrogate)[1:-1]}) is no character: "
            "write the character itself"
        )
    done = Translation(pattern, loose, captures)
    position = 0
    while position < len(pattern):
        position = _step(done, position)
    return done


def is_one_character(pattern: str) -> bool:
    r"""Whether a valid pattern is just a class, `.` or a shorthand such as `\w`.

    It matches one character then, whatever stands around that.
    """
    if pattern.startswith("["):
        return _class(Translation(pattern, loose=True), 0) == len(pattern)
    return pattern == "." or (pattern[:1] == "\\" and pattern[1:] in SHORTHANDS)


def _step(done: Translation, start: int) -> int:
    """Translate what stands at `start`, outside any class; where to go on."""
    plain = _PLAIN.match(done.pattern, start)
    if plain:
        done.parts.append(plain.group())
        return plain.end()
    character = done.pattern[start]
    if character == "[":
        return _class(done, start)
    if character == "(":
        return _group(done, start)
    if character == "\\":
        return _escape(done, start)
    return _brace(done, start)


def _brace(done: Translation, start: int) -> int:
    """Translate a `{`, which is plain text unless it opens a counted repeat."""
    pattern = done.pattern
    found = _REPEAT.match(pattern, start)
    if found:
        done.repeats.append((len(done.parts), "*" if found[1] == "0" else "+"))
        done.parts.append(found.group())
        count = int(found[3] or found[1])
        if pattern[start - 1 : start] == ")":
            done.group_repeats *= max(1, count)
        else:
            done.longest_repeat = max(done.longest_repeat, count)
        return found.end()
    odd = _ODD_REPEAT.match(pattern, start)
    if odd:
        raise PatternError(
            f'"{odd.group()}" at character {start + 1} is a repeat to some and plain '
            "text to others: write {0,n} with plain numbers, or \\{ for the brace"
        )
    done.parts.append("{")
    return start + 1


def _group(done: Translation, start: int) -> int:
    pattern = done.pattern
    if not pattern.startswith("(?", start):
        done.parts.append("(" if done.captures else "(?:")
        return start + 1
    refuse_group(pattern, start)
    named = _NAME.match(pattern, start)
    if named and named.group(1) in done.names:
        raise PatternError(
            f'two groups are named "{named.group(1)}": give each a name of its own'
        )
    flags = _FLAGS.match(pattern, start)
    if named:
        done.names.add(named.group(1))
        if not done.captures:
            done.parts.append("(?:")
            return named.end()
    elif flags and "u" in flags.group(1):
        done.parts.append(_without_unicode_flag(*flags.groups()))
        return flags.end()
    done.parts.append("(?")
    return start + 2


def _without_unicode_flag(flags: str, tail: str) -> str:
    """A flag group without `u`, which is always on."""
    kept = flags.replace("u", "")
    return f"(?{kept}{tail}" if kept or tail != ")" else "(?:)"


def _escape(done: Translation, start: int) -> int:
    """Translate an escape outside a class."""
    pattern = done.pattern
    quoted = _QUOTED.match(pattern, start)
    if quoted:
        done.parts.append(quoted.group())
        return quoted.end()
    letter = pattern[start + 1 : start + 2]
    if letter in SHORTHANDS and letter:
        done.classes += 1
        done.parts.append(outside_class(letter, loose=done.loose))
        return start + 2
    if _WORD_EDGE.match(pattern, start):
        raise PatternError(
            rf'the word boundary "\b{{…}}" at character {start + 1} is not supported: '
            r"write \b"
        )
    return _character(done, start, in_class=False)


def _character(done: Translation, start: int, *, in_class: bool) -> int:
    """Translate an escape that stands for one character, a property or an anchor."""
    pattern = done.pattern
    code, end = _code_point(pattern, start)
    if code is not None:
        done.parts.append(rf"\x{{{code:X}}}")
        return end
    found = _ESCAPE.match(pattern, start)
    if not found:
        done.parts.append("\\")
        return start + 1
    refuse_escape(pattern, start, in_class=in_class)
    done.properties += pattern[start + 1] in "pP"
    done.parts.append(found.group())
    return found.end()


def _code_point(pattern: str, start: int) -> tuple[int | None, int]:
    r"""The character that \uXXXX, \UXXXXXXXX or \u{…} names, and where it ends.

    Two that are a surrogate pair, as JSON and JavaScript write them, are one character.
    """
    found = _HEX.match(pattern, start)
    if not found:
        if pattern[start + 1 : start + 2] in {"u", "U"}:
            raise PatternError(
                rf'the escape "\{pattern[start + 1]}" at character {start + 1} has not '
                r"the digits that it needs: write \x{…}"
            )
        return None, start
    code, end = int(found[found.lastindex or 0], 16), found.end()
    if _HIGH <= code < _LOW:
        second = _HEX.match(pattern, end)
        low = int(second[second.lastindex or 0], 16) if second else 0
        if second and _LOW <= low < _END:
            return 0x10000 + ((code - _HIGH) << 10) + (low - _LOW), second.end()
    if _HIGH <= code < _END:
        raise PatternError(
            f'"{found.group()}" at character {start + 1} is half a surrogate pair, '
            r"no character: write \x{…}"
        )
    return code, end


def _class(done: Translation, start: int) -> int:
    """Translate a class from its `[` to its `]`; RE2 reports one that never ends."""
    pattern = done.pattern
    negated = pattern.startswith("[^", start)
    position = start + 2 if negated else start + 1
    done.parts.append(pattern[start:position])
    first = position
    while position < len(pattern):
        if pattern[position] == "]" and position > first:
            done.parts.append("]")
            return position + 1
        position, single = _member(done, position, negated=negated)
        if single and _opens_range(pattern, position):
            done.parts.append("-")
            position = _range_end(done, position + 1, negated=negated)
    return position


def _opens_range(pattern: str, position: int) -> bool:
    following = pattern[position + 1 : position + 2]
    return pattern.startswith("-", position) and following not in {"", "]"}


def _range_end(done: Translation, start: int, *, negated: bool) -> int:
    """Translate the upper end of a range, which is one character."""
    if _POSIX.match(done.pattern, start):
        done.parts.append("[")
        return start + 1
    position, single = _member(done, start, negated=negated)
    if not single:
        raise PatternError(
            f'the "-" at character {start} of the pattern is followed by a class: '
            r"escape it as \-, or write two classes for a set operation"
        )
    return position


def _member(done: Translation, start: int, *, negated: bool) -> tuple[int, bool]:
    """Translate one member of a class; where to go on, and if it is one character."""
    pattern = done.pattern
    posix = _POSIX.match(pattern, start)
    if posix:
        done.parts.append(posix.group())
        return posix.end(), False
    for operator in ("&&", "~~"):
        if pattern.startswith(operator, start):
            raise PatternError(
                f'the set operation "{operator}" at character {start + 1} is not '
                f'supported: write one "{operator[0]}" for the character itself'
            )
    if pattern[start] != "\\":
        done.parts.append(pattern[start])
        return start + 1, True
    letter = pattern[start + 1 : start + 2]
    if letter in SHORTHANDS and letter:
        done.classes += 1
        done.parts.append(inside_class(letter, negated=negated, loose=done.loose))
        return start + 2, False
    return _character(done, start, in_class=True), letter not in {"p", "P"}
