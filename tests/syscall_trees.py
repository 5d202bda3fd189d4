"""Raw system calls on small trees of files, and what they leave behind.

For comparing what a call does natively with what it does under a supervisor.
"""

import ctypes
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import errorcode
from pathlib import Path

import pytest

from redlane_context_syscall.numbers import number_of

__all__ = [
    "AT_FDCWD",
    "SHARES",
    "Case",
    "Told",
    "open_directory",
    "plant",
    "raw",
    "run_cases",
    "seen",
]

AT_FDCWD = -100

SHARES = [
    pytest.param(7, id="quick"),
    pytest.param(1, id="thorough", marks=pytest.mark.slow),
]
"""Of a table, every which case is tried; 7 goes round through what a table repeats."""

_OLD = 1_000_000_000
_LIBRARY = ctypes.CDLL(None, use_errno=True)

Told = tuple[str, str, tuple[str, ...]]
"""What a case did: its name, what the call returned, and the tree after it."""


@dataclass(frozen=True)
class Case:
    """A call to make in a fresh tree; `prepare` comes before it, in the same tree.

    An argument is a path, a number, None for a null pointer, or a function that gives
    one of these when the tree is there.
    """

    name: str
    call: str
    arguments: tuple[object, ...]
    prepare: Callable[[], object] | None = None


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory where every user may make files, and can get to."""
    path = Path(tempfile.mkdtemp(prefix="trees-", dir="/tmp"))
    path.chmod(0o777)
    try:
        yield path
    finally:
        for top, names, _ in os.walk(path):
            for name in names:
                if not (Path(top) / name).is_symlink():
                    (Path(top) / name).chmod(0o700)
        shutil.rmtree(path)


def raw(call: str, *arguments: object) -> int:
    """A raw system call; raises OSError."""
    number = number_of(call)
    assert number is not None, call
    given = [
        ctypes.c_char_p(os.fsencode(each))
        if isinstance(each, str | bytes)
        else ctypes.c_void_p(each)  # type: ignore[arg-type]  # a number or None
        for each in arguments
    ]
    result: int = _LIBRARY.syscall(number, *given)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def plant(root: Path) -> None:
    """A tree with something of every kind, owned by whoever plants it."""
    root.mkdir()
    for name in ("empty", "full", "full/below", "other", "sealed"):
        (root / name).mkdir()
    for name in ("file", "second", "full/file", "other/file", "sealed/file"):
        (root / name).write_text(name)
    os.link(root / "file", root / "hard")
    for link, text in {
        "to-file": "file",
        "to-full": "full",
        "to-nothing": "nothing",
        "loop": "loop",
        "full/up": "..",
    }.items():
        (root / link).symlink_to(text)
    os.mkfifo(root / "fifo")
    (root / "sealed").chmod(0)


def seen(root: Path) -> tuple[str, ...]:
    """Every entry with its kind, size and links, so that a moved file is recognised."""
    if (root / "sealed").exists():
        (root / "sealed").chmod(0o700)
    return tuple(sorted(_entries(root, root)))


def _entries(root: Path, directory: Path) -> Iterator[str]:
    for each in directory.iterdir():
        status = each.lstat()
        kind = stat.filemode(status.st_mode)[0]
        more = str(each.readlink()) if kind == "l" else ""
        if kind == "-":
            more = f"{status.st_nlink} {each.read_text()}"
        yield f"{each.relative_to(root)} {kind} {more} {_attributes(each, status)}"
        if kind == "d":
            yield from _entries(root, each)


def _attributes(path: Path, status: os.stat_result) -> str:
    """Rights, owner, attributes and times; of the latter those that were set to be old.

    What was not named stands for what was done just now.
    """
    times = [each if each < _OLD else 0 for each in (status.st_atime, status.st_mtime)]
    named = os.listxattr(path, follow_symlinks=False)
    return f"{status.st_mode:o} {status.st_uid}:{status.st_gid} {named} {times}"


def run_cases(root: Path, cases: tuple[Case, ...]) -> list[Told]:
    """Make each call in a tree of its own below `root`."""
    told = []
    home = Path.cwd()
    for number, case in enumerate(cases):
        tree = root / str(number)
        plant(tree)
        os.chdir(tree)
        if case.prepare is not None:
            case.prepare()
        arguments = [each() if callable(each) else each for each in case.arguments]
        try:
            result = str(raw(case.call, *arguments))
        except OSError as error:
            result = errorcode[error.errno or 0]
        os.chdir(home)
        told.append((case.name, result, seen(tree)))
        shutil.rmtree(tree)
    return told


def difference(native: list[Told], emulated: list[Told]) -> list[str]:
    """What was not the same, for people to read."""
    pairs = zip(native, emulated, strict=True)
    return [
        f"{theirs[0]}: natively {theirs[1]}, but {ours[1]}; "
        f"{sorted(set(theirs[2]) ^ set(ours[2]))}"
        for theirs, ours in pairs
        if theirs != ours
    ]
