"""Running programs for policies: checkers and transforms (policy format: Executable).

Every program runs the same way, whoever asks: its words are executed without a shell,
in a session of its own, in `/`, with the descriptors 0, 1 and 2 alone, with the
environment of `ENVIRONMENT` and nothing of the caller's, and for `CHECK_SECONDS` at
most, or what is left of the verdict's `TimeLimit`. Whatever is not an exit status is a
failure, and a failure is a Block.

This package is light until the first program is run: loading policies only needs to
split their command lines.
"""

import math
from collections.abc import Sequence

from redlane.execution.commands import (
    SEARCH_PATH,
    CommandError,
    command_problems,
    split_command,
)
from redlane.execution.limit import TimeLimit, seconds_left
from redlane.execution.stopping import Stop
from redlane.execution.values import (
    AT_ONCE,
    CHECK_SECONDS,
    MOST_OUTPUT,
    QUEUE_SECONDS,
    VERDICT_SECONDS,
    Command,
    Ending,
    Manner,
)

__all__ = [
    "CHECK_SECONDS",
    "MOST_OUTPUT",
    "SEARCH_PATH",
    "VERDICT_SECONDS",
    "Command",
    "CommandError",
    "Ending",
    "Manner",
    "Stop",
    "TimeLimit",
    "command_problems",
    "run_all",
    "seconds_left",
    "split_command",
]


def run_all(
    commands: Sequence[Command],
    *,
    seconds: float = CHECK_SECONDS,
    at_once: int = AT_ONCE,
    queue_seconds: float = QUEUE_SECONDS,
    stop: Stop | None = None,
) -> tuple[Ending, ...]:
    """Run `commands` side by side and tell how each one ended, in the same order.

    Each has `seconds` of its own, counted from its start; what still waits for its
    turn after `queue_seconds` ends as NOT_STARTED. All of them end with the time of the
    verdict under way, and at once when `stop` is set. Never raises for what a command
    does, and leaves no process of its group and no zombie behind. Safe to call from
    several threads at once.
    """
    # Imported on first use: most runs of the command line start no program.
    from redlane.execution.side_by_side import run_side_by_side  # noqa: PLC0415

    return run_side_by_side(
        commands,
        seconds=seconds,
        at_once=at_once,
        queue_seconds=queue_seconds,
        in_all=seconds_left(math.inf),
        stop=stop,
    )
