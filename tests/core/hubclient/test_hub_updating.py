"""`redlane hub update|outdated|remove`, against a real hub."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hub_people import GO, Person, people_of, policy

NAMES = map("policy-{}".format, count())


@pytest.fixture(scope="module")
def ada(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    with people_of(tmp_path_factory.mktemp("hub"), "ada") as (_, (found,)):
        yield found


@pytest.fixture
def me(ada: Person, tmp_path: Path) -> Person:
    """Somebody without an account, in a home of nothing."""
    return Person(ada.address, tmp_path)


@pytest.fixture
def name() -> str:
    return next(NAMES)


def has(me: Person, *named: str) -> bool:
    """Whether these are here, their files too, and no others."""
    me.ok("verify")
    files = {each.stem for each in me.redlane.glob("policies/hub/*")}
    locked = {f"{key}@{each['version']}" for key, each in me.lock.items()}
    return locked == {*named} and files == {each.partition("@")[0] for each in named}


def two(ada: Person, me: Person, name: str) -> tuple[str, str]:
    """Two artifacts that are here as 1, and that are there as 2."""
    for each in (name, f"{name}-b"):
        me.ok("pull", ada.publish(f"{each}@1"), *GO)
        ada.publish(f"{each}@2", policy(f"{each}-2"))
    return name, f"{name}-b"


def test_update_brings_all_to_their_newest(ada: Person, me: Person, name: str) -> None:
    one, other = two(ada, me, name)
    me.ok("update", *GO)
    assert has(me, f"{one}@2", f"{other}@2")


def test_update_brings_what_is_named_alone(ada: Person, me: Person, name: str) -> None:
    one, other = two(ada, me, name)
    me.ok("update", other, *GO)
    assert has(me, f"{one}@1", f"{other}@2")


def test_update_is_all_or_nothing(ada: Person, me: Person, name: str) -> None:
    two(ada, me, name)
    me.ok("pull", ada.publish(f"{name}-a@1"), *GO)
    ada.publish(f"{name}-a@2", policy(type="Executable", pattern="/bin/true"))
    me.refused(1, "say --allow-executable", "update", *GO)


def test_update_brings_and_takes_what_is_needed(
    ada: Person, me: Person, name: str
) -> None:
    for each in ("old", "kept", "new"):
        ada.publish(f"{name}-{each}@1")
    ada.publish(f"{name}@1", needs=[f"{name}-old@1", f"{name}-kept@1"])
    me.ok("pull", name, *GO)
    ada.publish(f"{name}@2", needs=[f"{name}-new@1", f"{name}-kept@1"])
    out = me.ok("update", *GO)
    assert f"- {name}-old@1\n    - {name}-old\n" in out
    assert has(me, f"{name}@2", f"{name}-new@1", f"{name}-kept@1")


def test_what_is_needed_stays_as_it_is_wanted(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}-low@1")
    me.ok("pull", ada.publish(f"{name}@1", needs=[f"{name}-low@1"]), *GO)
    ada.publish(f"{name}-low@2", policy(f"{name}-low-2"))
    me.refused(0, "everything is as it was", "update", *GO)
    me.refused(1, f"update {name}", "update", f"{name}-low", *GO)


def test_update_of_what_is_not_here(me: Person, name: str) -> None:
    me.refused(0, "nothing was pulled yet", "update")
    me.refused(1, f"there is no {name} here", "update", name)
    me.refused(2, "NAME@VERSION", "update", "../x")


def test_update_needs_no_hub_to_be_named(ada: Person, me: Person, name: str) -> None:
    two(ada, me, name)
    nowhere = replace(me, address="")
    nowhere.ok("update", *GO)
    nowhere.refused(2, "no hub is named", "pull", name, "--system", "--dry-run")


def test_update_asks_about_unsigned_versions_again(
    ada: Person, me: Person, name: str
) -> None:
    two(ada, me, name)
    me.refused(1, "say --trust-new", "update", "--yes")


def test_rehearsed_update_changes_nothing(ada: Person, me: Person, name: str) -> None:
    two(ada, me, name)
    before = me.files()
    me.ok("update", "--dry-run")
    assert me.files() == before


def test_older_version_is_pulled_where_it_is_named(
    ada: Person, me: Person, name: str
) -> None:
    two(ada, me, name)
    me.ok("update", *GO)
    me.ok("pull", f"{name}@1", *GO)
    assert has(me, f"{name}@1", f"{name}-b@2")


def test_yanked_that_is_here_does_not_keep_the_others_from_their_newest(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}-yanked@1"), *GO)
    ada.yank(f"{name}-yanked@1", "eats files")
    one, other = two(ada, me, name)
    me.ok("update", *GO)
    assert has(me, f"{one}@2", f"{other}@2", f"{name}-yanked@1")


def role_of(ada: Person, me: Person, name: str) -> Path:
    me.ok("pull", ada.publish(f"{name}@1"), *GO, "--as-role", "dev")
    ada.publish(f"{name}@2", policy(f"{name}-2"))
    return me.redlane / "roles/dev.json"


def test_role_is_made_anew(ada: Person, me: Person, name: str) -> None:
    role_of(ada, me, name)
    out = me.ok("update", *GO)
    assert "= roles/dev.json: the role, made anew\n" in out
    assert me.read("roles/dev.json") == {"name": "dev", "policies": [f"{name}-2"]}
    assert me.run("config", "check")[0] == 0


def test_role_that_was_changed_by_hand_stays_and_is_told(
    ada: Person, me: Person, name: str
) -> None:
    file = role_of(ada, me, name)
    mine = {"name": "dev", "policies": []}
    me.write("roles/dev.json", mine)
    out = me.ok("update", *GO)
    assert "! roles/dev.json was changed by hand: it stays" in out
    assert me.read("roles/dev.json") == mine
    me.ok("verify")
    me.ok("remove", name, "--yes")
    assert file.exists()


def test_role_that_was_removed_by_hand_does_not_come_back(
    ada: Person, me: Person, name: str
) -> None:
    role_of(ada, me, name).unlink()
    me.ok("update", *GO)
    assert has(me, f"{name}@2")
    assert not (me.redlane / "roles/dev.json").exists()


def rows(me: Person) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in me.told("outdated")}


def test_outdated_lists_what_is_here_and_what_is_there(
    ada: Person, me: Person, name: str
) -> None:
    assert me.told("outdated") == []
    ada.publish(f"{name}-low@1")
    me.ok("pull", ada.publish(f"{name}@1", needs=[f"{name}-low@1"]), *GO)
    ada.publish(f"{name}@2", policy(f"{name}-2"))
    found, before = rows(me), me.files()
    assert found[name] == {
        "name": name,
        "version": "1",
        "newest": "2",
        "yanked": False,
        "yanked_reason": None,
        "needed_by": [],
        "problem": None,
    }
    assert (found[f"{name}-low"]["newest"], found[f"{name}-low"]["needed_by"]) == (
        "1",
        [name],
    )
    assert me.ok("outdated").splitlines() == [
        f"{name}@1  2 is there",
        f"{name}-low@1  needed by {name}",
    ]
    assert me.files() == before


def test_outdated_tells_what_was_yanked(ada: Person, me: Person, name: str) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    ada.yank(f"{name}@1", "eats files")
    assert (rows(me)[name]["yanked"], rows(me)[name]["problem"]) == (True, None)
    assert me.ok("outdated") == f"{name}@1  yanked: eats files\n"


def test_outdated_is_a_finding_where_the_hub_says_something_else(
    ada: Person, me: Person, name: str
) -> None:
    key = ada.new_key()
    me.ok("pull", ada.publish(f"{name}@1", key=key), *GO)
    ada.revoke(key)
    code, out, error = me.run("hub", "outdated")
    assert (code, error) == (1, "")
    assert f"the signature of {name}@1 does not hold" in out


def test_outdated_is_a_finding_where_the_hub_has_it_no_more(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}@1", visibility="private")
    replace(me, token=ada.token).ok("pull", name, *GO)
    code, out, _ = me.run("hub", "outdated")
    assert (code, out) == (1, f"{name}@1  the hub has no {name}@1 any more\n")


def test_outdated_needs_the_hub(ada: Person, me: Person, name: str) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    nowhere = ("--hub", "http://127.0.0.1:1")
    me.refused(4, "cannot be reached", "outdated", *nowhere)
    me.refused(4, "cannot be reached", "update", *nowhere)


@pytest.fixture
def shared(ada: Person, me: Person, name: str) -> str:
    """Its -a and its -b need -both, which needs -low; -a needs -own as well."""
    ada.publish(f"{name}-low@1")
    ada.publish(f"{name}-own@1")
    ada.publish(f"{name}-both@1", needs=[f"{name}-low@1"])
    ada.publish(f"{name}-a@1", needs=[f"{name}-both@1", f"{name}-own@1"])
    ada.publish(f"{name}-b@1", needs=[f"{name}-both@1"])
    me.ok("pull", f"{name}-a", *GO, "--as-role", "dev")
    me.ok("pull", f"{name}-b", *GO)
    return name


def test_remove_takes_what_only_it_needed(me: Person, shared: str) -> None:
    out = me.ok("remove", f"{shared}-a", "--yes")
    assert out.splitlines()[-1] == "- roles/dev.json"
    assert not (me.redlane / "roles/dev.json").exists()
    assert has(me, *(f"{shared}-{each}@1" for each in ("b", "both", "low")))


def test_remove_refuses_what_is_needed(me: Person, shared: str) -> None:
    says = f"{shared}-a, {shared}-b needs {shared}-both"
    me.refused(1, says, "remove", f"{shared}-both", "--yes")
    both = f"{shared}-both", f"{shared}-a"
    me.refused(1, f"{shared}-b needs {shared}-both", "remove", *both, "--yes")


def test_remove_takes_several_at_once(me: Person, shared: str) -> None:
    named = [f"{shared}-{each}" for each in ("both", "a", "b")]
    me.ok("remove", *named, "--yes")
    assert me.lock == {}
    assert not (me.redlane / "policies/hub").exists()
    assert me.run("config", "check")[0] == 0


def test_remove_asks(me: Person, shared: str) -> None:
    remove, before = ("remove", f"{shared}-b"), me.files()
    me.refused(1, "say --yes", *remove)
    assert me.typing(*remove, answers=("",))[0] == 1
    me.ok(*remove, "--dry-run")
    assert me.files() == before
    assert me.typing(*remove, answers=("y",))[0] == 0
    assert f"{shared}-b" not in me.lock


def test_remove_of_what_is_not_here(me: Person, name: str) -> None:
    me.refused(1, f"there is no {name} here", "remove", name, "--yes")
    assert me.files() == {}


def test_remove_needs_no_hub(me: Person, shared: str) -> None:
    told = replace(me, address="").told("remove", f"{shared}-b", "--yes")
    assert [(e["name"], e["after"]) for e in told["artifacts"]] == [
        (f"{shared}-b", None)
    ]


def test_remove_of_what_ones_own_role_names_changes_nothing(
    me: Person, shared: str
) -> None:
    me.write("roles/mine.json", {"name": "mine", "policies": [f"{shared}-b"]})
    before = me.files()
    code, _, error = me.run("hub", "remove", f"{shared}-b", "--yes")
    assert (code, me.files()) == (2, before)
    assert "nothing was changed" in error.splitlines()[-1]
