"""One intercepted system call, and what may be answered to it."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from redlane_context_syscall.kernel.listener import Notification

__all__ = [
    "GIVEN",
    "GO_ON",
    "Answer",
    "Descriptor",
    "Failure",
    "Given",
    "GoOn",
    "Handler",
    "Value",
]


@dataclass(frozen=True, slots=True)
class Value:
    """The call returns this number, and the kernel does nothing."""

    value: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """The call fails with this errno, a positive number."""

    errno: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The call returns this open file of ours, put into its table and closed here.

    `undo` is called when there is no room for it in that table (EMFILE).
    """

    number: int
    close_on_exec: bool
    undo: Callable[[], None] | None = None

    def close(self) -> None:
        """Let go of our own descriptor."""
        os.close(self.number)


class GoOn(Enum):
    """The kernel does the call itself, and reads its memory once more."""

    GO_ON = "go on"


GO_ON = GoOn.GO_ON


class Given(Enum):
    """The caller has its answer already."""

    GIVEN = "given"


GIVEN = Given.GIVEN

Answer = Value | Failure | Descriptor | GoOn | Given


class Handler(Protocol):
    """Judges one kind of system call and does it in the caller's place.

    Raises OSError for what the call is to fail with. Anything else that it raises is
    answered with EPERM and reported: the loop is the fail-closed boundary.
    """

    def __call__(self, notification: Notification) -> Answer:
        """The answer to one notification."""
        ...
