"""What is run and how it ended, as values."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "AT_ONCE",
    "CHECK_SECONDS",
    "MOST_OUTPUT",
    "QUEUE_SECONDS",
    "VERDICT_SECONDS",
    "Command",
    "Ending",
    "Manner",
]

CHECK_SECONDS = 5.0
"""The time of one checker or transform, its start included (policy format: Limits)."""

QUEUE_SECONDS = 30.0
"""How long one call goes on starting commands; with it, every call has an end."""

VERDICT_SECONDS = 30.0
"""The time of a whole verdict, where whoever asks has set no other: many checkers and a
transform may stand one behind the other."""

AT_ONCE = 32
"""How many commands of one call run at the same time."""

MOST_OUTPUT = 16 * 1024 * 1024
"""The most bytes that a transform may write; more is a failure, never cut off."""


class Manner(StrEnum):
    """How a command ended; only EXITED is an answer."""

    EXITED = "exited"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    NOT_STARTED = "not started"
    TOO_MUCH_OUTPUT = "too much output"
    STATUS_LOST = "status lost"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Command:
    """The words of a program, and the bytes for its standard input.

    Standard output is thrown away unless `keeps_output`; more than `most_output` bytes
    of it are a failure.
    """

    words: tuple[str, ...]
    stdin: bytes = b""
    keeps_output: bool = False
    most_output: int = MOST_OUTPUT


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended: `status` is its exit status or the signal's number.

    `told` says it in words that follow the command's name: "did not exit …".
    """

    manner: Manner
    told: str
    status: int = 0
    output: bytes = b""

    @property
    def failure(self) -> str | None:
        """Why there is no exit status to go by, or None when there is one."""
        return None if self.manner is Manner.EXITED else self.told
