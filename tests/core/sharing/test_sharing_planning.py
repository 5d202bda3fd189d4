"""What a pull or a removal comes to is known before anything is done."""

import json
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import simple
from core.sharing.sharing_samples import (
    KEY,
    artifact,
    digest,
    fetched,
    lock_of,
    needs,
)

from redlane.errors import LoadError
from redlane.hubclient import Artifact
from redlane.sharing.documents import digest_of
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock
from redlane.sharing.planning import Plan, plan_pull, plan_removal

HUB = "https://hub.example"
TAGS, GIT = artifact("tags@1", key=KEY), artifact("git@1", *needs("tags@1"))
TEAM = artifact("team@1", *needs("git@1"), content=None, artifact_type="set")
ALL = TEAM, GIT, TAGS


def pulled(
    home: Path, roots: str, *found: Artifact, lock: Lock | None = None, **role: str
) -> Plan:
    """A plan, and its files where they belong."""
    plan = plan_pull(home, lock or Lock(), HUB, fetched(roots, *found), **role)
    for path, data in plan.files.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_bytes(data)
    return plan


def versions(plan: Plan) -> dict[str, tuple[str | None, str | None]]:
    """What changes of artifacts."""
    return {e.name: (e.before, e.after) for e in plan.changes if e.is_any}


def role(home: Path, name: str) -> Any:
    return json.loads((home / "roles" / f"{name}.json").read_bytes())


def test_each_artifact_with_policies_becomes_a_file_that_the_lock_knows(
    tmp_path: Path,
) -> None:
    plan = plan_pull(tmp_path, Lock(), HUB, fetched("team", *ALL))
    assert {*plan.files} == {"policies/hub/git.json", "policies/hub/tags.json"}
    assert plan.lock.files == {path: digest(data) for path, data in plan.files.items()}
    assert json.loads(plan.files["policies/hub/tags.json"]) == [simple("tags-policy")]


def test_nothing_is_written_by_a_plan(tmp_path: Path) -> None:
    plan_pull(tmp_path, Lock(), HUB, fetched("team", *ALL), "dev")
    assert [*tmp_path.iterdir()] == []


def test_the_lock_tells_what_the_hub_told(tmp_path: Path) -> None:
    lock = plan_pull(tmp_path, Lock(), HUB, fetched("team", *ALL)).lock
    tags = lock.artifacts["tags"]
    assert (lock.hub, [*lock.artifacts]) == (HUB, ["git", "tags", "team"])
    assert (tags.version, tags.content_hash) == ("1", TAGS.content_hash)
    assert tags.key_fingerprint == KEY
    assert lock.artifacts["team"].dependencies == {"git": "1"}


def test_the_key_of_what_is_not_signed_is_not_locked(tmp_path: Path) -> None:
    found = artifact("a@1", key_fingerprint="nonsense")
    plan = plan_pull(tmp_path, Lock(), HUB, fetched("a", found))
    assert plan.lock.artifacts["a"].key_fingerprint is None


def test_what_is_not_required_and_not_there_is_not_needed(tmp_path: Path) -> None:
    found = artifact("a@1", *needs("tags@1", required=False))
    plan = plan_pull(tmp_path, Lock(), HUB, fetched("a", found))
    assert plan.lock.artifacts["a"].dependencies == {}
    assert [*plan.lock.artifacts] == ["a"]


@pytest.mark.parametrize("content", [[], None, [{"type": "Simple"}]])
def test_an_artifact_without_policies_is_an_error(
    tmp_path: Path, content: object
) -> None:
    with pytest.raises(LoadError, match="a@1 holds no policies"):
        plan_pull(tmp_path, Lock(), HUB, fetched("a", artifact("a@1", content=content)))


def test_what_is_here_stays_beside_what_comes(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL)
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("x", artifact("x@1")))
    assert [*plan.lock.artifacts] == ["git", "tags", "team", "x"]
    assert [*plan.files] == ["policies/hub/x.json"]
    assert versions(plan) == {"x": (None, "1")}


def test_the_same_again_is_no_change(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL)
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("team", *ALL))
    assert plan.lock == before.lock
    assert versions(plan) == {}


def test_what_a_newer_version_does_not_need_goes(tmp_path: Path) -> None:
    before = pulled(tmp_path, "git", GIT, TAGS)
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("git", artifact("git@2")))
    assert [*plan.lock.artifacts] == ["git"]
    assert versions(plan) == {"git": ("1", "2"), "tags": ("1", None)}


def test_policies_that_come_and_go_are_told(tmp_path: Path) -> None:
    old = [simple("kept"), simple("other", "x"), simple("gone")]
    new = [simple("kept"), simple("other", "y"), simple("new")]
    before = pulled(tmp_path, "a", artifact("a@1", content=old))
    found = artifact("a@2", content=new, key=KEY, owner="bob@example.org")
    (change,) = plan_pull(tmp_path, before.lock, HUB, fetched("a", found)).changes
    assert (change.key, change.owner) == (KEY, "bob@example.org")
    assert [[*change.added], [*change.removed], [*change.changed]] == [
        ["new"],
        ["gone"],
        ["other"],
    ]


@pytest.mark.parametrize("data", [None, b"", b"{", b"\xff", b"[1]", b'[{"id": 7}]'])
def test_a_file_that_was_damaged_holds_no_policies(
    tmp_path: Path, data: bytes | None
) -> None:
    before = pulled(tmp_path, "tags", TAGS)
    file = tmp_path / "policies/hub/tags.json"
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    (change,) = plan_pull(tmp_path, before.lock, HUB, fetched("tags", TAGS)).changes
    assert [*change.added] == ["tags-policy"]


def test_another_version_than_what_is_here_needs_is_refused(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL)
    with pytest.raises(RefusedError, match=r"git@1 needs tags@1, and it would be 2"):
        plan_pull(tmp_path, before.lock, HUB, fetched("tags", artifact("tags@2")))


def test_what_needs_each_other_stays_beside_what_comes(tmp_path: Path) -> None:
    one, two = artifact("one@1", *needs("two@1")), artifact("two@1", *needs("one@1"))
    before = pulled(tmp_path, "one", one, two)
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("tags", TAGS))
    assert [*plan.lock.artifacts] == ["one", "tags", "two"]


def test_what_needs_itself_stays_beside_what_comes(tmp_path: Path) -> None:
    before = pulled(tmp_path, "one", artifact("one@1", *needs("one@1")))
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("tags", TAGS))
    assert [*plan.lock.artifacts] == ["one", "tags"]


def test_a_role_has_all_policies_that_its_artifact_comes_to(tmp_path: Path) -> None:
    plan = pulled(tmp_path, "team", *ALL, as_role="dev")
    assert role(tmp_path, "dev") == {
        "name": "dev",
        "policies": ["git-policy", "tags-policy"],
    }
    assert plan.lock.artifacts["team"].role_files == ["roles/dev.json"]


def test_a_role_follows_its_artifact(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL, as_role="dev")
    newer = artifact("team@2", content=[simple("new")])
    after = pulled(tmp_path, "team", newer, lock=before.lock)
    assert role(tmp_path, "dev")["policies"] == ["new"]
    assert "roles/dev.json" in after.lock.files


def test_an_artifact_may_be_several_roles(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="one")
    after = pulled(tmp_path, "tags", TAGS, lock=before.lock, as_role="two")
    assert after.lock.artifacts["tags"].role_files == [
        "roles/one.json",
        "roles/two.json",
    ]


def test_the_same_role_again_is_no_change(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    after = pulled(tmp_path, "tags", TAGS, lock=before.lock, as_role="dev")
    assert after.lock == before.lock


def test_a_role_that_somebody_has_changed_is_kept_and_told(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    (tmp_path / "roles/dev.json").write_text("mine", encoding="utf-8")
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("tags", artifact("tags@2")))
    assert plan.kept_roles == ("roles/dev.json",)
    assert {*plan.lock.files} == {*plan.files} == {"policies/hub/tags.json"}


def test_a_role_that_somebody_has_removed_does_not_come_back(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    (tmp_path / "roles/dev.json").unlink()
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("tags", artifact("tags@2")))
    assert plan.kept_roles == ()
    assert {*plan.lock.files} == {*plan.files} == {"policies/hub/tags.json"}


def _own(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")


def _link(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_own, _link, Path.mkdir])
def test_a_role_of_another_is_not_overwritten(tmp_path: Path, make: Any) -> None:
    (tmp_path / "roles").mkdir()
    make(tmp_path / "roles/dev.json")
    with pytest.raises(RefusedError, match=r"roles/dev\.json is there already"):
        plan_pull(tmp_path, Lock(), HUB, fetched("tags", TAGS), "dev")


def test_a_role_of_another_artifact_is_not_overwritten(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    with pytest.raises(RefusedError, match="not of this artifact"):
        plan_pull(tmp_path, before.lock, HUB, fetched("x", artifact("x@1")), "dev")


def test_what_was_asked_for_stays_when_nothing_needs_it_any_more(
    tmp_path: Path,
) -> None:
    first = pulled(tmp_path, "tags", TAGS, as_role="dev")
    before = pulled(tmp_path, "git", GIT, TAGS, lock=first.lock)
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("git", artifact("git@2")))
    assert plan.gone == ()
    assert {*plan.lock.artifacts} == {"git", "tags"}


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ("own", "git tags team"),
        ("team", "own"),
        ("team git", "own"),
        ("team tags git", "own"),
        ("team own", ""),
        ("", "git own tags team"),
    ],
)
def test_what_only_it_needed_goes_with_what_is_removed(
    tmp_path: Path, names: str, left: str
) -> None:
    lock = lock_of(team="git", git="tags", tags="", own="")
    plan = plan_removal(tmp_path, lock, names.split())
    assert [*plan.lock.artifacts] == left.split()
    assert {*versions(plan)} == {*lock.artifacts} - {*left.split()}


def test_what_others_need_stays_when_one_of_them_goes(tmp_path: Path) -> None:
    lock = lock_of(one="tags", two="tags", tags="")
    assert [*plan_removal(tmp_path, lock, ["one"]).lock.artifacts] == ["tags", "two"]


def test_what_needs_each_other_stays_when_another_goes(tmp_path: Path) -> None:
    lock = lock_of(one="two", two="one", own="")
    assert [*plan_removal(tmp_path, lock, ["own"]).lock.artifacts] == ["one", "two"]


def test_what_needs_itself_can_be_removed(tmp_path: Path) -> None:
    assert plan_removal(tmp_path, lock_of(one="one"), ["one"]).lock.artifacts == {}


def test_what_is_needed_is_not_removed(tmp_path: Path) -> None:
    lock = lock_of(team="git", also="git", git="")
    with pytest.raises(RefusedError, match="team, also needs git: remove that first"):
        plan_removal(tmp_path, lock, ["git"])


@pytest.mark.parametrize("name", ["other", "", "../git", "git@1"])
def test_what_is_not_here_is_not_removed(tmp_path: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="here: redlane hub outdated lists all"):
        plan_removal(tmp_path, lock_of(git=""), ["git", name])


def test_roles_and_policies_go_with_what_is_removed(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL, as_role="dev")
    plan = plan_removal(tmp_path, before.lock, ["team"])
    assert (plan.gone, plan.kept_roles) == (("roles/dev.json",), ())
    removed = {name for each in plan.changes for name in each.removed}
    assert removed == {"git-policy", "tags-policy"}
    assert (plan.files, plan.lock) == ({}, Lock(HUB, {}))


def test_a_role_that_somebody_has_changed_stays(tmp_path: Path) -> None:
    before = pulled(tmp_path, "team", *ALL, as_role="dev")
    (tmp_path / "roles/dev.json").write_text("mine", encoding="utf-8")
    plan = plan_removal(tmp_path, before.lock, ["team"])
    assert (plan.gone, plan.kept_roles) == ((), ("roles/dev.json",))


def test_a_digest_is_a_sha_256() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest_of(b"") == empty


def test_a_plan_knows_which_hub_it_was_before(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS)
    other = plan_pull(tmp_path, before.lock, "https://other", fetched("tags", TAGS))
    assert (before.former_hub, other.former_hub) == ("", HUB)
    assert other.lock.hub == "https://other"
    assert plan_removal(tmp_path, before.lock, ["tags"]).former_hub == HUB


def test_a_plan_knows_which_files_were_there(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    after = plan_pull(tmp_path, before.lock, HUB, fetched("x", artifact("x@1")))
    gone = plan_removal(tmp_path, before.lock, ["tags"])
    files = {"policies/hub/tags.json", "roles/dev.json"}
    assert ({*before.former}, {*after.former}, {*gone.former}) == (set(), files, files)


def test_a_role_that_stays_the_same_is_not_written_again(tmp_path: Path) -> None:
    before = pulled(tmp_path, "tags", TAGS, as_role="dev")
    plan = plan_pull(tmp_path, before.lock, HUB, fetched("tags", TAGS))
    assert {*plan.files} == {"policies/hub/tags.json"}
    assert {*plan.lock.files} == {"policies/hub/tags.json", "roles/dev.json"}
