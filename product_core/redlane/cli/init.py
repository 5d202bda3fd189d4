"""`redlane init`: write the starter policies, roles and settings."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from redlane.cli import exit_codes
from redlane.cli.output import print_note, single_line
from redlane.cli.parser import Commands, add_command
from redlane.errors import RedlaneError
from redlane.paths import Paths

__all__ = ["STARTER", "register", "write_starter"]

STARTER = Path(__file__).parents[1] / "starter"
"""The starter files as shipped, laid out as in the home of Redlane."""


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
    written, kept = write_starter(home, replace=arguments.force)
    for path in written:
        sys.stdout.write(f"{single_line(str(path))}\n")
    for path in kept:
        print_note(f"kept {path}: it differs from the starter's; --force replaces it")
    if not written and not kept:
        print_note(f"nothing to do: {home} has the starter files already")
    return exit_codes.OK


def write_starter(home: Path, *, replace: bool) -> tuple[list[Path], list[Path]]:
    """Write what is missing below `home`; returns what was written and what was kept.

    A file of the same content is neither. Each file appears whole or not at all.
    Raises RedlaneError when the directory cannot be written.
    """
    written, kept = [], []
    for source in sorted(STARTER.rglob("*.json")):
        target = home / source.relative_to(STARTER)
        text = source.read_bytes()
        try:
            if target.exists() or target.is_symlink():
                if target.is_file() and target.read_bytes() == text:
                    continue
                if not replace:
                    kept.append(target)
                    continue
            _write(target, text)
        except OSError as error:
            reason = error.strerror or str(error)
            raise RedlaneError(f"{target} cannot be written: {reason}") from error
        written.append(target)
    return written, kept


def _write(target: Path, text: bytes) -> None:
    """Put a whole file in place, readable by its owner alone."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=".starter-", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(target)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
