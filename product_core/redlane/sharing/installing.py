"""Putting things in place: all of them, or none.

The policies change at once, since their directory changes its name with another one. A
crash just after that leaves a lock that is not theirs: `redlane hub verify` says so,
and the next pull puts it right.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from redlane.atomic import aside_of, exchange, make_directory, write_atomically
from redlane.errors import LoadError, RedlaneError
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.sharing.errors import RefusedError
from redlane.sharing.planning import Plan
from redlane.sharing.trust import Trust

__all__ = ["alone", "install", "keep_trust", "rehearsed"]

_STAGED = ".hub-"


@contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Nobody else changes what came from a hub meanwhile; makes the home.

    Raises RefusedError when somebody does, RedlaneError for a home that is not to be
    written.
    """
    with _told(paths.home):
        make_directory(paths.policies, is_public=paths.is_system)
        held = os.open(paths.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise RefusedError(
                f"another redlane hub is at work in {paths.home}: wait for it"
            ) from error
        _mend(paths)
        yield
    finally:
        os.close(held)


def _mend(paths: Paths) -> None:
    """Undo what one that was cut short has left."""
    aside = aside_of(paths.hub_policies)
    with _told(aside):
        if aside.exists() and not paths.hub_policies.exists():
            aside.rename(paths.hub_policies)
    for left in paths.policies.glob(f"{_STAGED}*"):
        shutil.rmtree(left, ignore_errors=True)


def _require_own(paths: Paths, plan: Plan) -> None:
    """What is not ours is not lost: such a file, in the place of ours, is refused.

    One that is what it is to be is ours: its lock was not written any more.
    """
    place = paths.hub_policies
    if place.is_symlink() or (place.exists() and not place.is_dir()):
        raise RefusedError(f"{place} is no directory: move it away")
    there = [f"policies/hub/{each.name}" for each in _listed(place)]
    there += [each for each in plan.files if (paths.home / each).exists()]
    for path in dict.fromkeys(there):
        is_ours = path in plan.former or _is(paths.home / path, plan.files.get(path))
        if not is_ours:
            raise RefusedError(
                f"{paths.home / path} did not come from a hub: move it away"
            )


def _listed(directory: Path) -> list[Path]:
    return sorted(directory.iterdir()) if directory.is_dir() else []


def _is(path: Path, data: bytes | None) -> bool:
    with suppress(LoadError):
        return read_file(path) == data
    return False


@contextmanager
def rehearsed(paths: Paths, plan: Plan) -> Iterator[Path]:
    """A directory with the hub's policies as they will be, for the time of the `with`.

    It is not in the home. Raises RedlaneError, and RefusedError for a file among those
    of the hub that is none of them.
    """
    with _told(Path(tempfile.gettempdir())), _directory(None) as made:
        _stage(paths, plan, made)
        yield made


def install(paths: Paths, plan: Plan, trust: Trust | None) -> None:
    """Put all in place: policies, roles, trust if it is another one, and the lock.

    Raises RedlaneError, and then everything is what it was.
    """
    with _told(paths.policies), _directory(paths.policies) as made:
        _stage(paths, plan, made)
        for each in made.iterdir():
            _flush(each)
        _put(made, paths.hub_policies)
        try:
            _write_all(paths, _others(paths, plan, trust))
        except OSError:
            _take_back(made, paths.hub_policies)
            raise
    with suppress(OSError):  # there are files in it, as a rule
        paths.hub_policies.rmdir()


def keep_trust(paths: Paths, trust: Trust) -> None:
    """Write the trusted keys; raises RedlaneError."""
    with _told(paths.hub_trust):
        _write(paths, paths.hub_trust, trust.as_bytes())


def _others(paths: Paths, plan: Plan, trust: Trust | None) -> dict[Path, bytes | None]:
    """What there is beside the policies, the lock last; None is to be removed."""
    roles = {k: data for k, data in plan.files.items() if k.startswith("roles/")}
    files: dict[Path, bytes | None] = {paths.home / k: roles[k] for k in roles}
    files |= {paths.home / each: None for each in plan.gone}
    if trust is not None:
        files[paths.hub_trust] = trust.as_bytes()
    files[paths.hub_lock] = plan.lock.as_bytes()
    return files


def _write_all(paths: Paths, files: Mapping[Path, bytes | None]) -> None:
    """Write and remove files; raises OSError, and then they are what they were."""
    before: dict[Path, bytes | None] = {}
    try:
        for target, data in files.items():
            before[target] = target.read_bytes() if target.exists() else None
            _place(paths, target, data)
        _flush(paths.policies)
    except OSError:
        for target, data in before.items():
            with suppress(OSError):  # there is nothing more to be done about it
                _place(paths, target, data)
        raise


def _place(paths: Paths, target: Path, data: bytes | None) -> None:
    if data is None:
        target.unlink(missing_ok=True)
    else:
        _write(paths, target, data)


def _write(paths: Paths, target: Path, data: bytes) -> None:
    write_atomically(target, data, is_public=paths.is_system)


def _flush(path: Path) -> None:
    """Have a file or a directory on the disk, whatever happens to the machine."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _directory(parent: Path | None) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=_STAGED, dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _stage(paths: Paths, plan: Plan, made: Path) -> None:
    """New files, and those that are there; what is missing stays missing."""
    _require_own(paths, plan)
    if paths.is_system:
        made.chmod(0o755)
    for path in plan.lock.files:
        if not path.startswith("policies/"):
            continue
        data = plan.files.get(path)
        if data is None and (paths.home / path).exists():
            data = _read(paths.home / path)
        if data is not None:
            target = made / Path(path).name
            target.write_bytes(data)
            target.chmod(0o644 if paths.is_system else 0o600)


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except LoadError as error:
        raise RedlaneError(f"{path}: {error}") from error


def _put(made: Path, place: Path) -> None:
    if place.exists():
        exchange(made, place)
    else:
        made.rename(place)


def _take_back(made: Path, place: Path) -> None:
    if made.exists():
        exchange(made, place)
    else:
        shutil.rmtree(place)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Say what cannot be written."""
    try:
        yield
    except OSError as error:
        where = error.filename or path
        raise RedlaneError(f"{where}: {error.strerror or error}") from error
