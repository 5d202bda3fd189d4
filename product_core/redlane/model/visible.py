"""Text from outside, so that a person sees all that is in it.

What is approved must be what is seen: no escape sequence may paint over a line, no
carriage return hide its beginning, no invisible letter stand between visible ones.
"""

import re
import unicodedata

from redlane.model.unseen import first_unseen

__all__ = ["on_one_line", "shortened", "visible", "without_gaps"]

_LONGEST = 80
_GAP = re.compile(" {9,}")
_HIDDEN_CATEGORIES = frozenset({"Cf", "Co", "Cn"})
"""Beside the table: what another Unicode has, and what each font draws as it likes."""


def visible(text: str) -> str:
    """`text` with line ends and tabs kept and all that is not seen written out.

    A backslash stays one: what is written out is set in ⟨⟩, which are doubled where
    they come in the text itself.
    """
    return text.translate({ord(each): _shown(each) for each in set(text)})


def on_one_line(text: str) -> str:
    """The same, with line ends, tabs and long runs of spaces written out as well.

    A terminal breaks lines: after enough spaces anything begins one.
    """
    return without_gaps(
        visible(text).replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩")
    )


def without_gaps(line: str) -> str:
    """A line whose long runs of spaces are written out."""
    return _GAP.sub(lambda found: f"⟨{len(found[0])} spaces⟩", line)


def shortened(text: str) -> str:
    """Its beginning on one line, where more would hide what comes after it."""
    shown = on_one_line(text[: _LONGEST + 1])
    return shown if len(text) <= _LONGEST else f"{on_one_line(text[:_LONGEST])}…"


def _shown(letter: str) -> str:
    if letter in "\n\t":
        return letter
    if letter in "⟨⟩":
        return letter * 2
    odd_space = letter.isspace() and letter != " "
    hidden = unicodedata.category(letter) in _HIDDEN_CATEGORIES
    if odd_space or hidden or first_unseen(letter):
        return f"⟨U+{ord(letter):04X}⟩"
    return letter
