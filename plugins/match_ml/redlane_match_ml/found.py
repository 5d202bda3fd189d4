"""What comes of scoring."""

from dataclasses import dataclass

__all__ = ["Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """The highest score, of which text it is, and of which of its characters.

    So many characters as `scored` were looked at for it.
    """

    score: float
    text: int
    start: int
    end: int
    scored: int
