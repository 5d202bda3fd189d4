"""Whether the files that came from a hub are what they were."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from core.sharing.sharing_samples import artifact, fetched, locked, needs

from redlane.model.problem import Severity
from redlane.paths import Paths
from redlane.policies.files import LARGEST
from redlane.sharing.installing import install
from redlane.sharing.journal import alone
from redlane.sharing.lock import Lock, read_lock
from redlane.sharing.planning import plan_pull
from redlane.sharing.verifying import differences, findings_of


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    """A home with two artifacts and a role."""
    paths = Paths.from_environment({"HOME": str(tmp_path)})
    found = fetched("git", artifact("git@1", *needs("tags@1")), artifact("tags@1"))
    plan = plan_pull(paths.home, Lock(), "https://hub", found, "dev")
    with alone(paths):
        install(paths, plan, None)
    return paths


def told(paths: Paths) -> list[tuple[str, str]]:
    """What is wrong, by paths within the home."""
    found = differences(paths, read_lock(paths.hub_lock))
    return [(str(Path(file).relative_to(paths.home)), why) for file, why in found]


def _change(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _dangle(file: Path) -> None:
    file.unlink()
    file.symlink_to("nowhere")


def _circle(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.name)


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _grow(file: Path) -> None:
    os.truncate(file, LARGEST + 1)


GONE = "cannot be read: it is gone, or a symbolic link to nothing"
DAMAGE = {
    "gone": (Path.unlink, GONE),
    "changed": (_change, "is not what was pulled: somebody has changed it"),
    "emptied": (_empty, "is not what was pulled: somebody has changed it"),
    "directory": (_directory, "not a file but a directory"),
    "dangling link": (_dangle, "cannot be read: it is gone, or a symbolic link to"),
    "link circle": (_circle, "cannot be read: the symbolic links lead in a circle"),
    "pipe": (_pipe, "not a file but a named pipe"),
    "too large": (_grow, "larger than 16 MiB"),
}


def test_what_was_pulled_and_not_touched_is_the_same(paths: Paths) -> None:
    assert told(paths) == []
    assert findings_of(paths) == []


def test_a_home_without_a_lock_has_nothing_to_compare(tmp_path: Path) -> None:
    assert findings_of(Paths.from_environment({"HOME": str(tmp_path)})) == []


@pytest.mark.parametrize("file", ["policies/hub/tags.json", "roles/dev.json"])
@pytest.mark.parametrize(("damage", "says"), DAMAGE.values(), ids=DAMAGE)
def test_each_file_that_is_another_is_told(
    paths: Paths, damage: Callable[[Path], None], says: str, file: str
) -> None:
    damage(paths.home / file)
    ((where, why),) = told(paths)
    assert where == file
    assert why.startswith(says)


def test_a_link_to_the_same_content_is_the_same(paths: Paths) -> None:
    file = paths.hub_policies / "tags.json"
    file.rename(paths.home / "aside")
    file.symlink_to(paths.home / "aside")
    assert told(paths) == []


@pytest.mark.parametrize("name", ["own.json", "dev.json", "notes.txt", ".hidden"])
def test_what_did_not_come_from_a_hub_is_told(paths: Paths, name: str) -> None:
    (paths.hub_policies / name).write_text("[]", encoding="utf-8")
    assert told(paths) == [(f"policies/hub/{name}", "did not come from a hub")]


def test_roles_of_ones_own_are_nothing_to_tell(paths: Paths) -> None:
    (paths.roles / "own.json").write_text("{}", encoding="utf-8")
    assert told(paths) == []


def test_without_a_directory_all_of_its_files_are_gone(paths: Paths) -> None:
    paths.hub_policies.rename(paths.home / "aside")
    assert told(paths) == [
        ("policies/hub/git.json", GONE),
        ("policies/hub/tags.json", GONE),
    ]


def test_a_lock_that_misses_what_is_needed_is_told(paths: Paths) -> None:
    lock = read_lock(paths.hub_lock)
    broken = replace(lock, artifacts={"x": locked(needed={"gone": "1"})})
    paths.hub_lock.write_bytes(
        replace(lock, artifacts={**lock.artifacts, **broken.artifacts}).as_bytes()
    )
    assert told(paths) == [("hub.lock", "x needs gone, which is not in it")]


def test_policies_that_the_lock_does_not_know_yet_are_told(paths: Paths) -> None:
    found = fetched("git", artifact("git@2", content=[{"id": "new"}]))
    plan = plan_pull(paths.home, read_lock(paths.hub_lock), "https://hub", found)
    before = paths.hub_lock.read_bytes()
    install(paths, plan, None)
    paths.hub_lock.write_bytes(before)
    assert [file for file, _ in told(paths)] == [
        "policies/hub/git.json",
        "policies/hub/tags.json",
        "roles/dev.json",
    ]


def test_findings_are_warnings_with_their_files(paths: Paths) -> None:
    (paths.hub_policies / "tags.json").unlink()
    (finding,) = findings_of(paths)
    assert (finding.severity, finding.subject) == (Severity.WARNING, "")
    assert finding.file == str(paths.hub_policies / "tags.json")
    assert finding.message == GONE


@pytest.mark.parametrize("data", [b"{", json.dumps({"version": 2}).encode()])
def test_a_lock_that_does_not_load_is_one_finding(paths: Paths, data: bytes) -> None:
    paths.hub_lock.write_bytes(data)
    (finding,) = findings_of(paths)
    assert finding.file == str(paths.hub_lock)
    assert finding.message
    assert str(paths.home) not in finding.message
