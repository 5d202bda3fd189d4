"""Text in overlapping segments, as classifiers score it (policy format: Inbound)."""

from collections.abc import Iterator

__all__ = ["SEGMENT_CHARACTERS", "segments"]

SEGMENT_CHARACTERS = 7_168
_STEP = SEGMENT_CHARACTERS - SEGMENT_CHARACTERS // 10
"""A tenth of each segment is in the next one too, so that a border hides nothing."""


def segments(text: str) -> Iterator[str]:
    """The segments of `text`, in order; none for an empty text."""
    for start in range(0, len(text), _STEP):
        yield text[start : start + SEGMENT_CHARACTERS]
        if start + SEGMENT_CHARACTERS >= len(text):
            return
