"""Putting things in place: all of them, or none.

The policies change at once, since their directory changes its name with another one.
What stands beside them is written just after that, and noted before: whoever comes
after a crash finishes it.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from redlane.atomic import aside_of, exchange
from redlane.errors import LoadError, RedlaneError
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.sharing.documents import digest_of
from redlane.sharing.errors import RefusedError
from redlane.sharing.journal import STAGED, Files, journaled, told, write
from redlane.sharing.planning import Plan
from redlane.sharing.trust import Trust

__all__ = ["install", "keep_trust", "require_own"]

_AT_ONCE = 16


def install(paths: Paths, plan: Plan, trust: Trust | None) -> None:
    """Put all in place: policies, roles, trust if it is another one, and the lock.

    Nobody else may be at work (`alone`). Raises RedlaneError, and then everything is
    what it was.
    """
    _require_unchanged(paths, plan)
    require_own(paths, plan)
    with told(paths.policies), _directory(paths.policies) as made:
        if paths.is_system:
            made.chmod(0o755)
        _write_all({made / name: data for name, data in _staged(paths, plan)}, paths)
        with (
            journaled(paths, _others(plan, trust)) as write_others,
            _swapped(made, paths.hub_policies),
        ):
            _flush(paths.policies)
            write_others()
    with suppress(OSError):  # there are files in it, as a rule
        paths.hub_policies.rmdir()


def keep_trust(paths: Paths, trust: Trust) -> None:
    """Write the trusted keys; raises RedlaneError."""
    with told(paths.hub_trust):
        write(paths, paths.hub_trust, trust.as_bytes())


def _require_unchanged(paths: Paths, plan: Plan) -> None:
    """What was shown must be what changes."""
    for path, digest in plan.seen.items():
        file, now = paths.home / path, None
        with suppress(LoadError):
            now = digest_of(read_file(file))
        if now != digest:
            raise RefusedError(f"{file} has changed meanwhile: try again")


def require_own(paths: Paths, plan: Plan) -> None:
    """What is not ours is not lost: such a file, in the place of ours, is refused.

    Raises RefusedError, and RedlaneError where one cannot look.
    """
    place = paths.hub_policies
    with told(place):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise RefusedError(f"{place} is no directory: move it away")
        for file in sorted(place.iterdir()) if place.is_dir() else ():
            path = f"{file.relative_to(paths.home)}"
            if path not in plan.former and not _is(file, plan.files.get(path)):
                raise RefusedError(f"{file} did not come from a hub: move it away")


def _is(path: Path, data: bytes | None) -> bool:
    with suppress(LoadError):
        return read_file(path) == data
    return False


def _others(plan: Plan, trust: Trust | None) -> Files:
    """What there is beside the policies, the lock last; None is to be removed."""
    files: dict[str, bytes | None] = {
        path: data for path, data in plan.files.items() if path.startswith("roles/")
    }
    files |= dict.fromkeys(plan.gone)
    if trust is not None:
        files["hub-trust.json"] = trust.as_bytes()
    files["hub.lock"] = plan.lock.as_bytes()
    return files


def _flush(path: Path) -> None:
    """Have a file or a directory on the disk, whatever happens to the machine."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _directory(parent: Path) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=STAGED, dir=parent))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _staged(paths: Paths, plan: Plan) -> Iterator[tuple[str, bytes]]:
    """New files, and those that are there; what is missing stays missing."""
    for path in plan.lock.files:
        if not path.startswith("policies/"):
            continue
        data = plan.files.get(path)
        if data is None and (paths.home / path).exists():
            data = _read(paths.home / path)
        if data is not None:
            yield Path(path).name, data


def _write_all(files: Mapping[Path, bytes], paths: Paths) -> None:
    """Have new files on the disk, many at once: each waits for it."""

    def write_one(path: Path) -> None:
        path.write_bytes(files[path])
        path.chmod(0o644 if paths.is_system else 0o600)
        _flush(path)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(write_one, files))


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except LoadError as error:
        raise RedlaneError(f"{path}: {error}") from error


@contextmanager
def _swapped(made: Path, place: Path) -> Iterator[None]:
    """Have `made` in the place of another directory, or of none.

    With whatever is raised, also midway, the other one is there again.
    """
    before = _inode(place)
    try:
        _swap(made, place)
        yield
    except BaseException:  # Ctrl-C as well
        if _inode(place) != before:
            _swap_back(made, place, before)
        raise


def _swap(made: Path, place: Path) -> None:
    if place.exists():
        exchange(made, place)
    else:
        made.rename(place)


def _swap_back(made: Path, place: Path, before: int | None) -> None:
    aside = aside_of(place)
    if aside.exists():
        if place.exists():
            place.rename(made)
        aside.rename(place)
    elif before is None:
        place.rename(made)
    else:
        exchange(made, place)


def _inode(path: Path) -> int | None:
    """By which a directory is known, whatever its name; None when there is none."""
    return path.stat().st_ino if path.exists() else None
