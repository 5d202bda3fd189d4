"""Text of strangers made plain: what hides or reorders characters is spelled out.

Escaping keeps text from being markup. This keeps it from looking like other text:
controls, bidirectional overrides, zero-width characters and blanks that are letters.
"""

import unicodedata

__all__ = ["visible", "visible_json"]

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_PLAIN_CONTROLS = frozenset("\n\t")

_BLANK_LETTERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u00a0\u034f")
"""Seen as nothing or as a space, though they are no controls."""

_EMOJI_STYLE = "\ufe0f"


def visible(text: str) -> str:
    """The text with `⟨U+202E⟩` and so on in place of what cannot be seen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(each):04X}⟩" if _is_hidden(each) else each for each in text
    )


def visible_json(text: str) -> str:
    """JSON that means the same, with escapes in place of what cannot be seen.

    Such characters can stand only inside strings, except for a carriage return.
    """
    if text.isascii() and "\x7f" not in text:
        return text.replace("\r", "")
    return "".join(
        _escaped(each) if _is_hidden(each) else each for each in text.replace("\r", "")
    )


def _is_hidden(character: str) -> bool:
    if character in _PLAIN_CONTROLS or character == _EMOJI_STYLE:
        return False
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or character in _BLANK_LETTERS
        or "VARIATION SELECTOR" in unicodedata.name(character, "")
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(
        f"\\u{units[place]:02x}{units[place + 1]:02x}"
        for place in range(0, len(units), 2)
    )
