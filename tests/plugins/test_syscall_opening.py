"""Opens done by the supervisor are what they would be without one."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from syscall_harness import NOBODY, Decisions, Kit, become, forked, supervised
from syscall_opens import Opens, make_tree
from syscall_trees import SHARES

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.opening import Opening

OPENS = ("open", "openat", "creat")
IS_ROOT = os.geteuid() == 0
USERS = [
    pytest.param(0, id="root", marks=pytest.mark.skipif(not IS_ROOT, reason="no root")),
    pytest.param(NOBODY if IS_ROOT else None, id="ordinary user"),
]


@pytest.fixture
def everybodys() -> Iterator[Path]:
    """A directory that any user may reach, and that is everybody's."""
    path = Path(tempfile.mkdtemp(prefix="redlane-"))
    path.chmod(0o777)
    yield path
    remove(path)


def remove(tree: Path) -> None:
    """Remove directories that even their owner may not look into."""
    for directory in tree.rglob("*-dir"):
        if not directory.is_symlink() and directory.is_dir():
            directory.chmod(0o700)
    shutil.rmtree(tree)


def allowing(kit: Kit) -> Mapping[str, Handler]:
    decisions = Decisions()
    kit.log.append(decisions.asked)
    opening = Opening(kit.listener, kit.world, decisions, blocking=kit.blocking)
    return opening.handlers()


def differences(native: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    assert native.keys() == other.keys()
    return [
        f"{key}: natively {told}, supervised {other[key]}"
        for key, told in native.items()
        if told != other[key]
    ]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("user", USERS)
def test_every_open_is_what_it_would_be_natively(
    everybodys: Path, user: int | None, share: int
) -> None:
    tree = everybodys / "tree"
    opens = Opens(tree, share)

    def prepare() -> None:
        make_tree(tree)
        opens.prepare()

    def natively() -> dict[str, Any]:
        prepare()
        return opens.run()

    native: dict[str, Any] = forked(natively, user=user)
    remove(tree)
    outcome = supervised(opens.run, OPENS, allowing, user=user, before=prepare)
    wrong = differences(native, outcome.result)
    assert not wrong, f"{len(wrong)} of {len(native)}:\n" + "\n".join(wrong[:40])


@pytest.mark.root
@pytest.mark.skipif(not IS_ROOT, reason="changes its user")
@pytest.mark.parametrize("share", SHARES)
def test_a_process_that_has_changed_its_user_opens_as_that_user(
    everybodys: Path, share: int
) -> None:
    tree = everybodys / "tree"
    opens = Opens(tree, share)

    def prepare() -> None:
        make_tree(tree)
        opens.prepare()

    def changed() -> dict[str, Any]:
        become(NOBODY)
        return opens.run()

    def natively() -> dict[str, Any]:
        prepare()
        return changed()

    def apart(kit: Kit) -> Mapping[str, Handler]:
        kit.world.credentials_differ = True
        return allowing(kit)

    native: dict[str, Any] = forked(natively)
    remove(tree)
    outcome = supervised(changed, OPENS, apart, before=prepare)
    wrong = differences(native, outcome.result)
    assert not wrong, f"{len(wrong)} of {len(native)}:\n" + "\n".join(wrong[:40])
