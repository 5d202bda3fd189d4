"""The boundary of `judge`; precedence is tested with `evaluate`."""

import pytest

from redlane.engine.boundary import LONGEST, describe, fail_closed, one_line
from redlane.errors import UsageError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("a\nb\x1b[31m"), "ValueError: a b [31m"),
        (ValueError(), "ValueError"),
        (UsageError("said as it is"), "said as it is"),
        (SystemExit(0), "SystemExit: 0"),
        (RecursionError("deep"), "RecursionError: deep"),
        (ValueError("\udc80"), "ValueError:  "),
    ],
    ids=["line break", "empty", "ours", "exit", "recursion", "surrogate"],
)
def test_failure_is_told_in_one_line(error: BaseException, told: str) -> None:
    def work() -> str:
        raise error

    assert fail_closed(work, lambda reason: reason) == told
    assert describe(error) == told


class _Mute(Exception):  # noqa: N818  # a foreign error, badly made
    def __str__(self) -> str:
        raise ValueError


class _Leaves(BaseException):
    """As a cancelled task of asyncio does."""


@pytest.mark.parametrize("error", [_Mute(), _Leaves(), GeneratorExit()])
def test_odd_errors_are_caught_as_well(error: BaseException) -> None:
    def work() -> str:
        raise error

    assert fail_closed(work, lambda reason: reason) == type(error).__name__


def test_told_failure_is_bounded() -> None:
    assert len(one_line("x" * 10_000)) == LONGEST + 1


def test_interrupt_goes_through() -> None:
    def work() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_closed(work, lambda reason: reason)
