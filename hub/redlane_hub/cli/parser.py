"""The command-line parser: one line for every mistake, examples in every help."""

import argparse
import textwrap
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from redlane_hub.errors import OperatorError

__all__ = ["Commands", "Parser", "Run", "UsageError", "add_command", "unrecognized"]

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001  # argparse gives it no public name
"""What a command module adds its commands to."""

Run = Callable[[argparse.Namespace], int]
"""What a command does: takes the parsed arguments, returns the exit code."""


class UsageError(OperatorError):
    """Arguments that make no command; the message says how to get help (exit 2)."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of leaving the program."""

    def __init__(self, *args: object, **options: object) -> None:
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed through as given

    def error(self, message: str) -> NoReturn:
        """Raise the usage error as one line that says how to get help."""
        raise UsageError(f"{message} (see: {self.prog} --help)")


def unrecognized(arguments: list[str]) -> str:
    """What is wrong with arguments that nothing takes.

    Of options only their names are told: who takes a secret for an option shall not
    find it in a log as well.
    """
    options = [each.partition("=")[0] for each in arguments if each.startswith("-")]
    return f"unrecognized arguments: {' '.join(options or arguments)}"


def add_command(
    commands: Commands,
    name: str,
    run: Run,
    *,
    summary: str,
    description: str = "",
    examples: str = "",
) -> Parser:
    """Add one command; `run` is called with its arguments and returns the exit code.

    `summary` is its line in the list of commands, `examples` one command a line.
    """
    parser = commands.add_parser(
        name,
        help=summary,
        description=_sentence(description or summary),
        epilog=_examples(examples),
    )
    parser.set_defaults(run=run)
    return parser


def _sentence(text: str) -> str:
    """Dedented, with a capital letter and a full stop, percent signs kept."""
    text = textwrap.dedent(text).strip()
    ended = text if text.endswith((".", ":", "!", "?")) else f"{text}."
    return (ended[:1].upper() + ended[1:]).replace("%", "%%")


def _examples(text: str) -> str | None:
    lines = textwrap.dedent(text).strip().splitlines()
    if not lines:
        return None
    return "\n".join(["examples:", *(f"  {line}" for line in lines)]).replace("%", "%%")
