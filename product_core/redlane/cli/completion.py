"""`redlane completion`: a script that completes commands and options in a shell."""

import argparse
import sys

from redlane.cli import exit_codes
from redlane.cli.parser import Commands, add_command

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane completion`."""
    parser = add_command(
        commands,
        "completion",
        _completion,
        summary="print a completion script for a shell",
        examples="""
            redlane completion bash > ~/.local/share/bash-completion/completions/redlane
            redlane completion zsh > ~/.zfunc/_redlane
        """,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _completion(arguments: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415  # needed by this command alone

    from redlane.cli.main import full_parser  # noqa: PLC0415  # main imports us

    script = shtab.complete(full_parser(with_plugins=True), shell=arguments.shell)
    sys.stdout.write(f"{script}\n")
    return exit_codes.OK
