"""Changing several files as if they were one, also when the machine stops midway."""

import fcntl
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from redlane.atomic import aside_of, make_directory, write_atomically
from redlane.errors import RedlaneError
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.sharing.documents import (
    NONE_OF_OURS,
    as_bytes,
    digest_of,
    read_document,
)
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import lock_of
from redlane.sharing.names import NAME
from redlane.wire.strict_json import parse_json

__all__ = ["STAGED", "Files", "alone", "is_cut_short", "journaled", "told", "write"]

Files = Mapping[str, bytes | None]
"""Files by their paths within the home; None is to be removed."""

STAGED = ".hub-pull-"
"""How directories begin that are to become `policies/hub`."""

_JOURNAL = ".hub-journal"
_FILE = re.compile(rf"roles/{NAME.pattern}\.json|hub\.lock|hub-trust\.json")


@contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Nobody else changes what came from a hub meanwhile; makes the home.

    What one that was cut short has begun is finished, or undone. Raises RefusedError
    when somebody is at work, RedlaneError for a home that is not to be written.
    """
    with told(paths.home):
        make_directory(paths.policies, is_public=paths.is_system)
        held = os.open(paths.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RefusedError(
                f"another redlane hub is at work in {paths.home}: wait for it"
            ) from error
        with told(paths.policies):
            _mend(paths)
        yield
    finally:
        os.close(held)


def is_cut_short(paths: Paths) -> bool:
    """Whether somebody was cut short, so that there is something to finish."""
    return (paths.policies / _JOURNAL).exists()


@contextmanager
def journaled(paths: Paths, files: Files) -> Iterator[Callable[[], None]]:
    """What writes the files, to be called within the `with`, once the policies changed.

    Raises OSError; with whatever is raised in it, the files are what they were.
    """
    journal = paths.policies / _JOURNAL
    before: dict[str, bytes | None] = {}
    for path in files:
        target = paths.home / path
        before[path] = target.read_bytes() if target.exists() else None
    write(paths, journal, as_bytes(_document(files, before)))
    try:
        yield partial(_place_all, paths, files)
    except BaseException:  # Ctrl-C as well
        with suppress(OSError):  # there is nothing more to be done about it
            _place_all(paths, before)
        raise
    finally:
        journal.unlink(missing_ok=True)


def write(paths: Paths, target: Path, data: bytes) -> None:
    """Put a whole file in place; raises OSError."""
    write_atomically(target, data, is_public=paths.is_system)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Say what cannot be read or written."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise RedlaneError(f"{where}: {error.strerror or error}") from error


def _place_all(paths: Paths, files: Files) -> None:
    for path, data in files.items():
        if data is None:
            (paths.home / path).unlink(missing_ok=True)
        else:
            write(paths, paths.home / path, data)


def _mend(paths: Paths) -> None:
    """Finish what was begun if the policies are those that were to be; else undo it."""
    place, aside = paths.hub_policies, aside_of(paths.hub_policies)
    if aside.exists():
        if place.exists():
            shutil.rmtree(aside)
        else:
            aside.rename(place)
    journal = paths.policies / _JOURNAL
    with suppress(RedlaneError, *NONE_OF_OURS):
        nothing: tuple[Files, Mapping[str, str | None]] = ({}, {})
        files, before = read_document(journal, _journal, nothing)
        if files and _are_there(paths, files):
            _place_all(paths, _untouched(paths, files, before))
    journal.unlink(missing_ok=True)
    for left in paths.policies.glob(f"{STAGED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _document(files: Files, before: Files) -> dict[str, object]:
    texts = {k: None if data is None else data.decode() for k, data in files.items()}
    digests = {k: data and digest_of(data) for k, data in before.items()}
    return {"version": 1, "files": texts, "before": digests}


def _journal(document: dict[str, Any]) -> tuple[Files, Mapping[str, str | None]]:
    """What was to be written, and what was there, by its digests."""
    texts, before = document["files"], document.get("before", {})
    if not all(_FILE.fullmatch(each) for each in texts):
        raise ValueError
    files = {k: None if e is None else e.encode() for k, e in texts.items()}
    return files, {each: before[each] for each in files if each in before}


def _untouched(paths: Paths, files: Files, before: Mapping[str, str | None]) -> Files:
    """All but what somebody has changed since then."""
    return {
        path: data
        for path, data in files.items()
        if path not in before or _digest(paths.home / path) == before[path]
    }


def _digest(path: Path) -> str | None:
    return digest_of(read_file(path)) if path.exists() else None


def _are_there(paths: Paths, files: Files) -> bool:
    """Whether the policies are those of the lock that was to be written."""
    lock = lock_of(parse_json(files.get("hub.lock") or b"null"))
    wanted = {k: each for k, each in lock.files.items() if k.startswith("policies/")}
    place = paths.hub_policies
    there = {
        f"policies/hub/{e.name}" for e in (place.iterdir() if place.is_dir() else ())
    }
    return there == wanted.keys() and all(
        digest_of(read_file(paths.home / path)) == digest
        for path, digest in wanted.items()
    )
