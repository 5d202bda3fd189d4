"""The fail-closed boundary: whatever goes wrong while judging becomes a Block.

`redlane validate` and the daemon pass through this one function, so that the same
failure gives the same verdict in both.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from redlane.errors import RedlaneError

__all__ = ["describe", "fail_closed", "one_line"]

Result = TypeVar("Result")

LONGEST = 300
"""How many characters of a foreign message are told."""


def fail_closed(work: Callable[[], Result], blocked: Callable[[str], Result]) -> Result:
    """What `work` returns, or what `blocked` makes of the reason why it did not.

    All that a plugin can raise is caught, also what leaves the program or a task: an
    exit status of its choice must not pass for a verdict. An interrupt from the
    keyboard is nobody's answer and goes on.
    """
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  # the one boundary
        return blocked(describe(error))


def describe(error: BaseException) -> str:
    """One line of readable text about an error, bounded in length."""
    text = ""
    with suppress(Exception):  # a foreign error may not even be able to tell itself
        text = str(error)
    if not isinstance(error, RedlaneError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return one_line(text)


def one_line(text: str) -> str:
    """`text` without what could forge a second line or steer a terminal; bounded."""
    line = text[:LONGEST]
    if not line.isprintable():
        line = "".join(each if each.isprintable() else " " for each in line)
    return line if len(text) <= LONGEST else line + "…"
