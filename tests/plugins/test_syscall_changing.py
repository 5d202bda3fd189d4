"""What makes and alters files in the caller's place is what it is natively."""

import ctypes
import os
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
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
    plant,
    raw,
    run_cases,
)

from redlane_context_syscall.altering import Altering
from redlane_context_syscall.calls import Handler
from redlane_context_syscall.making import Making
from redlane_context_syscall.numbers import number_of

MAKING = ("mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat")
BY_PATH = (
    *("truncate", "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat"),
    *("utime", "utimes", "futimesat", "utimensat"),
    *("setxattr", "lsetxattr", "removexattr", "lremovexattr"),
)
BY_DESCRIPTOR = ("fchmod", "fchown", "fsetxattr", "fremovexattr")
CALLS = tuple(
    each for each in (*MAKING, *BY_PATH, *BY_DESCRIPTOR) if number_of(each) is not None
)
NOFOLLOW, EMPTY = 0x100, 0x1000
FIFO, FILE = 0o010644, 0o100666
NEVER = (1 << 64) - 1

PATHS = (
    *("file", "hard", "to-file", "to-full", "to-nothing", "loop", "fifo", "empty"),
    *("nothing", "full/file", "full/up/file", "to-full/new", "file/x", "loop/x"),
    *("nothing/x", "sealed/file", "sealed/new", "file/", "empty/", "to-file/"),
    *("to-full/", "nothing/", "to-nothing/", ".", "./", "empty/..", "full/up", ""),
    *("x" * 255, "x" * 256, "x" * 4095, "x" * 4096, "./" * 2045 + "file"),
    *("/proc/self/cwd/file", "/proc/self/cwd/new", "/dev/null/x"),
)
"""None leads out of the tree: what a test of root's changes there stays changed."""
OLD = struct.pack("@qqqq", 1000, 0, 2000, 0)
OLD_BUFFER = struct.pack("@qq", 3000, 4000)
NOW_AND_NOT = struct.pack("@qqqq", 0, (1 << 30) - 1, 0, (1 << 30) - 2)


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def _handlers(kit: Kit) -> Mapping[str, Handler]:
    decisions = Decisions()
    kit.log.extend([decisions.asked, decisions.unfaithful, decisions.changed])
    parts = (kit.listener, kit.world, decisions)
    making = Making(*parts, blocking=kit.blocking)
    altering = Altering(*parts, blocking=kit.blocking)
    return {**making.handlers(), **altering.handlers()}


_KEPT: list[object] = []
"""What the memory of a call points to must live until it was made."""


def _pointer(data: bytes) -> Callable[[], int]:
    """The address of bytes that may hold NULs."""

    def make() -> int:
        array = bytearray(data)
        view = (ctypes.c_char * len(array)).from_buffer(array)
        _KEPT.append((array, view))
        return ctypes.addressof(view)

    return make


def _of_path(path: str) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Every call with this path, and something to say of it."""
    at = (AT_FDCWD, path)
    yield "mkdir", (path, 0o777)
    yield "mkdirat", (*at, 0o1750)
    yield "mknod", (path, FILE, 0)
    yield "mknodat", (*at, FIFO, 0)
    yield "symlink", ("file", path)
    yield "symlinkat", ("../nothing", *at)
    yield "truncate", (path, 2)
    yield "chmod", (path, 0o4711)
    yield "fchmodat", (*at, 0o700)
    for flags in (0, NOFOLLOW, EMPTY):
        yield "fchmodat2", (*at, 0o740, flags)
        yield "fchownat", (*at, os.getuid(), 0xFFFFFFFF, flags)
        yield "utimensat", (*at, _pointer(OLD), flags)
    yield "chown", (path, os.getuid(), os.getgid())
    yield "lchown", (path, 0xFFFFFFFF, os.getgid())
    yield "utime", (path, _pointer(OLD_BUFFER))
    yield "utimes", (path, _pointer(OLD))
    yield "futimesat", (*at, _pointer(OLD))
    yield "utimensat", (*at, None, 0)
    yield "utimensat", (*at, _pointer(NOW_AND_NOT), 0)
    yield "setxattr", (path, "user.x", "y", 1, 0)
    yield "lsetxattr", (path, "user.x", "y", 1, 1)
    yield "removexattr", (path, "user.x")
    yield "lremovexattr", (path, "user.x")


def _named(path: str) -> Callable[[], object]:
    def prepare() -> None:
        with suppress(OSError):
            os.setxattr(path, "user.x", b"z")

    return prepare


def _cases() -> tuple[Case, ...]:
    cases = []
    for path in PATHS:
        label = path if len(path) < 40 else f"{path[:8]}({len(path)})"
        for call, arguments in _of_path(path):
            prepare = _named(path) if call.endswith("removexattr") else None
            cases.append(Case(f"{call} {label}", call, arguments, prepare))
    every = (*cases, *_cases_of_descriptors(), *_cases_of_arguments())
    return tuple(each for each in every if number_of(each.call) is not None)


def _opened(path: str, flags: int = os.O_RDONLY) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _cases_of_descriptors() -> Iterator[Case]:
    descriptors: dict[str, Callable[[], int]] = {
        "read": lambda: _opened("file"),
        "written": lambda: _opened("file", os.O_WRONLY),
        "pinned": lambda: _opened("file", os.O_PATH),
        "pinned link": lambda: _opened("to-file", os.O_PATH | os.O_NOFOLLOW),
        "directory": lambda: _opened("full", os.O_DIRECTORY),
        "pipe": lambda: os.pipe()[1],
        "closed": lambda: 987,
        "-1": lambda: -1,
        "working directory": lambda: AT_FDCWD,
        "high bits": lambda: (7 << 32) | _opened("file"),
    }
    for name, opened in descriptors.items():
        for call, *arguments in (
            ("fchmod", opened, 0o704),
            ("fchown", opened, os.getuid(), 0xFFFFFFFF),
            ("utimensat", opened, None, _pointer(OLD), 0),
            ("utimensat", opened, None, _pointer(OLD), NOFOLLOW),
            ("utimensat", opened, "", _pointer(OLD), EMPTY),
            ("futimesat", opened, None, _pointer(OLD)),
            ("fchownat", opened, "", os.getuid(), os.getgid(), EMPTY),
            ("fchmodat2", opened, "", 0o704, EMPTY),
            ("mkdirat", opened, "new", 0o700),
            ("symlinkat", "to", opened, "new"),
            ("fchmodat", opened, "below", 0o700),
        ):
            yield Case(f"{call} {name}", str(call), tuple(arguments))


def _cases_of_arguments() -> Iterator[Case]:
    wild = 1 << 46
    # What -100 means to these has changed with Linux 6.13.
    for opened in (lambda: _opened("file"), lambda: os.pipe()[0], lambda: 987):
        yield Case("fsetxattr", "fsetxattr", (opened, "user.x", "y", 1, 0))
        yield Case("fremovexattr", "fremovexattr", (opened, "user.x"))
    for call, *arguments in (
        ("mkdir", None, 0o700),
        ("mkdir", wild, 0o700),
        ("mkdir", "new", 0o177777),
        ("mknod", "new", 0o170000, 0),
        ("mknod", "new", 0o040755, 0),
        ("mknod", "new", 0o140755, 0),
        ("mknod", "new", 0o600, 0),
        ("symlink", "", "new"),
        ("symlink", "x" * 4095, "new"),
        ("symlink", "x" * 4096, "new"),
        ("symlink", None, "new"),
        ("symlink", "file", wild),
        ("truncate", "file", NEVER),
        ("truncate", "file", 1 << 20),
        ("chmod", "file", 0o177777),
        ("chmod", None, 0),
        ("fchmodat2", AT_FDCWD, "file", 0o600, 1),
        ("fchownat", AT_FDCWD, "file", 0, 0, 1),
        ("utimensat", AT_FDCWD, "file", _pointer(OLD), 1),
        ("utimensat", AT_FDCWD, None, _pointer(OLD), 0),
        ("utimensat", AT_FDCWD, "file", wild, 0),
        ("utimes", "file", wild),
        ("utimes", "file", _pointer(struct.pack("@qqqq", 0, 1_000_000, 0, 0))),
        ("utimes", "file", _pointer(struct.pack("@qqqq", 0, -1, 0, 0))),
        ("utime", "file", None),
        ("utime", "file", wild),
        ("setxattr", "file", "user.x", None, 0, 0),
        ("setxattr", "file", "user.x", wild, 1, 0),
        ("setxattr", "file", "user.x", "y", 65_537, 0),
        ("setxattr", "file", "user.x", "y", 1, 4),
        ("setxattr", "file", "user.x", "y", 1, 2),
        ("setxattr", "file", "", "y", 1, 0),
        ("setxattr", "file", "user." + "x" * 250, "y", 1, 0),
        ("setxattr", "file", "user." + "x" * 251, "y", 1, 0),
        ("setxattr", "file", "nobodys.x", "y", 1, 0),
        ("setxattr", "file", None, "y", 1, 0),
        ("removexattr", "file", "user.none"),
    ):
        yield Case(f"{call} {arguments}", str(call), tuple(arguments))


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it is", "as nobody"])
def test_changes_do_what_they_do_natively(
    directory: Path, user: int | None, share: int
) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    cases = _cases()[::share]

    def act() -> object:
        before = os.umask(0o027)
        try:
            return run_cases(directory, cases)
        finally:
            os.umask(before)

    native = forked(act, user=user)
    emulated = supervised(act, CALLS, _handlers, user=user)

    assert len(native) == len(cases)
    assert difference(native, emulated.result) == []
    assert not emulated.log[1]


@pytest.mark.parametrize(
    ("call", "arguments", "changed"),
    [
        ("mkdir", ("new", 0o700), ["new"]),
        ("mkdir", ("to-full/new", 0o700), ["full/new"]),
        ("mkdir", ("full", 0o700), ["full"]),
        ("symlink", ("/etc", "new"), ["new"]),
        ("mknod", ("new", FIFO, 0), ["new"]),
        ("truncate", ("to-file", 1), ["file"]),
        ("chmod", ("full/up/file", 0o600), ["file"]),
        ("lchown", ("to-file", 0xFFFFFFFF, 0xFFFFFFFF), ["to-file"]),
        ("fchmod", (lambda: _opened("to-file"), 0o600), ["file"]),
        ("fchmod", (lambda: os.pipe()[0], 0o600), []),
        ("utimensat", (lambda: _opened("full"), None, None, 0), ["full"]),
        ("chmod", ("nothing", 0o600), []),
    ],
)
def test_judge_is_told_what_would_change(
    directory: Path, call: str, arguments: tuple[object, ...], changed: list[str]
) -> None:
    plant(directory / "tree")

    def act() -> None:
        os.chdir(directory / "tree")
        given = [each() if callable(each) else each for each in arguments]
        with suppress(OSError):
            raw(call, *given)

    outcome = supervised(act, (call,), _handlers)

    told = [path for _, paths in outcome.log[2] for path in paths]
    assert told == [os.fsencode(directory / "tree" / each) for each in changed]


@pytest.mark.parametrize("call", ["mkdir", "chmod"])
def test_path_that_changes_while_it_is_judged_changes_nothing_else(
    directory: Path, call: str
) -> None:
    """One thread changes, another has the path lead to what must stay as it is."""
    for each in ("free", "kept"):
        (directory / each).mkdir()
        (directory / each / "file").touch(0o600)
    (directory / "link").symlink_to("free")

    def refusing(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(
            lambda _, paths: any(each is None or b"/kept/" in each for each in paths)
        )
        parts = (kit.listener, kit.world, decisions)
        making = Making(*parts, blocking=kit.blocking)
        altering = Altering(*parts, blocking=kit.blocking)
        return {**making.handlers(), **altering.handlers()}

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
        done = 0
        for number in range(300):
            with suppress(OSError):
                if call == "mkdir":
                    raw("mkdir", str(directory / "link" / str(number)), 0o700)
                else:
                    raw("chmod", str(directory / "link" / "file"), 0o644)
                done += 1
        over.set()
        thread.join()
        return done

    outcome = supervised(act, (call,), refusing)

    assert outcome.result
    assert [each.name for each in (directory / "kept").iterdir()] == ["file"]
    assert (directory / "kept" / "file").stat().st_mode & 0o777 == 0o600
