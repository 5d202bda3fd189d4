"""Linear scans: text cut in C, a bounded number of pieces at a time.

What is read here was written by strangers. Patterns that are used with these functions
match something at every place where they begin to match at all, so that no text makes
them start again and again; and pieces are few enough at a time for memory to be small.

A possessive repeat of a group ends with an empty choice: `(?:a++|b|)*+`. Python before
3.11.5 goes on behind what a round read that failed in its middle; with an empty choice
no round fails. A lookahead with a back-reference would keep a record of every round.
"""

import re
from collections.abc import Iterator

__all__ = ["Table", "replaced", "rounds"]

_PIECES = 65_536
"""How many matches are cut out at a time."""

_KEPT = 4_096
"""How many spellings a table remembers."""


def rounds(pattern: re.Pattern[str], text: str) -> Iterator[list[str]]:
    """What `pattern.split` gives, with many pieces in several lists.

    Each list holds, in turn, text between matches and the groups of a match. It ends
    with a match in all lists but the last, which ends with what follows all matches.
    """
    while True:
        parts: list[str] = pattern.split(text, _PIECES)
        if len(parts) <= _PIECES * (pattern.groups + 1):
            yield parts
            return
        text = parts.pop()
        yield parts


class Table(dict[str, str]):
    """What each spelling stands for, worked out once for each."""

    def __missing__(self, spelling: str) -> str:
        """Work it out and remember it, as long as there is room."""
        meaning = self.meaning(spelling)
        if len(self) < _KEPT:
            self[spelling] = meaning
        return meaning

    def meaning(self, spelling: str) -> str:
        """What is put in place of `spelling`; subclasses say."""
        raise NotImplementedError


def replaced(pattern: re.Pattern[str], table: Table, text: str) -> str:
    """`text` with each match of a pattern of one group looked up in `table`."""
    made = []
    for parts in rounds(pattern, text):
        parts[1::2] = map(table.__getitem__, parts[1::2])
        made.append("".join(parts))
    return "".join(made)
