"""What a kernel holds of a session's boundary."""

import pytest

from redlane.state.boundary import landlock_version, not_held


@pytest.mark.parametrize(
    ("version", "is_whole"), [(0, False), (2, False), (5, False), (6, True), (9, True)]
)
def test_landlock_keeps_signals_inside_from_its_sixth_version(
    version: int, *, is_whole: bool
) -> None:
    assert (not not_held(version)) is is_whole


def test_version_is_told_by_the_kernel() -> None:
    assert landlock_version() in range(100)
