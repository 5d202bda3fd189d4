"""Segments overlap, so that nothing hides at a border."""

from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.segments import SEGMENT_CHARACTERS, segments


def test_a_segment_has_7168_characters_and_a_tenth_of_the_one_before() -> None:
    text = "".join(chr(0x4E00 + place) for place in range(20_000))
    found = list(segments(text))
    assert [len(each) for each in found] == [7168, 7168, 7096]
    assert found[0][-716:] == found[1][:716]


def test_short_text_is_one_segment_and_none_is_none() -> None:
    assert list(segments("short")) == ["short"]
    assert list(segments("")) == []
    assert list(segments("x" * SEGMENT_CHARACTERS)) == ["x" * SEGMENT_CHARACTERS]


@given(st.integers(1, 60_000), st.integers(0, 60_000), st.integers(1, 716))
def test_every_short_stretch_is_whole_in_some_segment(
    size: int, start: int, length: int
) -> None:
    text = "".join(chr(0x1000 + place) for place in range(size))
    stretch = text[start % size : start % size + length]
    assert any(stretch in each for each in segments(text))
