"""What comes or goes while a call is judged that had nothing to change until then.

A socket and a core file come to be without the supervisor, so it cannot be told that
nothing will be there. Here they come at the worst moment: when the judge is asked.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from syscall_harness import Decisions, Kit, supervised
from syscall_trees import open_directory, raw

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.linking import Linking
from redlane_context_syscall.making import Making
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.renaming import Renaming

CALLS = ("rename", "unlink", "rmdir", "mkdir", "mknod", "symlink", "link")
FILE = 0o100600


@pytest.fixture
def directory() -> Iterator[Path]:
    """A place `free`, and one outside that holds a file."""
    with open_directory() as path:
        for each in ("free", "kept"):
            (path / each).mkdir()
        (path / "free" / "file").write_text("free")
        (path / "kept" / "file").write_text("kept")
        os.chdir(path)
        yield path
        os.chdir("/")


def _handlers(then: Callable[[], None]) -> Callable[[Kit], Mapping[str, Handler]]:
    """Nothing below `kept` may be changed; `then` happens whenever that was asked."""

    def refuses(_name: str, _candidates: tuple[bytes | None, ...]) -> bool:
        with suppress(OSError):
            then()
        return False

    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(
            refuses, keeps=lambda path: path is None or b"/kept" in path
        )
        parts = (kit.listener, kit.world, decisions)
        protection = Protection(decisions, dict)
        kit.log.append(decisions.asked)
        return {
            **Removing(*parts, blocking=kit.blocking).handlers(),
            **Renaming(*parts, protection, blocking=kit.blocking).handlers(),
            **Linking(*parts, protection, blocking=kit.blocking).handlers(),
            **Making(*parts, blocking=kit.blocking).handlers(),
        }

    return make


def _error_of(then: Callable[[], None], call: str, *arguments: object) -> int:
    """The errno that a call fails with, 0 for none."""

    def act() -> int:
        try:
            raw(call, *arguments)
        except OSError as error:
            return error.errno or -1
        return 0

    outcome = supervised(act, CALLS, _handlers(then))
    assert outcome.log[0]
    return int(outcome.result)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("rename", ("free/socket", "kept/file")),
        ("rename", ("kept/socket", "free/file")),
        ("unlink", ("kept/socket",)),
    ],
)
def test_what_appears_is_not_moved_over_what_is_outside(
    directory: Path, call: str, arguments: tuple[str, ...]
) -> None:
    def appear() -> None:
        (directory / arguments[0]).touch()

    assert _error_of(appear, call, *arguments) == errno.ENOENT
    assert (directory / arguments[0]).exists()
    assert (directory / "kept" / "file").read_text() == "kept"
    assert (directory / "free" / "file").read_text() == "free"


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("mkdir", ("kept/socket", 0o700)),
        ("mknod", ("kept/socket", FILE, 0)),
        ("symlink", ("/nowhere", "kept/socket")),
        ("link", ("free/file", "kept/socket")),
        ("link", ("kept/file", "free/socket")),
    ],
)
def test_what_goes_leaves_no_room_outside(
    directory: Path, call: str, arguments: tuple[object, ...]
) -> None:
    (path,) = (directory / str(each) for each in arguments if "socket" in str(each))
    path.touch()

    assert _error_of(path.unlink, call, *arguments) == errno.EEXIST
    assert not os.path.lexists(path)
    assert (directory / "kept" / "file").stat().st_nlink == 1


@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        ("rename", ("free/file", "kept/file"), errno.EPERM),
        ("mkdir", ("kept/new", 0o700), errno.EPERM),
        ("mkdir", ("kept/" + "x" * 256, 0o700), errno.ENAMETOOLONG),
        ("rmdir", ("kept/new",), errno.ENOENT),
        ("rename", ("free/new", "free/file"), errno.ENOENT),
        ("mkdir", ("free/file", 0o700), errno.EEXIST),
        ("mkdir", ("free/new", 0o700), 0),
    ],
)
def test_what_stays_as_it_is_fails_with_what_is_so(
    directory: Path, call: str, arguments: tuple[object, ...], error: int
) -> None:
    assert _error_of(lambda: None, call, *arguments) == error
    assert [each.name for each in (directory / "kept").iterdir()] == ["file"]
