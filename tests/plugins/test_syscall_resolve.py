"""What a path means to the caller of a system call, and what it is called in truth."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from syscall_harness import Kit, supervised

from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.resolve import pin, place
from redlane_context_syscall.target import Target

_AT_FDCWD = -100


def noting(kit: Kit) -> Mapping[str, Handler]:
    """Logs what is found out about each path that is opened, and lets it go on."""

    def openat(notification: Notification) -> Answer:
        target = Target(notification, kit.listener, kit.world)
        dirfd, pointer, flags = notification.args[:3]
        path = target.read_string(pointer)
        seen: list[Any] = [path]
        try:
            pinned = pin(target, dirfd, path, follow=not flags & os.O_NOFOLLOW)
            seen.append(pinned.canonical)
            pinned.close()
        except OSError as error:
            seen.append(error.errno)
        try:
            where = place(target, dirfd, path)
            seen += [where.name, where.canonical]
            where.close()
        except OSError as error:
            seen.append(error.errno)
        kit.log.append(seen)
        return GO_ON

    return {"openat": openat}


def looked_at(tree: Path, *paths: str, follow: bool = True) -> list[list[Any]]:
    """What the supervisor noted of paths that a process in `tree` opened."""

    def act() -> int:
        for path in paths:
            try:
                os.close(os.open(path, 0 if follow else os.O_NOFOLLOW))
            except OSError:
                continue
        return os.getpid()

    def before() -> None:
        os.chdir(tree)
        os.dup2(os.open("file", os.O_RDONLY), 80)
        os.dup2(os.open("gone", os.O_RDWR | os.O_CREAT), 81)
        Path("gone").unlink()
        reading, _ = os.pipe()
        os.dup2(reading, 82)

    outcome = supervised(act, ["openat"], noting, before=before)
    root, pid = os.fsencode(tree), b"%d" % outcome.result

    def named(each: Any) -> Any:
        if not isinstance(each, bytes):
            return each
        return each.replace(root, b"TREE").replace(pid, b"PID").decode()

    return [[named(each) for each in seen] for seen in outcome.log]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("contents")
    (tmp_path / "odd (deleted)").write_text("is there")
    (tmp_path / "dir").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").symlink_to("dir")
    (tmp_path / "self").symlink_to("/proc/self")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "canonical", "name", "where"),
    [
        ("file", "TREE/file", "file", "TREE/file"),
        ("./dir/..//file", "TREE/file", "file", "TREE/file"),
        ("link", "TREE/file", "link", "TREE/link"),
        ("folder", "TREE/dir", "folder", "TREE/folder"),
        ("folder/", "TREE/dir", "folder/", "TREE/folder"),
        ("folder/.", "TREE/dir", ".", "TREE/dir"),
        ("dir/..", "TREE", "..", "TREE"),
        ("folder/new", 2, "new", "TREE/dir/new"),
        ("folder/new//", 2, "new//", "TREE/dir/new"),
        ("file/x", 20, 20, None),
        ("odd (deleted)", "TREE/odd (deleted)", "odd (deleted)", "TREE/odd (deleted)"),
        ("/", "/", "/", "/"),
        ("//", "/", "//", "/"),
        ("/..", "/", "..", "/"),
        ("/etc/../dev/null", "/dev/null", "null", "/dev/null"),
        ("/proc/self/comm", "/proc/PID/comm", "comm", "/proc/PID/comm"),
        ("self/comm", "/proc/PID/comm", "comm", "/proc/PID/comm"),
        ("/proc/self/fd/80", "TREE/file", "80", "/proc/PID/fd/80"),
        ("/dev/fd/80", "TREE/file", "80", "/proc/PID/fd/80"),
        ("/proc/self/fd/81", "TREE/gone", "81", "/proc/PID/fd/81"),
        ("/proc/self/cwd/link", "TREE/file", "link", "TREE/link"),
        ("/proc/thread-self", "/proc/PID/task/PID", "thread-self", "/proc/thread-self"),
    ],
)
def test_a_path_is_pinned_and_placed(
    tree: Path, path: str, canonical: Any, name: Any, where: str | None
) -> None:
    (seen,) = looked_at(tree, path)
    expected = [path, canonical, name]
    assert seen == (expected if name == 20 else [*expected, where])


def test_what_has_no_path_goes_by_the_kernels_name_for_it(tree: Path) -> None:
    ((_, canonical, *_),) = looked_at(tree, "/dev/fd/82")
    assert canonical.startswith("pipe:[")


def test_a_last_link_that_is_not_followed_is_pinned_itself(tree: Path) -> None:
    seen = looked_at(tree, "link", "folder/", "/proc/self", "/dev/fd/80", follow=False)
    assert [each[1] for each in seen] == [
        "TREE/link",
        "TREE/dir",
        "/proc/self",
        "/proc/PID/fd/80",
    ]
