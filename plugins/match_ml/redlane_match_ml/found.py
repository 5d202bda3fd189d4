"""What comes of scoring."""

from dataclasses import dataclass

__all__ = ["Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """The highest score, of which text it is, and of which of its characters.

    It is of so many characters as `scored`; of `length` there are.
    """

    score: float
    text: int
    start: int
    end: int
    scored: int
    length: int
