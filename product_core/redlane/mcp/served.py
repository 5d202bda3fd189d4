"""The server: what policies call it, and what its tools are pinned by."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redlane.state.pin import server_key

__all__ = ["Served", "started_by"]


@dataclass(frozen=True, slots=True)
class Served:
    """A server by its name and what is started: the words of a command, or a URL."""

    name: str
    started: tuple[str, ...]
    place: str = ""
    """Where it is reached by HTTP: `host:port`, or ""."""
    key: str = field(init=False)
    """What its pins are found by; it goes with every call."""

    def __post_init__(self) -> None:
        """Make the key once."""
        object.__setattr__(self, "key", server_key(self.name, self.started))


def started_by(command: Sequence[str]) -> tuple[str, ...]:
    """What a command starts: its words, the program by its whole path if it has one."""
    program = command[0]
    if "/" in program:
        program = str(Path(os.path.abspath(program)))  # noqa: PTH100  # links stay
    return tuple(
        os.fsencode(each).decode(errors="backslashreplace")
        for each in (program, *command[1:])
    )
