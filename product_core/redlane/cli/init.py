"""`redlane init`: write the starter policies, roles and settings."""

import argparse
import os
import sys

from redlane.cli import exit_codes
from redlane.cli.output import print_note, single_line
from redlane.cli.parser import Commands, add_command
from redlane.cli.starter import Written, is_model_here, write_starter
from redlane.paths import Paths

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane init`."""
    parser = add_command(
        commands,
        "init",
        _init,
        summary="write the starter policies and roles",
        description="""\
            Writes a first set of careful policies, the roles observe, developer and
            strict, and settings that make developer the default. Files that are there
            already are kept as they are.""",
        examples="""\
            redlane init
            redlane init --force
            redlane config check""",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace files that have been changed"
    )


def _init(arguments: argparse.Namespace) -> int:
    home = Paths.from_environment(os.environ).home
    with_model = is_model_here(home)
    done = write_starter(home, replace=arguments.force, with_model=with_model)
    for path in done.written:
        sys.stdout.write(f"{single_line(str(path))}\n")
    for path in done.removed:
        print_note(f"removed {path}: the model that it asks is not here")
    for path in done.kept:
        print_note(f"kept {path}: it differs from the starter's; --force replaces it")
    if done == Written():
        print_note(f"nothing to do: {home} has the starter files already")
    if not with_model:
        print_note(
            "no model scores what comes back: install redlane-model-inbound and "
            "run redlane init again to have that, too"
        )
    return exit_codes.OK
