"""What a deciding answer tells besides: bounded, and of forms that JSON has."""

from collections.abc import Iterator, Mapping
from operator import itemgetter

from redlane.engine.boundary import one_line
from redlane.model.matching import Answer

__all__ = ["details_of", "score_of"]

_MOST_DETAILS = 16
_LONGEST_NAME = 64
_LARGEST = 1 << 53
"""Beyond this a number is not the same in every reader of JSON."""


def score_of(answer: Answer | None) -> float | None:
    """The score, if it is a finite number."""
    score = None if answer is None else answer.score
    return float(score) if score is not None and _is_number(score) else None


def details_of(answer: Answer | None) -> Mapping[str, object]:
    """The details by their names: short texts, numbers, true, false and null."""
    if answer is None or not answer.details:
        return {}
    return dict(sorted(_details(answer.details), key=itemgetter(0)))


def _details(details: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for place, (name, value) in enumerate(details.items()):
        if place == _MOST_DETAILS:
            return
        if not isinstance(name, str) or len(name) > _LONGEST_NAME:
            continue
        if value is None or isinstance(value, bool) or _is_number(value):
            yield one_line(name), value
        elif isinstance(value, str):
            yield one_line(name), one_line(value)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST  # which nothing is that is no number
