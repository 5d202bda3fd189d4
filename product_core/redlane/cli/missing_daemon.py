"""A daemon for whoever runs an agent and has none: on the starter, where all is new."""

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane.cli.output import print_note
from redlane.cli.starter import is_model_here, write_starter
from redlane.client import Client, NotRunningError, operations
from redlane.daemon.lock import running_daemon
from redlane.paths import Paths

__all__ = ["start_missing"]

_START_SECONDS = 30.0
_PAUSE_SECONDS = 0.05


def _written(paths: Paths) -> Iterator[Path]:
    """What a user has written of rules and settings."""
    yield from filter(Path.exists, (paths.settings, paths.legacy_policies))
    yield from paths.policies.rglob("*.json")
    yield from paths.roles.rglob("*.json")


def start_missing(paths: Paths) -> None:
    """Start the user's own daemon, and say so; or wait for who starts it already.

    Who has written nothing yet gets the starter's policies, roles and settings. Raises
    NotRunningError where it does not start, of which it has told then.
    """
    paths.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _turn(paths.home):
        if not _answers(paths):
            _start(paths)


@contextmanager
def _turn(place: Path) -> Iterator[None]:
    """Be the only one who starts a daemon there."""
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _answers(paths: Paths) -> bool:
    try:
        Client(paths.socket).send(operations.status())
    except NotRunningError:
        return False
    return True


def _comes_up(paths: Paths) -> bool:
    """Wait for a daemon whose starter has gone; whether it answers."""
    deadline = time.monotonic() + _START_SECONDS
    while not (is_there := _answers(paths)) and time.monotonic() < deadline:
        if running_daemon(paths.run / "daemon.lock") is None:
            break
        time.sleep(_PAUSE_SECONDS)  # nothing tells when another's begins to listen
    return is_there


def _start(paths: Paths) -> None:
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
    if done.returncode and _comes_up(paths):
        return
    if done.returncode or not is_new:
        sys.stderr.write(done.stderr)
    if done.returncode:
        raise NotRunningError("the daemon did not start, so that nothing was run")
    if is_new:
        print_note(
            f"started the daemon, on the starter policies in {paths.home} "
            "(redlane stop ends it)"
        )
