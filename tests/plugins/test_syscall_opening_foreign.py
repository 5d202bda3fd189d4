"""Opens of processes that have gone to another root or namespace."""

import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from syscall_harness import Decisions, Kit, supervised

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.opening import Opening

OPENS = ("open", "openat", "creat")
_NEW_MOUNTS = 0x00020000
_LIBRARY = ctypes.CDLL(None, use_errno=True)

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="changes its root directory"),
]


def abroad(*, allowed: bool) -> Callable[[Kit], Mapping[str, Handler]]:
    def handlers(kit: Kit) -> Mapping[str, Handler]:
        def refuses(_: str, paths: tuple[bytes | None, ...]) -> bool:
            return any(each is None or b"secret" in each for each in paths)

        kit.world.allows_namespaces = allowed
        kit.world.note_namespaces()
        decisions = Decisions(refuses)
        kit.log += [decisions.asked, decisions.unfaithful]
        opening = Opening(kit.listener, kit.world, decisions, blocking=kit.blocking)
        return opening.handlers()

    return handlers


def tried(path: str, flags: int = os.O_RDONLY) -> str:
    try:
        os.close(os.open(path, flags))
    except OSError as error:
        return os.strerror(error.errno or 0)
    return "opened"


@pytest.fixture
def jail(tmp_path: Path) -> Path:
    (tmp_path / "plain").write_text("plain")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to("/secret")
    (tmp_path / "new").symlink_to("secret-new")
    return tmp_path


def leave(jail: Path) -> None:
    assert not _LIBRARY.unshare(_NEW_MOUNTS)
    os.chroot(jail)
    os.chdir("/")


def test_a_process_with_another_root_opens_nothing(jail: Path) -> None:
    def act() -> list[str]:
        before = tried(str(jail / "plain"))
        os.chroot(jail)
        return [before, tried("/plain"), tried("plain")]

    outcome = supervised(act, OPENS, abroad(allowed=False))
    assert outcome.result == ["opened", *["Operation not permitted"] * 2]
    assert set(outcome.log[1]) == {"its process has another root directory"}


def test_a_role_with_namespaces_has_such_opens_judged_and_left_to_the_kernel(
    jail: Path,
) -> None:
    def act() -> dict[str, str]:
        leave(jail)
        paths = ("/plain", "plain", "../plain", "/missing", "/secret", "secret", "link")
        made = {"made": tried("made", os.O_CREAT), "new": tried("new", os.O_CREAT)}
        return {path: tried(path) for path in paths} | made

    outcome = supervised(act, OPENS, abroad(allowed=True))
    refused = "Operation not permitted"
    assert outcome.result == {
        "/plain": "opened",
        "plain": "opened",
        "../plain": "opened",
        "/missing": "No such file or directory",
        "/secret": refused,
        "secret": refused,
        "link": refused,
        "made": "opened",
        "new": refused,
    }
