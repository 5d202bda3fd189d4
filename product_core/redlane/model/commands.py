"""The seam between the command line and the commands that plugins add."""

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["CommandGroup", "is_command_name"]

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")


def is_command_name(name: str) -> bool:
    """Whether a plugin may give a command this name."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """The command `redlane NAME` of a plugin, with whatever is below it.

    `register` gets its parser, adds arguments or commands, and sets the default `run`:
    a function that takes the parsed arguments and returns the exit status.
    """

    name: str
    summary: str
    register: Callable[[argparse.ArgumentParser], None]
