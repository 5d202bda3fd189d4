"""Whoever presses Ctrl-C while things are put in place leaves all as it was.

Two artifacts are here, a role is made of one of them, and a third one comes.
"""

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import simple
from core.sharing.sharing_samples import KEY, NEW_KEY, artifact, fetched, needs

from redlane.atomic import aside_of
from redlane.hubclient import Artifact
from redlane.paths import Paths
from redlane.sharing import installing, journal
from redlane.sharing.installing import install
from redlane.sharing.journal import alone, is_cut_short
from redlane.sharing.lock import read_lock
from redlane.sharing.planning import Plan, plan_pull
from redlane.sharing.trust import Trust

FIRST = artifact("git@1", *needs("tags@1")), artifact("tags@1")
NEXT = artifact("git@2", *needs("new@1"), content=[simple("git-2")]), artifact("new@1")
ADA = Trust().trusting(KEY, "Ada")
EVE = ADA.trusting(NEW_KEY, "Eve")
Tree = dict[str, bytes | None]
Step = tuple[tuple[Any, str], int, bool]
"""A function, the how maniest call of it, and whether Ctrl-C comes after it."""


@pytest.fixture
def empty(tmp_path: Path) -> Paths:
    return Paths.from_environment({"HOME": str(tmp_path)})


@pytest.fixture
def paths(empty: Paths) -> Paths:
    """A home that something has come to."""
    with alone(empty):
        install(empty, plan_of(empty, *FIRST), ADA)
    return empty


def plan_of(paths: Paths, *found: Artifact) -> Plan:
    lock = read_lock(paths.hub_lock)
    role = None if lock.artifacts else "dev"
    return plan_pull(paths.home, lock, "https://hub", fetched("git", *found), role)


def tree(directory: Path) -> Tree:
    """Everything below a directory; None for what is no file."""
    return {
        str(each.relative_to(directory)): each.read_bytes() if each.is_file() else None
        for each in directory.rglob("*")
    }


def interrupted(step: Step) -> Callable[..., Any]:
    """A function at whose call, before or after it, Ctrl-C is pressed."""
    place, nth, is_after = step
    function, calls = getattr(*place), count(1)

    def call(*arguments: Any, **named: Any) -> Any:
        is_it = next(calls) == nth
        done = None if is_it and not is_after else function(*arguments, **named)
        if is_it:
            raise KeyboardInterrupt
        return done

    return call


def press(paths: Paths, step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the next pull interrupted, and what comes after it begin."""
    plan = plan_of(paths, *(NEXT if paths.hub_lock.exists() else FIRST))
    with alone(paths), monkeypatch.context() as patch:
        patch.setattr(*step[0], interrupted(step))
        with pytest.raises(KeyboardInterrupt):
            install(paths, plan, EVE)
    with alone(paths):
        pass
    assert not is_cut_short(paths)


def exchanged(one: Path, other: Path) -> None:
    """What is done where a file system cannot exchange two directories."""
    aside = aside_of(other)
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


WRITE, SWAP, FLUSH = (journal, "write"), (installing, "_swap"), (installing, "_flush")
SYNC = (os, "fsync")
STEPS: dict[str, Step] = {
    "while it is staged": (FLUSH, 1, False),
    "before the journal": (WRITE, 1, False),
    "after the journal": (WRITE, 1, True),
    "before the swap": (SWAP, 1, False),
    "at the end of the swap": (SWAP, 1, True),
    "after the swap": (FLUSH, 3, False),
    "before the role": (WRITE, 2, False),
    "after the role": (WRITE, 2, True),
    "after the trust": (WRITE, 3, True),
    "before the lock": (WRITE, 4, False),
    "after the lock": (WRITE, 4, True),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_ctrl_c_at_any_step_leaves_all_as_it_was(
    paths: Paths, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(paths.home)
    press(paths, step, monkeypatch)
    assert tree(paths.home) == before


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_ctrl_c_at_any_step_of_the_first_pull_leaves_no_file(
    empty: Paths, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(empty, step, monkeypatch)
    assert {*tree(empty.home)} <= {"policies", "roles"}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_ctrl_c_leaves_all_as_it_was_where_directories_cannot_be_exchanged(
    paths: Paths, step: Step, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(paths.home)
    monkeypatch.setattr(installing, "exchange", exchanged)
    press(paths, step, monkeypatch)
    assert tree(paths.home) == before


RENAMES = {"old one is aside": 1, "new one is there": 2, "old one is to go": 3}


@pytest.mark.parametrize("nth", RENAMES.values(), ids=RENAMES)
def test_ctrl_c_between_the_names_of_an_exchange_leaves_all_as_it_was(
    paths: Paths, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(paths.home)
    monkeypatch.setattr(installing, "exchange", exchanged)
    press(paths, ((Path, "rename"), nth, True), monkeypatch)
    assert tree(paths.home) == before


AMID = {"journal": 3, "role": 5, "trust": 6, "lock": 7}
"""Two staged files come first, and the directory before the role."""


@pytest.mark.parametrize("nth", AMID.values(), ids=AMID)
def test_ctrl_c_amid_a_file_leaves_no_half_of_it(
    paths: Paths, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(paths.home)
    press(paths, (SYNC, nth, False), monkeypatch)
    assert tree(paths.home) == before
