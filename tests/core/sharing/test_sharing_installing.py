"""Policies, roles, trust and lock are put in place together, or not at all."""

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from core.sharing.sharing_samples import KEY, artifact, fetched, needs

from redlane.errors import RedlaneError
from redlane.hubclient import Artifact
from redlane.paths import Paths
from redlane.policies.sources import read_sources
from redlane.sharing.checking import as_planned
from redlane.sharing.errors import RefusedError
from redlane.sharing.installing import install, keep_trust, require_own
from redlane.sharing.journal import alone
from redlane.sharing.lock import read_lock
from redlane.sharing.planning import Plan, plan_pull, plan_removal
from redlane.sharing.trust import Trust, read_trust

TAGS, GIT = artifact("tags@1"), artifact("git@1", *needs("tags@1"))
ADA = Trust().trusting(KEY, "Ada")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.from_environment({"HOME": str(tmp_path)})


def plan_of(
    paths: Paths, roots: str, *found: Artifact, role: str | None = None
) -> Plan:
    lock = read_lock(paths.hub_lock)
    return plan_pull(paths.home, lock, "https://hub", fetched(roots, *found), role)


def carry_out(paths: Paths, plan: Plan, trust: Trust | None = None) -> None:
    with alone(paths):
        install(paths, plan, trust)


def tree(directory: Path) -> dict[str, bytes | None]:
    """Everything below a directory; None for what is no file."""
    return {
        str(each.relative_to(directory)): each.read_bytes() if each.is_file() else None
        for each in directory.rglob("*")
    }


def names_in(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def test_what_was_planned_is_there_afterwards(paths: Paths) -> None:
    plan = plan_of(paths, "git", GIT, TAGS, role="dev")
    carry_out(paths, plan, ADA)
    files = {path: data for path, data in tree(paths.home).items() if data is not None}
    lock, trust = files.pop("hub.lock"), files.pop("hub-trust.json")
    assert (lock, trust) == (plan.lock.as_bytes(), ADA.as_bytes())
    assert files == plan.files
    assert (read_lock(paths.hub_lock), read_trust(paths.hub_trust)) == (plan.lock, ADA)


def test_without_new_trust_the_file_of_it_is_not_written(paths: Paths) -> None:
    carry_out(paths, plan_of(paths, "tags", TAGS))
    assert not paths.hub_trust.exists()


def test_files_of_what_stays_are_what_they_were(paths: Paths) -> None:
    carry_out(paths, plan_of(paths, "git", GIT, TAGS))
    changed, gone = paths.hub_policies / "git.json", paths.hub_policies / "tags.json"
    changed.write_text("mine", encoding="utf-8")
    gone.unlink()
    carry_out(paths, plan_of(paths, "x", artifact("x@1")))
    assert names_in(paths.hub_policies) == ["git.json", "x.json"]
    assert changed.read_text(encoding="utf-8") == "mine"


def test_files_of_what_goes_are_gone(paths: Paths) -> None:
    carry_out(paths, plan_of(paths, "git", GIT, TAGS, role="dev"))
    carry_out(paths, plan_of(paths, "git", artifact("git@2")))
    assert names_in(paths.hub_policies) == ["git.json"]


def test_after_the_last_one_only_the_lock_is_left(paths: Paths) -> None:
    own = paths.policies / "own.json"
    carry_out(paths, plan_of(paths, "git", GIT, TAGS, role="dev"))
    own.write_text("[]", encoding="utf-8")
    carry_out(paths, plan_removal(paths.home, read_lock(paths.hub_lock), ["git"]))
    files = sorted(path for path, data in tree(paths.home).items() if data is not None)
    assert files == ["hub.lock", "policies/own.json"]
    assert not paths.hub_policies.exists()


@pytest.mark.parametrize(
    ("is_system", "modes"), [(False, (0o600, 0o700)), (True, (0o644, 0o755))]
)
def test_only_what_is_the_machines_is_for_everybody(
    paths: Paths,
    is_system: bool,  # noqa: FBT001  # a case
    modes: tuple[int, int],
) -> None:
    paths = replace(paths, is_system=is_system)
    carry_out(paths, plan_of(paths, "git", GIT, TAGS, role="dev"), ADA)
    carry_out(paths, plan_of(paths, "x", artifact("x@1")))
    made = [paths.home, *paths.home.rglob("*")]
    found = {(each.is_dir(), stat.S_IMODE(each.stat().st_mode)) for each in made}
    assert found == {(False, modes[0]), (True, modes[1])}


def test_nothing_is_left_of_what_was_staged(paths: Paths) -> None:
    carry_out(paths, plan_of(paths, "tags", TAGS))
    carry_out(paths, plan_of(paths, "git", GIT, TAGS))
    assert names_in(paths.policies) == ["hub"]


def test_what_is_checked_beforehand_is_what_there_is_afterwards(paths: Paths) -> None:
    plans = [
        lambda: plan_of(paths, "git", GIT, TAGS, role="dev"),
        lambda: plan_of(paths, "x", artifact("x@1")),
        lambda: plan_removal(paths.home, read_lock(paths.hub_lock), {"git"}),
    ]
    for make in plans:
        plan = make()
        planned = read_sources(paths, as_planned(paths, plan))
        carry_out(paths, plan)
        assert read_sources(paths) == planned


def _roles_are_a_file(paths: Paths) -> None:
    paths.roles.write_text("", encoding="utf-8")


def _role_is_a_directory(paths: Paths) -> None:
    (paths.roles / "new.json").mkdir(parents=True)


def _lock_is_a_directory(paths: Paths) -> None:
    paths.hub_lock.unlink(missing_ok=True)
    paths.hub_lock.mkdir()


def _trust_is_a_directory(paths: Paths) -> None:
    paths.hub_trust.mkdir()


FAILING = [
    _roles_are_a_file,
    _role_is_a_directory,
    _lock_is_a_directory,
    _trust_is_a_directory,
]


@pytest.mark.parametrize("before", [(), (GIT, TAGS)], ids=["first", "another"])
@pytest.mark.parametrize("damage", FAILING)
def test_a_write_that_fails_leaves_policies_and_lock_as_they_were(
    paths: Paths, damage: Callable[[Paths], None], before: tuple[Artifact, ...]
) -> None:
    if before:
        carry_out(paths, plan_of(paths, "git", *before))
    plan = plan_of(paths, "new", artifact("new@1"), role="new")
    with alone(paths):
        damage(paths)
        as_it_was = tree(paths.home)
        with pytest.raises(RedlaneError, match=str(paths.home)):
            install(paths, plan, ADA)
    after = tree(paths.home)
    for place in ("policies", "hub.lock"):
        assert {k: v for k, v in after.items() if k.startswith(place)} == {
            k: v for k, v in as_it_was.items() if k.startswith(place)
        }


def test_a_lock_that_cannot_be_written_leaves_roles_and_trust_as_they_were(
    paths: Paths,
) -> None:
    plan = plan_of(paths, "tags", TAGS, role="dev")
    paths.hub_lock.mkdir(parents=True)
    with pytest.raises(RedlaneError):
        carry_out(paths, plan, ADA)
    left = [paths.roles / "dev.json", paths.hub_trust]
    assert [each.name for each in left if each.exists()] == []


def test_a_role_that_cannot_be_removed_leaves_policies_and_lock_as_they_were(
    paths: Paths,
) -> None:
    carry_out(paths, plan_of(paths, "tags", TAGS, role="dev"))
    plan = plan_removal(paths.home, read_lock(paths.hub_lock), ["tags"])
    (paths.roles / "dev.json").unlink()
    (paths.roles / "dev.json").mkdir()
    as_it_was = tree(paths.home)
    with pytest.raises(RedlaneError, match=r"roles/dev\.json"):
        carry_out(paths, plan)
    assert tree(paths.home) == as_it_was


def test_nobody_else_works_in_a_home_meanwhile(paths: Paths) -> None:
    with (
        alone(paths),
        pytest.raises(RedlaneError, match=f"at work in {paths.home}"),
        alone(paths),
    ):
        pytest.fail("there are two")
    with alone(paths):
        assert paths.policies.is_dir()


def test_a_home_is_free_again_after_a_failure(paths: Paths) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), alone(paths):
            raise ZeroDivisionError


def test_who_is_refused_clears_nothing_away(paths: Paths) -> None:
    with alone(paths):
        (paths.policies / ".hub-pull-abc").mkdir()
        with pytest.raises(RedlaneError), alone(paths):
            pytest.fail("there are two")
        assert names_in(paths.policies) == [".hub-pull-abc"]


def test_a_home_that_is_a_file_is_told(paths: Paths) -> None:
    paths.home.write_text("", encoding="utf-8")
    with pytest.raises(RedlaneError, match=str(paths.home)), alone(paths):
        pytest.fail("there is no home")


def test_what_was_cut_short_is_cleared_and_nothing_else(
    paths: Paths, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    for each in (
        elsewhere,
        paths.policies / ".hub-pull-abc",
        paths.policies / ".hub-pull-abc-old",
        paths.policies / ".hub",
        paths.hub_policies,
        paths.policies / "hub-x",
    ):
        each.mkdir(parents=True)
        (each / "a.json").write_text("[]", encoding="utf-8")
    (paths.policies / ".hub-link").symlink_to(elsewhere)
    with alone(paths):
        left = {*names_in(paths.policies)} - {".hub-link"}
    assert left == {".hub", "hub", "hub-x"}
    assert names_in(elsewhere) == ["a.json"]


def _stranger(path: Path) -> None:
    path.write_text("[]", encoding="utf-8")


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


Make = Callable[[Path], None]


@pytest.mark.parametrize("make", [_stranger, _dangling, Path.mkdir, os.mkfifo])
@pytest.mark.parametrize(
    "name", ["own.json", "tags.json", ".own.json.swp", "notes.txt"]
)
def test_a_stranger_among_the_files_of_the_hub_is_refused_and_stays(
    paths: Paths, make: Make, name: str
) -> None:
    carry_out(paths, plan_of(paths, "x", artifact("x@1")))
    make(paths.hub_policies / name)
    plan, as_it_was = plan_of(paths, "tags", TAGS), tree(paths.home)
    with pytest.raises(RefusedError, match=f"{name} did not come from a hub"):
        carry_out(paths, plan)
    with pytest.raises(RefusedError):
        require_own(paths, plan)
    assert tree(paths.home) == as_it_was


@pytest.mark.parametrize("to", ["nowhere", "../elsewhere", "hub"])
def test_a_directory_of_the_hub_that_is_a_link_is_refused(
    paths: Paths, to: str
) -> None:
    paths.policies.mkdir(parents=True)
    (paths.home / "elsewhere").mkdir()
    paths.hub_policies.symlink_to(to)
    with pytest.raises(RefusedError, match="is no directory"):
        carry_out(paths, plan_of(paths, "tags", TAGS))
    assert names_in(paths.home / "elsewhere") == []
    assert not paths.hub_lock.exists()


@pytest.mark.timeout(5)
@pytest.mark.parametrize("make", [_stranger, os.mkfifo])
def test_what_stands_in_the_place_of_the_directory_is_refused_and_stays(
    paths: Paths, make: Make
) -> None:
    paths.policies.mkdir(parents=True)
    make(paths.hub_policies)
    with pytest.raises(RedlaneError, match="hub"):
        carry_out(paths, plan_of(paths, "tags", TAGS))
    assert not paths.hub_policies.is_dir()


@pytest.mark.timeout(5)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_file_that_stays_and_is_none_is_told(paths: Paths, make: Make) -> None:
    carry_out(paths, plan_of(paths, "tags", TAGS))
    (paths.hub_policies / "tags.json").unlink()
    make(paths.hub_policies / "tags.json")
    with pytest.raises(RedlaneError, match="tags"):
        carry_out(paths, plan_of(paths, "x", artifact("x@1")))
    assert names_in(paths.hub_policies) == ["tags.json"]


def test_what_a_crash_left_without_its_lock_is_put_right(paths: Paths) -> None:
    plan = plan_of(paths, "git", GIT, TAGS)
    carry_out(paths, plan)
    as_it_was = tree(paths.home)
    paths.hub_lock.unlink()
    carry_out(paths, plan_of(paths, "git", GIT, TAGS))
    assert tree(paths.home) == as_it_was


def test_what_was_damaged_is_put_right_by_the_same_again(paths: Paths) -> None:
    carry_out(paths, plan_of(paths, "git", GIT, TAGS))
    as_it_was = tree(paths.home)
    (paths.hub_policies / "git.json").write_bytes(b"{")
    (paths.hub_policies / "tags.json").unlink()
    carry_out(paths, plan_of(paths, "git", GIT, TAGS))
    assert tree(paths.home) == as_it_was


def test_trusted_keys_are_kept(paths: Paths) -> None:
    keep_trust(paths, ADA)
    assert read_trust(paths.hub_trust) == ADA


def test_trusted_keys_that_cannot_be_kept_are_told(paths: Paths) -> None:
    paths.hub_trust.mkdir(parents=True)
    with pytest.raises(RedlaneError, match="hub-trust"):
        keep_trust(paths, ADA)
