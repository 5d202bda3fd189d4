"""unlink, unlinkat and rmdir in the caller's place are what they are natively."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest
from syscall_harness import NOBODY, Decisions, Kit, forked, supervised
from syscall_trees import (
    AT_FDCWD,
    SHARES,
    Case,
    difference,
    open_directory,
    raw,
    run_cases,
)

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.kernel.system import prctl
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.removing import Removing
from redlane_context_syscall.renaming import Renaming

CALLS = ("unlink", "unlinkat", "rmdir")
_REMOVEDIR = 0x200

PATHS = (
    *("file", "hard", "to-file", "to-full", "to-nothing", "loop", "fifo"),
    *("empty", "full", "nothing", "full/file", "full/up", "full/up/file"),
    *("to-full/file", "to-file/x", "file/x", "loop/x", "nothing/x", "to-nothing/x"),
    *("sealed/file", "sealed", "sealed/nothing"),
    *("file/", "hard//", "empty/", "empty///", "to-file/", "to-full/", "nothing/"),
    *("to-nothing/", "fifo/", "loop/", "full/up/"),
    *(".", "..", "./", "../", "empty/.", "empty/./", "empty/..", "full/..", "./file"),
    *("./empty/../file", "/", "///", "", "/.", "//..", "file/.", "nothing/.."),
    *("x" * 255, "x" * 256, "x/" * 2047, "./" * 2045 + "file", "x" * 4095, "x" * 4096),
    *("/proc/self/cwd/file", "/proc/self/root", "/proc/version"),
    *("/proc/self", "/proc/self/task", "/dev/null/x", "/proc/self/cwd"),
)


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def _handlers(kit: Kit) -> Mapping[str, Handler]:
    decisions = Decisions()
    kit.log.extend([decisions.asked, decisions.unfaithful])
    removing = Removing(kit.listener, kit.world, decisions, blocking=kit.blocking)
    return removing.handlers()


def _cases() -> tuple[Case, ...]:
    cases = []
    for path in PATHS:
        label = path if len(path) < 40 else f"{path[:8]}({len(path)})"
        cases += [
            Case(f"unlink {label}", "unlink", (path,)),
            Case(f"rmdir {label}", "rmdir", (path,)),
            Case(f"unlinkat {label}", "unlinkat", (AT_FDCWD, path, 0)),
            Case(f"unlinkat dir {label}", "unlinkat", (AT_FDCWD, path, _REMOVEDIR)),
        ]
    return (*cases, *_cases_of_directories(), *_cases_of_arguments())


def _opened(path: str, flags: int = os.O_RDONLY) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _cases_of_directories() -> tuple[Case, ...]:
    directories = {
        "opened": lambda: _opened("full", os.O_DIRECTORY),
        "pinned": lambda: _opened("full", os.O_PATH),
        "of a link": lambda: _opened("to-full", os.O_PATH | os.O_NOFOLLOW),
        "file": lambda: _opened("file"),
        "fifo": lambda: _opened("fifo"),
        "closed": lambda: 987,
        "-1": lambda: -1,
        "high bits": lambda: (7 << 32) | _opened("full"),
        "cwd, high bits": lambda: (7 << 32) | (AT_FDCWD & 0xFFFFFFFF),
    }
    paths = (
        "file",
        "below",
        "../file",
        "/proc/version",
        "",
        ".",
        "..",
        "below/",
        "up/",
    )
    return tuple(
        Case(f"at {name}: {path} {flags}", "unlinkat", (directory, path, flags))
        for name, directory in directories.items()
        for path in paths
        for flags in (0, _REMOVEDIR)
    )


def _gone() -> None:
    os.chdir("empty")
    Path("../empty").rmdir()


def _cases_of_arguments() -> tuple[Case, ...]:
    return (
        Case("in a directory that is gone", "unlink", ("file",), _gone),
        Case("from a directory that is gone", "unlink", ("../file",), _gone),
        Case("a directory that is gone", "rmdir", (".",), _gone),
        Case("null", "unlink", (None,)),
        Case("null at", "unlinkat", (AT_FDCWD, None, 0)),
        Case("wild", "rmdir", (1 << 46,)),
        Case("kernel's", "unlink", ((1 << 64) - 4096,)),
        Case("unknown flag", "unlinkat", (AT_FDCWD, "file", 1)),
        Case("unknown flag, null", "unlinkat", (AT_FDCWD, None, 1)),
        Case("high flag", "unlinkat", (AT_FDCWD, "file", 1 << 32)),
        Case("bytes", "unlink", (b"\xff\xfe",)),
    )


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it is", "as nobody"])
def test_removals_do_what_they_do_natively(
    directory: Path, user: int | None, share: int
) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    cases = _cases()[::share]

    def act() -> object:
        return run_cases(directory, cases)

    native = forked(act, user=user)
    emulated = supervised(act, CALLS, _handlers, user=user)

    assert len(native) == len(cases)
    assert difference(native, emulated.result) == []
    asked, unfaithful = emulated.log
    assert not unfaithful
    assert len(asked) >= len(cases)


def test_a_path_in_closed_memory_is_refused_with_the_reason(directory: Path) -> None:
    (directory / "file").touch()

    def act() -> str:
        prctl(4, 0)  # PR_SET_DUMPABLE
        try:
            (directory / "file").unlink()
        except PermissionError:
            return "refused"
        return "done"

    user = None if os.geteuid() else NOBODY
    outcome = supervised(act, CALLS, _handlers, user=user)

    assert outcome.result == "refused"
    assert outcome.log[1] == ["its memory is closed to the supervisor"]


@pytest.mark.parametrize("call", ["unlink", "rename"])
def test_a_path_that_changes_while_it_is_judged_removes_nothing_else(
    directory: Path, call: str
) -> None:
    """One thread removes, another has the path lead to what must not be removed."""
    for each in ("free", "kept"):
        (directory / each).mkdir()
    (directory / "kept/file").touch()
    (directory / "link").symlink_to("free")

    def flip(over: threading.Event) -> None:
        for each in cycle(("kept", "free")):
            (directory / "new").symlink_to(each)
            (directory / "new").replace(directory / "link")
            if over.is_set():
                return

    def act() -> int:
        over = threading.Event()
        thread = threading.Thread(target=flip, args=(over,))
        thread.start()
        removed = 0
        for _ in range(300):
            (directory / "free/file").touch()
            with suppress(PermissionError, FileNotFoundError):
                if call == "unlink":
                    raw("unlink", str(directory / "link/file"))
                else:
                    raw(
                        "renameat",
                        AT_FDCWD,
                        str(directory / "link/file"),
                        AT_FDCWD,
                        "x",
                    )
                removed += 1
        over.set()
        thread.join()
        return removed

    def handlers(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(_is_kept)
        parts = (kit.listener, kit.world, decisions)
        protection = Protection(decisions, dict)
        return {
            **Removing(*parts, blocking=kit.blocking).handlers(),
            "renameat": Renaming(*parts, protection, blocking=kit.blocking).renameat,
        }

    calls = (*CALLS, "renameat")
    outcome = supervised(act, calls, handlers, before=lambda: os.chdir(directory))

    assert outcome.result > 0
    assert (directory / "kept/file").exists()


def _is_kept(_name: str, candidates: tuple[bytes | None, ...]) -> bool:
    return any(each is None or each.endswith(b"/kept/file") for each in candidates)
