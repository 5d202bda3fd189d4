"""Text from outside, so that a person sees all that is in it.

What is approved must be what is seen: no escape sequence may paint over a line, no
carriage return hide its beginning, no invisible letter stand between visible ones.
"""

import unicodedata

__all__ = ["visible"]

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANKS = frozenset("\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing, though their category says that they do."""


def visible(text: str) -> str:
    """`text` with line ends and tabs kept and all that is not seen written out.

    A backslash stays one: what is written out is set in ⟨⟩, which are doubled where
    they come in the text itself.
    """
    return "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter in "\n\t":
        return letter
    if letter in "⟨⟩":
        return letter * 2
    odd_space = letter.isspace() and letter != " "
    hidden = unicodedata.category(letter) in _HIDDEN_CATEGORIES
    selector = 0xFE00 <= ord(letter) <= 0xFE0F or 0xE0100 <= ord(letter) <= 0xE01EF  # noqa: PLR2004  # variation selectors
    if odd_space or hidden or selector or letter in _BLANKS:
        return f"⟨U+{ord(letter):04X}⟩"
    return letter
