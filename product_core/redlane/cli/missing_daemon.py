"""A daemon for whoever runs an agent and has none: on the starter, where all is new."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from redlane.cli.output import print_note
from redlane.cli.starter import is_model_here, write_starter
from redlane.client import NotRunningError
from redlane.paths import Paths

__all__ = ["start_missing"]


def _written(paths: Paths) -> Iterator[Path]:
    """What a user has written of rules and settings."""
    yield from filter(Path.exists, (paths.settings, paths.legacy_policies))
    yield from paths.policies.rglob("*.json")
    yield from paths.roles.rglob("*.json")


def start_missing(paths: Paths) -> None:
    """Start the user's own daemon, and say so.

    Who has written nothing yet gets the starter's policies, roles and settings. Raises
    NotRunningError where it does not start, of which it has told then.
    """
    is_new = not any(_written(paths))
    if is_new:
        model = is_model_here(paths.home)
        write_starter(paths.home, replace=False, with_model=model)
    done = subprocess.run(
        [sys.executable, "-I", "-m", "redlane", "start"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        text=True,
    )
    if done.returncode or not is_new:
        sys.stderr.write(done.stderr)
    if done.returncode:
        raise NotRunningError("the daemon did not start, so that nothing was run")
    if is_new:
        print_note(
            f"started the daemon, on the starter policies in {paths.home} "
            "(redlane stop ends it)"
        )
