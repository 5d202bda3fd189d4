"""What was cut short is finished or undone by whoever comes next, and nothing else is.

Two artifacts are here, a role is made of one of them, and a third one comes.
"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import simple
from core.sharing.sharing_samples import KEY, NEW_KEY, artifact, fetched, needs

from redlane.hubclient import Artifact
from redlane.paths import Paths
from redlane.sharing.documents import digest_of
from redlane.sharing.installing import install
from redlane.sharing.journal import alone, is_cut_short
from redlane.sharing.lock import read_lock
from redlane.sharing.planning import Plan, plan_pull
from redlane.sharing.trust import Trust
from redlane.sharing.verifying import differences

GIT, TAGS = artifact("git@1", *needs("tags@1")), artifact("tags@1")
NEXT = artifact("git@2", *needs("new@1"), content=[simple("git-2")]), artifact("new@1")
ADA = Trust().trusting(KEY, "Ada")
EVE = ADA.trusting(NEW_KEY, "Eve")
JOURNAL = ".hub-journal"
Tree = dict[str, bytes | None]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A home that something has come to."""
    found = Paths.from_environment({"HOME": str(tmp_path / "user")})
    pull(found, plan_of(found, "git", GIT, TAGS, role="dev"), ADA)
    return found


@pytest.fixture
def before(paths: Paths) -> Tree:
    """All that was there."""
    return tree(paths.home)


@pytest.fixture
def whole(paths: Paths, before: Tree, tmp_path: Path) -> Path:
    """Another home like it, which the next pull was not cut short in."""
    shutil.copytree(paths.home, tmp_path / "whole/.redlane")
    copy = Paths.from_environment({"HOME": str(tmp_path / "whole")})
    pull(copy, next_plan(copy), EVE)
    assert tree(copy.home) != before
    return copy.home


def plan_of(
    paths: Paths, roots: str, *found: Artifact, role: str | None = None
) -> Plan:
    lock = read_lock(paths.hub_lock)
    return plan_pull(paths.home, lock, "https://hub", fetched(roots, *found), role)


def next_plan(paths: Paths) -> Plan:
    return plan_of(paths, "git", *NEXT)


def pull(paths: Paths, plan: Plan, trust: Trust | None) -> None:
    with alone(paths):
        install(paths, plan, trust)


def mend(paths: Paths) -> None:
    """What the next command that changes something begins with."""
    with alone(paths):
        pass


def tree(directory: Path) -> Tree:
    """Everything below a directory; None for what is no file."""
    return {
        str(each.relative_to(directory)): each.read_bytes() if each.is_file() else None
        for each in directory.rglob("*")
    }


def noted(paths: Paths, value: object) -> Path:
    """A journal in a home: bytes as they are, and JSON of all else."""
    file = paths.policies / JOURNAL
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    return file


def files_of(home: Path) -> dict[str, str]:
    """What a pull notes before it changes anything: all but the policies."""
    found = ("roles/dev.json", "hub-trust.json", "hub.lock")
    return {each: (home / each).read_text() for each in found}


def journal_of(files: object) -> dict[str, object]:
    return {"version": 1, "files": files}


def swapped(paths: Paths, whole: Path) -> None:
    """Give a home the policies of the other, as they are after the swap."""
    paths.hub_policies.rename(paths.policies / ".hub-pull-abc")
    shutil.copytree(whole / "policies/hub", paths.hub_policies)


def test_what_was_cut_short_after_the_swap_is_finished(
    paths: Paths, whole: Path
) -> None:
    noted(paths, journal_of(files_of(whole)))
    swapped(paths, whole)
    assert is_cut_short(paths)
    mend(paths)
    assert not is_cut_short(paths)
    assert tree(paths.home) == tree(whole)


def test_what_was_finished_in_part_is_finished_as_a_whole(
    paths: Paths, whole: Path
) -> None:
    noted(paths, journal_of(files_of(whole)))
    swapped(paths, whole)
    shutil.copy(whole / "roles/dev.json", paths.roles)
    mend(paths)
    assert tree(paths.home) == tree(whole)


def test_role_that_was_to_go_is_gone_once_it_is_finished(
    paths: Paths, whole: Path
) -> None:
    noted(paths, journal_of({**files_of(whole), "roles/dev.json": None}))
    swapped(paths, whole)
    mend(paths)
    assert not (paths.roles / "dev.json").exists()


def test_what_was_cut_short_before_the_swap_is_undone(
    paths: Paths, before: Tree, whole: Path
) -> None:
    noted(paths, journal_of(files_of(whole)))
    shutil.copytree(whole / "policies/hub", paths.policies / ".hub-pull-abc")
    assert is_cut_short(paths)
    mend(paths)
    assert not is_cut_short(paths)
    assert tree(paths.home) == before


def test_first_one_that_was_cut_short_before_the_swap_is_undone(
    paths: Paths, whole: Path, tmp_path: Path
) -> None:
    empty = Paths.from_environment({"HOME": str(tmp_path / "empty")})
    mend(empty)
    noted(empty, journal_of(files_of(whole)))
    mend(empty)
    assert (tree(empty.home), is_cut_short(paths)) == ({"policies": None}, False)


def test_whoever_comes_next_sees_what_was_finished(paths: Paths, whole: Path) -> None:
    noted(paths, journal_of(files_of(whole)))
    swapped(paths, whole)
    mend(paths)
    pull(paths, plan_of(paths, "x", artifact("x@1")), None)
    lock = read_lock(paths.hub_lock)
    assert {*lock.artifacts} == {"git", "new", "x"}
    assert [*differences(paths, lock)] == []


@pytest.mark.parametrize("is_swapped", [True, False])
def test_role_that_was_edited_since_it_was_cut_short_is_not_lost(
    paths: Paths,
    whole: Path,
    is_swapped: bool,  # noqa: FBT001  # a case
) -> None:
    role = paths.roles / "dev.json"
    before = {"roles/dev.json": digest_of(role.read_bytes()) if role.exists() else None}
    noted(paths, {**journal_of(files_of(whole)), "before": before})
    if is_swapped:
        swapped(paths, whole)
    role.write_text('{"name": "dev", "policies": ["mine"]}')
    mend(paths)
    assert "mine" in role.read_text()


def test_whoever_only_looks_finishes_nothing(paths: Paths, whole: Path) -> None:
    noted(paths, journal_of(files_of(whole)))
    swapped(paths, whole)
    as_it_was = tree(paths.home)
    assert is_cut_short(paths)
    read_lock(paths.hub_lock)
    assert tree(paths.home) == as_it_was


@pytest.mark.parametrize("is_new_there", [True, False])
def test_directory_that_stands_aside_is_put_back_or_away(
    paths: Paths,
    before: Tree,
    whole: Path,
    is_new_there: bool,  # noqa: FBT001  # a case
) -> None:
    noted(paths, journal_of(files_of(whole)))
    made, aside = paths.policies / ".hub-pull-abc", paths.policies / ".hub.aside"
    shutil.copytree(whole / "policies/hub", made)
    paths.hub_policies.rename(aside)
    if is_new_there:
        made.rename(paths.hub_policies)
    mend(paths)
    assert tree(paths.home) == (tree(whole) if is_new_there else before)


OWN = (".hub-backup", ".hub-old", ".hub", "hub-2", ".hub.aside.mine", ".hub-journal-2")


@pytest.mark.parametrize("name", OWN)
def test_directory_of_ones_own_stays(paths: Paths, whole: Path, name: str) -> None:
    own = paths.policies / name
    own.mkdir()
    (own / "a.json").write_text("[]")
    noted(paths, journal_of(files_of(whole)))
    mend(paths)
    pull(paths, next_plan(paths), EVE)
    assert (own / "a.json").read_text() == "[]"


def without_lock(files: dict[str, str]) -> object:
    return {k: each for k, each in files.items() if k != "hub.lock"}


def also(path: str) -> Callable[[dict[str, str]], object]:
    return lambda files: {path: "evil", **files}


def with_lock(text: Any) -> Callable[[dict[str, str]], object]:
    return lambda files: {**files, "hub.lock": text}


HOSTILE: dict[str, Callable[[dict[str, str]], object]] = {
    "path above": also("../evil"),
    "path above by a role": also("roles/../../evil"),
    "path above by a name of a role": also("roles/../evil.json"),
    "hidden role": also("roles/.evil.json"),
    "role below": also("roles/a/evil.json"),
    "absolute": also("/tmp/evil.json"),
    "policy": also("policies/hub/x.json"),
    "policy of ones own": also("policies/x.json"),
    "settings": also("settings.json"),
    "line end": also("hub.lock\n"),
    "nothing": also(""),
    "no lock": without_lock,
    "lock that is to go": with_lock(None),
    "lock that is none": with_lock("{}"),
    "lock that is no JSON": with_lock("{"),
    "lock that is an array": with_lock("[]"),
    "lock that is a number": with_lock(1),
    "lock in half a letter": with_lock("\ud800"),
    "number for a text": lambda files: {**files, "roles/dev.json": 1},
    "array": lambda files: [*files],
    "text": lambda _: "hub.lock",
    "null": lambda _: None,
    "none": lambda _: {},
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_journal_that_is_not_ours_changes_nothing_and_goes(
    paths: Paths, whole: Path, make: Callable[[dict[str, str]], object]
) -> None:
    swapped(paths, whole)
    shutil.rmtree(paths.policies / ".hub-pull-abc")
    before = tree(paths.home.parent)
    noted(paths, journal_of(make(files_of(whole))))
    mend(paths)
    assert not is_cut_short(paths)
    assert tree(paths.home.parent) == before


DAMAGED: dict[str, object] = {
    "empty": b"",
    "no JSON": b"{",
    "no UTF-8": b"\xff",
    "zeros": bytes(512),
    "deep": b"[" * 100_000,
    "another version": {"version": 2, "files": {}},
    "no files": {"version": 1},
    "number": 1,
    "array": [],
}


@pytest.mark.parametrize("value", DAMAGED.values(), ids=DAMAGED)
def test_damaged_journal_changes_nothing_and_goes(
    paths: Paths, before: Tree, value: object
) -> None:
    noted(paths, value)
    mend(paths)
    assert tree(paths.home) == before


@pytest.mark.timeout(5)
@pytest.mark.parametrize("to", ["nowhere", "../settings.json", ".hub-journal"])
def test_journal_that_is_a_link_changes_nothing_and_goes(
    paths: Paths, before: Tree, to: str
) -> None:
    (paths.policies / JOURNAL).symlink_to(to)
    mend(paths)
    assert tree(paths.home) == before


@pytest.mark.timeout(5)
def test_journal_that_is_a_pipe_changes_nothing_and_goes(
    paths: Paths, before: Tree
) -> None:
    os.mkfifo(paths.policies / JOURNAL)
    mend(paths)
    assert tree(paths.home) == before
