"""What is not in the dialect, by name, and how to write it instead."""

import re

from redlane.errors import RedlaneError

__all__ = ["PatternError", "explain", "refuse_escape", "refuse_group"]

_SHOWN = 40
"""The most characters of a pattern that a message shows."""


class PatternError(RedlaneError):
    """A regular expression or replacement that cannot be used, and how to mend it."""


_TWO_POLICIES = "match the whole text instead, or write a second policy"
_GROUPS = (
    (re.compile(r"\(\?="), "look-ahead", _TWO_POLICIES),
    (re.compile(r"\(\?!"), "negative look-ahead", _TWO_POLICIES),
    (re.compile(r"\(\?<="), "look-behind", _TWO_POLICIES),
    (re.compile(r"\(\?<!"), "negative look-behind", _TWO_POLICIES),
    (re.compile(r"\(\?>"), "atomic group", "write (?:…): nothing backtracks here"),
    (re.compile(r"\(\?\("), "conditional", "write both alternatives out"),
    (re.compile(r"\(\?P="), "backreference", "write the alternatives out"),
    (re.compile(r"\(\?(?:P>|&|R\)|[+-]?\d+\))"), "recursion", "write the levels out"),
    (re.compile(r"\(\?#"), "comment", "move it to the field `description`"),
    (re.compile(r"\(\?\|"), "branch reset", "write (?:…)"),
    (re.compile(r"\(\?'"), "quoted group name", "write (?P<name>…)"),
    (
        re.compile(r"\(\?[a-zA-Z]*x[a-zA-Z]*[-:)]"),
        "free-spacing flag x",
        "take out the flag, the spaces and the comments",
    ),
    (
        re.compile(r"\(\?(?:[a-zA-Z]*[aL]|[a-zA-Z]*-[a-zA-Z]*u)[a-zA-Z]*[-:)]"),
        "flag for ASCII classes",
        r"write the class out, such as [0-9A-Za-z_] for \w",
    ),
)
_ESCAPES = {
    "C": ("single byte", "write (?s:.) for any character"),
    "k": ("backreference", "write the alternatives out"),
    "g": ("backreference", "write the alternatives out"),
    "Z": ("end of text", r"write \z, or \n?\z to let a last line break pass"),
    "G": ("anchor", "take it out"),
    "K": ("match reset", "put what follows it into a group and use its number"),
    "X": ("grapheme", r"write \P{M}\p{M}*"),
    "R": ("line break", r"write (?:\r\n|[\n-\r\x{85}\x{2028}\x{2029}])"),
    "h": ("horizontal space", r"write [\t\p{Zs}]"),
    "H": ("horizontal space", r"write [^\t\p{Zs}]"),
    "N": ("escape", r"write [^\n], or the character as \x{…}"),
    "c": ("control character", r"write it as \x{…}"),
    "e": ("escape", r"write \x1B"),
    "E": ("end of a quotation", r"take it out: no \Q stands before it"),
}
_BACKREFERENCE = ("backreference", r"write the alternatives out, or \x{…} for octal")
_BACKREFERENCE_FORM = re.compile(r"\\(?![1-7][0-7]{2})[1-9]")
_KNOWN_ESCAPES = frozenset("01234567abBAfnrtvxzQpPuU")
_UNKNOWN = ("unknown escape", r"write the letter alone, or \\ for a backslash")
_REPEAT = "the most is 1000, and repeats inside repeats multiply"
_EXPLAINED = (
    ("invalid repetition size", "repeat", _REPEAT),
    ("bad repetition operator", "repeat of a repeat", ""),
    ("no argument for repetition operator", "repeat of nothing", "escape it with \\"),
    ("invalid named capture group", "group name", "use letters, digits and _"),
    ("invalid character class range", "range or class name", "see the manual's list"),
    ("invalid perl operator", "group", "a plain group is (?:…)"),
    ("invalid escape sequence", "escape", r"write \\ for a backslash"),
)
_UNBALANCED = {
    "missing )": 'a group "(" is never closed: add ")", or escape it as "\\("',
    "missing ]": 'a class "[" is never closed: add "]", or escape it as "\\["',
    "unexpected )": 'a ")" closes nothing: take it out, or escape it as "\\)"',
    "trailing \\": "it ends with a lone backslash: write \\\\ for a backslash",
    "pattern too large": (
        "it is too large once its repeats are written out: "
        "use smaller counts, or several policies"
    ),
}


def refuse_group(pattern: str, start: int) -> None:
    """Raise for a group `(?…` at `start` that the dialect does not have."""
    for form, name, mend in _GROUPS:
        found = form.match(pattern, start)
        if found:
            raise PatternError(_refusal(name, found.group(), start, mend))


def refuse_escape(pattern: str, start: int, *, in_class: bool) -> None:
    """Raise for an escape at `start` that other engines read in other ways."""
    letter = pattern[start + 1]
    if in_class and letter == "b":
        name, mend = "escape in a class", r"write \x08 for a backspace"
    elif _BACKREFERENCE_FORM.match(pattern, start) and not in_class:
        name, mend = _BACKREFERENCE
    elif letter in _ESCAPES:
        name, mend = _ESCAPES[letter]
    elif letter.isalnum() and letter not in _KNOWN_ESCAPES:
        name, mend = _UNKNOWN
    else:
        return
    raise PatternError(_refusal(name, "\\" + letter, start, mend))


def explain(error: str) -> str:
    """One line from what RE2 says of a pattern that has passed the translation."""
    kind, _, argument = error.partition(": ")
    for start, said in _UNBALANCED.items():
        if kind.startswith(start):
            return said
    if kind == "bad repetition operator" and argument.endswith("+"):
        mend = f"write {argument[:-1]}: nothing backtracks here"
        return f'the possessive repeat "{_shown(argument)}" is not supported: {mend}'
    for start, name, mend in _EXPLAINED:
        if kind == start:
            tail = f": {mend}" if mend else ""
            return f'the {name} "{_shown(argument)}" is not valid{tail}'
    return f"it is not valid: {_shown(error)}"


def _refusal(name: str, construct: str, start: int, mend: str) -> str:
    return (
        f'the {name} "{_shown(construct)}" at character {start + 1} '
        f"is not supported: {mend}"
    )


def _shown(text: str) -> str:
    """`text` on one line of bounded length."""
    line = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
