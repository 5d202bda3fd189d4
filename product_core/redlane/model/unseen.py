r"""Characters that a reader does not see, in one table for everything that asks.

The table is Unicode 16.0's and stands here, since each Python has the data of another
Unicode: it is the general category Cf, Default_Ignorable_Code_Point (joiners, fillers,
variation selectors, tags) and the blank cell of Braille. Each constant is the inside of
a character class, [\u.…], of regular expressions.
"""

import re

__all__ = ["DECEPTIVE", "INVISIBLE", "first_unseen"]

INVISIBLE = (
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
"""What shows nothing: text reads the same without it, and is matched without it."""

DECEPTIVE = (
    r"\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u2800"
    "\U000110bd\U000110cd"
)
"""What looks like a space, or is a sign drawn around the letters after it.

They take room, so they stay in text that is matched; in a name they only deceive.
"""

_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_UNSEEN = re.compile(f"[{_CONTROLS}{INVISIBLE}{DECEPTIVE}]")


def first_unseen(text: str) -> str | None:
    """The first character that shows nothing, deceives or turns text round, if any.

    Controls, line breaks and halves of surrogate pairs are such characters, too.
    """
    found = _UNSEEN.search(text)
    return found[0] if found else None
