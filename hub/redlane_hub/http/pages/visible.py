"""Text of strangers made plain: what hides or reorders characters is spelled out.

Escaping keeps text from being markup. This keeps it from looking like other text:
controls, bidirectional overrides, zero-width characters and blanks that are letters.
"""

import re
import unicodedata

from redlane_hub.unseen import DECEPTIVE, INVISIBLE

__all__ = ["visible", "visible_json"]

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_UNSEEN = re.compile(f"[{INVISIBLE}{DECEPTIVE}\u00a0]")
_EMOJI_SELECTOR = "\ufe0f"
"""Makes an emoji of the sign before it, so it is seen."""

_PLAIN_CONTROLS = frozenset("\n\t")


def visible(text: str) -> str:
    """The text with `⟨U+202E⟩` and so on in place of what cannot be seen."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(each): f"⟨U+{ord(each):04X}⟩" for each in _hidden(text)})


def visible_json(text: str) -> str:
    """JSON that means the same, with escapes in place of what cannot be seen.

    Such characters can stand only inside strings, except for a carriage return.
    """
    escapes = {ord(each): _escaped(each) for each in _hidden(text)}
    return text.translate(escapes | {ord("\r"): ""})


def _hidden(text: str) -> set[str]:
    return {each for each in set(text) - _PLAIN_CONTROLS if _is_hidden(each)}


def _is_hidden(character: str) -> bool:
    if character == _EMOJI_SELECTOR:
        return False
    return (
        unicodedata.category(character) in _HIDDEN_CATEGORIES
        or _UNSEEN.match(character) is not None
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(
        f"\\u{units[place]:02x}{units[place + 1]:02x}"
        for place in range(0, len(units), 2)
    )
