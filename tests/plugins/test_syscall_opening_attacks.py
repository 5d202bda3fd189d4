"""What a session may try: to have another file opened, or the supervisor's own."""

import ctypes
import errno
import mmap
import os
import resource
import signal
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from supervised import MANY_RACES
from syscall_harness import Decisions, Kit, forked, supervised

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.opening import Opening
from redlane_context_syscall.view import View

OPENS = ("open", "openat", "creat")
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def guarding(
    refuses: Callable[[str, tuple[bytes | None, ...]], bool],
    protects: Callable[[Kit], frozenset[int]] = lambda _: frozenset(),
) -> Callable[[Kit], Mapping[str, Handler]]:
    def handlers(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(refuses)
        kit.log += [decisions.asked, decisions.unfaithful]
        kit.world.view = View(protects(kit))
        opening = Opening(kit.listener, kit.world, decisions, blocking=kit.blocking)
        return opening.handlers()

    return handlers


def mentions(word: bytes) -> Callable[[str, tuple[bytes | None, ...]], bool]:
    return lambda _, paths: any(each is None or word in each for each in paths)


def tried(path: str | Path, flags: int = os.O_RDONLY, **more: Any) -> str:
    try:
        os.close(os.open(path, flags, **more))
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "opened"


def _flip_and_open(directory: Path, times: int) -> int:
    """How often a path that changes all the time opened what it must not.

    Each is on a core of its own, where there are two. It is tried so often, and on
    until it was hit or refused: a busy machine may keep the flipping back for long.
    """
    os.chdir(directory)
    page = mmap.mmap(-1, mmap.PAGESIZE)
    page[:5] = b"good\0"
    cores = sorted(os.sched_getaffinity(0))
    flipping = os.fork()
    if flipping == 0:
        os.sched_setaffinity(0, cores[-1:])
        while True:
            page[0:1] = b"f"
            page[0:1] = b"g"
    os.sched_setaffinity(0, cores[:1])
    pointer = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    number, call, hits, refusals = number_of("openat"), _LIBRARY.syscall, 0, 0
    try:
        for attempt in range(times + 10**7):
            if attempt >= times and (hits or refusals):
                break
            descriptor = call(number, -100, pointer, 0, 0)
            if descriptor < 0:
                refusals += 1
                continue
            hits += os.fstat(descriptor).st_size != 4
            os.close(descriptor)
    finally:
        os.kill(flipping, signal.SIGKILL)
        os.waitpid(flipping, 0)
    return hits


@pytest.mark.parametrize(
    "times", [5_000, pytest.param(MANY_RACES, marks=pytest.mark.soak)]
)
@pytest.mark.timeout(600)
def test_a_path_that_changes_after_it_was_judged_opens_nothing_else(
    tmp_path: Path, times: int
) -> None:
    (tmp_path / "good").write_text("good")
    (tmp_path / "food").write_text("forbidden")
    natively = forked(lambda: _flip_and_open(tmp_path, 1))
    assert natively, "the attack is none"
    outcome = supervised(
        lambda: _flip_and_open(tmp_path, times),
        OPENS,
        guarding(mentions(b"food")),
    )
    asked = {paths for _, paths in outcome.log[0]}
    assert any(b"food" in paths for paths in asked)
    assert outcome.result == 0


def test_a_link_that_changes_after_it_was_judged_opens_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "good").write_text("good")
    (tmp_path / "forbidden").write_text("forbidden")
    link = tmp_path / "link"
    link.symlink_to("good")

    def act() -> int:
        flipping = os.fork()
        if flipping == 0:
            while True:
                for target in ("forbidden", "good"):
                    (tmp_path / "next").symlink_to(target)
                    (tmp_path / "next").rename(link)
        hits = 0
        try:
            for flags in (os.O_RDONLY, os.O_RDONLY | os.O_CREAT) * 2500:
                try:
                    descriptor = os.open(link, flags)
                except PermissionError:
                    continue
                hits += os.fstat(descriptor).st_size != 4
                os.close(descriptor)
        finally:
            os.kill(flipping, signal.SIGKILL)
            os.waitpid(flipping, 0)
        return hits

    outcome = supervised(act, OPENS, guarding(mentions(b"forbidden")))
    assert outcome.result == 0
    assert any(b"forbidden" in repr(paths).encode() for _, paths in outcome.log[0])


def test_no_way_of_writing_a_path_hides_what_it_is(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("key")
    (tmp_path / "dir").mkdir()
    (tmp_path / "away").symlink_to("secret/key")
    (tmp_path / "further").symlink_to("away")
    (tmp_path / "folder").symlink_to(secret)
    (tmp_path / "by-process").symlink_to("/proc/self/cwd/secret")
    (tmp_path / "new").symlink_to("secret/new")

    def act() -> dict[str, str]:
        os.chdir(tmp_path)
        os.dup2(os.open(".", os.O_PATH), 90)
        ways: dict[str, Callable[[], str]] = {
            "as it is": (lambda: tried("secret/key")),
            "dots": (lambda: tried("dir/../secret/./key")),
            "slashes": (lambda: tried("secret//key")),
            "link": (lambda: tried("away")),
            "two links": (lambda: tried("further")),
            "linked folder": (lambda: tried("folder/key")),
            "working directory": (lambda: tried("/proc/self/cwd/away")),
            "root": (lambda: tried(f"/proc/self/root{tmp_path}/away")),
            "thread": (lambda: tried("/proc/thread-self/cwd/away")),
            "by number": (lambda: tried(f"/proc/{os.getpid()}/cwd/away")),
            "descriptor": (lambda: tried("/proc/self/fd/90/away")),
            "dev": (lambda: tried("/dev/fd/90/away")),
            "beneath": (lambda: tried("away", dir_fd=90)),
            "link to process": (lambda: tried("by-process/key")),
            "made": (lambda: tried("folder/new", os.O_CREAT | os.O_WRONLY)),
            "made by link": (lambda: tried("new", os.O_CREAT | os.O_WRONLY)),
            "kept in place": (lambda: tried("away", os.O_CREAT | os.O_WRONLY)),
            "unfollowed": (lambda: tried("folder/key", os.O_NOFOLLOW)),
            "pinned": (lambda: tried("folder/key", os.O_PATH)),
            "unnamed": (lambda: tried("folder", os.O_TMPFILE | os.O_WRONLY)),
            "not there": (lambda: tried("secret/missing")),
        }
        return {name: way() for name, way in ways.items()}

    outcome = supervised(act, OPENS, guarding(mentions(b"/secret")))
    assert outcome.result.pop("not there") == "ENOENT"
    assert outcome.result == dict.fromkeys(outcome.result, "EPERM")
    assert not (secret / "new").exists()


def test_nothing_of_a_protected_process_is_opened(tmp_path: Path) -> None:
    supervisor = os.getpid()
    (tmp_path / "link").symlink_to(f"/proc/{supervisor}/root")

    def act() -> dict[str, str]:
        parent = f"/proc/{os.getppid()}"
        numbers = range(os.getppid() + 1, os.getppid() + 1000)
        thread = next(n for n in numbers if Path(f"{parent}/task/{n}").exists())
        paths = [
            *(f"{parent}/{name}" for name in ("comm", "mem", "maps", "fd", "fd/1")),
            *(f"{parent}/{name}" for name in ("cwd", "root/etc/passwd", "exe")),
            f"{parent}/task/{thread}/mem",
            f"/proc/{thread}/mem",
            f"/proc/{thread}/root/etc/passwd",
            f"/proc/self/root{parent}/environ",
            f"/proc/self/../{os.getppid()}/fdinfo",
            parent,
        ]
        ways = {"read": os.O_RDONLY, "pin": os.O_PATH, "make": os.O_CREAT}
        return {
            f"{way} {path}": tried(path, flags)
            for path in paths
            for way, flags in ways.items()
        } | {
            path: tried(path)
            for path in (
                "/proc/self/status",
                "/proc/1/stat",
                *(f"{parent}/{name}" for name in ("stat", "status", "cmdline")),
            )
        }

    def protects(_: Kit) -> frozenset[int]:
        return frozenset({os.getpid()})

    outcome = supervised(act, OPENS, guarding(lambda *_: False, protects))
    told = outcome.result
    what_ps_reads = [told.pop(path) for path in list(told) if path[0] == "/"]
    assert what_ps_reads == ["opened"] * 5
    assert {way: code for way, code in told.items() if code != "EPERM"} == {}
    assert outcome.log[1]


@pytest.mark.skipif(os.getuid() != 0, reason="control groups are root's to write to")
def test_a_session_cannot_leave_its_control_group() -> None:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    where = next((each[1] for each in mounts if each[2].startswith("cgroup")), None)
    if where is None:
        pytest.skip("no control groups are mounted")
    file = f"{where}/cgroup.procs"

    def act() -> list[str]:
        ways = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_NOFOLLOW)
        return [tried(file, flags) for flags in (*ways, os.O_WRONLY | os.O_CREAT)]

    outcome = supervised(act, OPENS, guarding(lambda *_: False))
    assert outcome.result == ["opened", "EPERM", "EPERM", "EPERM"]


def test_a_failed_handover_leaves_nothing_made_or_emptied(tmp_path: Path) -> None:
    (tmp_path / "full").write_text("contents")

    def act() -> list[str]:
        free = os.dup(0)  # whatever is open above it, room for it and a few more
        resource.setrlimit(resource.RLIMIT_NOFILE, (free + 9, free + 9))
        taken = [free]
        while True:
            try:
                taken.append(os.dup(0))
            except OSError:
                break
        told = [
            tried(tmp_path / "full"),
            tried(tmp_path / "full", os.O_WRONLY | os.O_TRUNC),
            tried(tmp_path / "full", os.O_WRONLY | os.O_TRUNC | os.O_CREAT),
            tried(tmp_path / "new", os.O_WRONLY | os.O_CREAT),
            tried(tmp_path / "new", os.O_WRONLY | os.O_CREAT | os.O_EXCL),
            tried(tmp_path, os.O_WRONLY | os.O_TMPFILE),
        ]
        os.close(taken.pop())
        return [*told, tried(tmp_path / "new", os.O_WRONLY | os.O_CREAT)]

    outcome = supervised(act, OPENS, guarding(lambda *_: False))
    assert outcome.result == ["EMFILE"] * 6 + ["opened"]
    assert (tmp_path / "full").read_text() == "contents"


def test_a_fifo_that_nobody_opens_holds_up_nobody_else(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")

    def act() -> list[Any]:
        waiting = os.fork()
        if waiting == 0:
            os.open(tmp_path / "fifo", os.O_RDONLY)
            os._exit(9)
        others = [tried("/etc/passwd") for _ in range(200)]
        lost = os.fork()
        if lost == 0:
            os.open(tmp_path / "fifo", os.O_RDONLY)
        os.kill(lost, signal.SIGKILL)
        os.waitpid(lost, 0)
        writing = os.open(tmp_path / "fifo", os.O_WRONLY)
        status = os.waitpid(waiting, 0)[1]
        os.close(writing)
        return [set(others), os.waitstatus_to_exitcode(status)]

    outcome = supervised(act, OPENS, guarding(lambda *_: False))
    assert outcome.result == [{"opened"}, 9]


def test_threads_with_directories_and_files_of_their_own_are_met(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_text("a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "file").write_text("bb")

    def act() -> dict[str, Any]:
        os.chdir(tmp_path / "a")
        os.dup2(os.open("file", os.O_RDONLY), 80)
        seen: dict[str, Any] = {}

        def apart() -> None:
            _LIBRARY.unshare(0x200 | 0x400)  # CLONE_FS, CLONE_FILES
            os.chdir(tmp_path / "b")
            os.dup2(os.open("file", os.O_RDONLY), 80)
            seen["apart"] = _sizes()

        thread = threading.Thread(target=apart)
        thread.start()
        thread.join()
        return seen | {"first": _sizes()}

    outcome = supervised(act, OPENS, guarding(lambda *_: False))
    assert outcome.result == {"apart": [2, 2, 1], "first": [1, 1, 1]}


def _sizes() -> list[int]:
    """What the working directory and a number mean to a thread, and to its first."""
    sizes = []
    for path in ("file", "/proc/thread-self/fd/80", "/proc/self/fd/80"):
        descriptor = os.open(path, os.O_RDONLY)
        sizes.append(os.fstat(descriptor).st_size)
        os.close(descriptor)
    return sizes
