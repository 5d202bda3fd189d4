"""The command-line parser: one line for every mistake, examples in every help."""

import argparse
import textwrap
from collections.abc import Callable
from typing import NoReturn, TypeAlias

from redlane.errors import UsageError

__all__ = ["Commands", "Parser", "Run", "add_command", "add_group"]

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # noqa: SLF001  # argparse gives it no public name
"""What a command module adds its commands to."""

Run = Callable[[argparse.Namespace], int]
"""What a command does: takes the parsed arguments, returns the exit code."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError instead of leaving the program."""

    def __init__(self, *args: object, **options: object) -> None:
        """Take what argparse takes; options may not be abbreviated."""
        options.setdefault("allow_abbrev", False)
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed through as given

    def error(self, message: str) -> NoReturn:
        """Raise the usage error as one line that says how to get help."""
        raise UsageError(f"{message} (see: {self.prog} --help)")


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


def add_group(
    commands: Commands,
    name: str,
    *,
    summary: str,
    examples: str = "",
    run: Run | None = None,
) -> Commands:
    """Add a command that only holds others (`config check`); returns their place.

    With `run` it may also be given alone.
    """
    parser = commands.add_parser(
        name, help=summary, description=_sentence(summary), epilog=_examples(examples)
    )
    if run is not None:
        parser.set_defaults(run=run)
    return parser.add_subparsers(
        title="commands", metavar="COMMAND", required=run is None, parser_class=Parser
    )


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
