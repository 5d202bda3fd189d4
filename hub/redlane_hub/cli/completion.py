"""`redlane-hub completion`: a script that completes commands and options in a shell."""

import argparse
import sys

from redlane_hub.cli import exit_codes
from redlane_hub.cli.parser import Commands, add_command

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane-hub completion`."""
    parser = add_command(
        commands,
        "completion",
        _completion,
        summary="print a completion script for a shell",
        examples="""
            redlane-hub completion bash > /etc/bash_completion.d/redlane-hub
            redlane-hub completion zsh > ~/.zfunc/_redlane-hub
        """,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _completion(arguments: argparse.Namespace) -> int:
    import shtab  # noqa: PLC0415  # needed by this command alone

    from redlane_hub.cli.main import full_parser  # noqa: PLC0415  # main imports us

    script = shtab.complete(full_parser(), shell=arguments.shell)
    sys.stdout.write(f"{script}\n")
    return exit_codes.OK
