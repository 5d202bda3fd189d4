"""The command-line parser: one line for every mistake."""

import argparse
from collections.abc import Callable
from typing import NoReturn, TypeAlias

__all__ = ["Commands", "Parser", "Run", "UsageError", "add_command"]

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001  # argparse gives it no public name
"""What a command module adds its commands to."""

Run = Callable[[argparse.Namespace], int]
"""What a command does: takes the parsed arguments, returns the exit code."""


class UsageError(Exception):
    """Arguments that make no command; the message says how to get help."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of leaving the program."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed through as given

    def error(self, message: str) -> NoReturn:
        """Raise the usage error as one line that says how to get help."""
        raise UsageError(f"{message} (see: {self.prog} --help)")


def add_command(
    commands: Commands, name: str, run: Run, *, summary: str, epilog: str = ""
) -> Parser:
    """Add one command; `run` is called with its arguments and returns the exit code."""
    parser = commands.add_parser(name, help=summary, description=summary, epilog=epilog)
    parser.set_defaults(run=run)
    return parser
