"""`redlane hub pull` as a process, against a real hub."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hub_people import GO, Person, fingerprint_of, people_of, policy

NAMES = map("policy-{}".format, count())
RUNS = policy("runs", type="Executable", pattern="/bin/true --now")
REWRITES = policy(
    "rewrites",
    action="Modify",
    transform={"type": "Executable", "command": "/bin/cat -v"},
)


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


def test_pulled_is_a_file_and_what_it_is_to_be_is_locked(
    ada: Person, me: Person, name: str
) -> None:
    key, first = ada.new_key(), policy(f"{name}-é", description="  ü\t")
    ada.publish(f"{name}-base@2.1", [first, policy(f"{name}-2")])
    ada.publish(f"{name}@1", key=key, needs=[f"{name}-base@2.1"])
    me.ok("pull", name, *GO)
    assert me.read(f"policies/hub/{name}-base.json") == [first, policy(f"{name}-2")]
    assert me.read("hub.lock") == {
        "version": 1,
        "hub": me.address,
        "artifacts": {
            each: {
                "version": version,
                "content_hash": ada.artifact(f"{each}@{version}").content_hash,
                "key_fingerprint": by,
                "dependencies": needs,
                "files": {path: digest(me, path)},
            }
            for each, version, by, needs in (
                (name, "1", fingerprint_of(key), {f"{name}-base": "2.1"}),
                (f"{name}-base", "2.1", None, {}),
            )
            for path in [f"policies/hub/{each}.json"]
        },
    }


def digest(me: Person, path: str) -> str:
    return hashlib.sha256((me.redlane / path).read_bytes()).hexdigest()


def test_files_are_their_owners_alone(ada: Person, me: Person, name: str) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    assert {mode & 0o077 for mode, _ in me.files().values()} == {0}


@pytest.mark.parametrize(("asked", "comes"), [("", "2"), ("@1", "1")])
def test_version_is_the_newest_or_the_one_that_is_named(
    ada: Person, me: Person, name: str, asked: str, comes: str
) -> None:
    for version in ("1", "2"):
        ada.publish(f"{name}@{version}")
    me.ok("pull", f"{name}{asked}", *GO)
    assert me.lock[name]["version"] == comes


def test_pulling_again_asks_nothing_and_changes_nothing(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}@1", key=ada.new_key())
    me.ok("pull", name, *GO)
    me.refused(0, "everything is as it was", "pull", name)


def test_set_becomes_a_role_in_one_step(ada: Person, me: Person, name: str) -> None:
    ada.publish(f"{name}-low@1")
    ada.publish(f"{name}-one@1", needs=[f"{name}-low@1"])
    ada.publish(f"{name}-two@1")
    members = [f"{name}-one@1", f"{name}-two@1"]
    ada.publish(f"{name}@1", {}, needs=members, kind="set")
    me.ok("pull", name, *GO, "--as-role", "dev")
    found = me.read("roles/dev.json")
    assert set(found["policies"]) == {f"{name}-{e}" for e in ("low", "one", "two")}
    assert list(me.lock[name]["files"]) == ["roles/dev.json"]
    assert me.run("config", "check")[0] == 0
    assert me.run("validate", f"say {name}-low", "-r", "dev")[0] == 1


PLANS: dict[str, tuple[dict[str, Any], str]] = {
    "added": (policy("plain"), "    + plain: Block All Simple "),
    "permits": (policy("free", action="Allow"), "    ! free PERMITS "),
    "runs": (RUNS, "    ! runs RUNS /bin/true --now"),
    "rewrites": (REWRITES, "    ! rewrites RUNS /bin/cat -v"),
}


@pytest.mark.parametrize(("content", "line"), PLANS.values(), ids=PLANS)
def test_plan_says_what_comes_and_what_it_may_do(
    ada: Person, me: Person, name: str, content: dict[str, Any], line: str
) -> None:
    ada.publish(f"{name}@1", content)
    pull = ("pull", name, "--dry-run", "--allow-executable")
    out = me.ok(*pull)
    assert out.startswith(f"+ {name}@1  not signed, published by {ada.email}\n")
    assert any(each.startswith(line) for each in out.splitlines())
    (told,) = me.told(*pull)["artifacts"]
    assert (told["before"], told["after"]) == (None, "1")
    assert told["added"] == [content]
    ids = [content["id"]]
    assert told["allows"] == (ids if "PERMITS" in line else [])
    assert told["executable"] == (ids if "RUNS" in line else [])


def test_plan_says_what_changes_and_what_goes(
    ada: Person, me: Person, name: str
) -> None:
    one, two, old = policy(f"{name}-1"), policy(f"{name}-2"), policy(f"{name}-old")
    ada.publish(f"{name}@1", [one, old])
    ada.publish(f"{name}@2", [{**one, "action": "Allow"}, two])
    me.ok("pull", f"{name}@1", *GO)
    out = me.ok("pull", name, *GO)
    assert out.splitlines()[0].startswith(f"~ {name}@2 (was 1)  not signed")
    assert out.splitlines()[1:] == [
        f'    + {name}-2: Block All Simple {{"pattern":"{name}-2"}}',
        f'    ~ {name}-1: action "Block" -> "Allow"',
        f"    - {name}-old",
        f"    ! {name}-1 PERMITS what it matches, whatever forbids it",
    ]
    assert me.read(f"policies/hub/{name}.json") == [{**one, "action": "Allow"}, two]


def test_rehearsal_writes_nothing_at_all(ada: Person, me: Person, name: str) -> None:
    ada.publish(f"{name}@1", key=ada.new_key())
    me.ok("pull", name, "--dry-run", "--as-role", "dev")
    assert list(me.home.iterdir()) == []


def test_rehearsal_of_another_version_changes_nothing(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO, "--as-role", "dev")
    ada.publish(f"{name}@2", policy(f"{name}-2"))
    before = me.files()
    assert f"+ {name}-2: " in me.ok("pull", name, "--dry-run")
    assert me.files() == before


def test_yanked_is_had_again_where_it_is_locked(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    ada.yank(f"{name}@1")
    (me.redlane / f"policies/hub/{name}.json").unlink()
    me.ok("pull", f"{name}@1", "--yes")
    me.ok("verify")


UNSOUND: dict[str, tuple[Any, str]] = {
    "bad regex": (policy(type="Regex", pattern="("), "p: "),
    "unknown type": (policy(type="Weather"), "Weather"),
    "id of one's own": (policy("own"), "own: "),
    "one id twice": ([policy(), policy()], "two with the id 'p'"),
    "no policies": ([], "holds no policies"),
    "no policy": ({"a": 1}, "holds no policies that load"),
    "text": ("policy", "holds no policies that load"),
}


@pytest.mark.parametrize(("content", "says"), UNSOUND.values(), ids=UNSOUND)
def test_what_would_not_load_changes_nothing(
    ada: Person, me: Person, name: str, content: Any, says: str
) -> None:
    me.write("policies/mine.json", policy("own"))
    ada.publish(f"{name}@1", content)
    before = me.files()
    code, _, error = me.run("hub", "pull", name, *GO)
    assert (code, me.files()) == (2, before), error
    assert says in error.splitlines()[-1]


def test_id_of_two_artifacts_changes_nothing(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    ada.publish(f"{name}-2@1", policy(name))
    before = me.files()
    assert me.run("hub", "pull", f"{name}-2", *GO)[0] == 2
    assert me.files() == before


def test_role_of_ones_own_is_not_overwritten(
    ada: Person, me: Person, name: str
) -> None:
    me.write("policies/mine.json", policy("own"))
    me.write("roles/dev.json", {"name": "dev", "policies": ["own"]})
    ada.publish(f"{name}@1")
    me.refused(1, "name another role", "pull", name, *GO, "--as-role", "dev")


def test_legacy_policies_are_not_put_out_of_force(
    ada: Person, me: Person, name: str
) -> None:
    legacy = me.home / ".config/redlane/policies.json"
    legacy.parent.mkdir(parents=True)
    legacy.write_text('{"policies": [], "roles": [{"name": "r", "policies": []}]}')
    me.refused(1, "would not be read", "pull", ada.publish(f"{name}@1"), *GO)


def test_versions_that_do_not_agree_are_not_mixed(
    ada: Person, me: Person, name: str
) -> None:
    for version in ("1", "2"):
        ada.publish(f"{name}-low@{version}", policy(f"{name}-low"))
        ada.publish(f"{name}-{version}@1", needs=[f"{name}-low@{version}"])
    ada.publish(f"{name}@1", {}, needs=[f"{name}-1@1", f"{name}-2@1"], kind="set")
    me.refused(1, f"{name}-low is needed twice", "pull", name, *GO)
    me.ok("pull", f"{name}-1", *GO)
    me.refused(1, "pull versions that agree", "pull", f"{name}-2", *GO)


def test_what_is_not_required_may_be_missing(
    ada: Person, me: Person, name: str
) -> None:
    hidden = ada.publish(f"{name}-hidden@1", visibility="private")
    ada.publish(f"{name}@1", optional=[hidden])
    me.ok("pull", name, *GO)
    assert me.lock[name]["dependencies"] == {}
    ada.publish(f"{name}-2@1", needs=[hidden])
    me.refused(1, hidden, "pull", f"{name}-2", *GO)
    replace(me, token=ada.token).ok("pull", f"{name}-2", *GO)


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    **{each: ((each,), "NAME@VERSION") for each in ("a/b", "../x", "a@", "@1", ".a")},
    "no name": (("",), "NAME@VERSION"),
    "role elsewhere": (("a", "--as-role", "../r"), "no name of a role"),
    "no address": (("a", "--hub", "hub"), "the hub's address"),
}


@pytest.mark.parametrize(("words", "says"), USAGE.values(), ids=USAGE)
def test_what_cannot_be_pulled_is_wrong_usage(
    me: Person, words: tuple[str, ...], says: str
) -> None:
    me.refused(2, says, "pull", *words)
    assert list(me.home.iterdir()) == []


FILES = {
    "lock": ("hub.lock", "{}"),
    "lock of later": ("hub.lock", '{"version": 2, "hub": "", "artifacts": {}}'),
    "trust": ("hub-trust.json", "["),
    "settings": ("settings.json", '{"hub": {"require_signature": 5}}'),
}


@pytest.mark.parametrize(("file", "text"), FILES.values(), ids=FILES)
def test_file_that_does_not_load_is_named(
    ada: Person, me: Person, name: str, file: str, text: str
) -> None:
    ada.publish(f"{name}@1")
    path = me.write(file, text)
    me.refused(2, str(path), "pull", name, *GO)


def test_file_of_ones_own_among_the_hubs_is_not_lost(
    ada: Person, me: Person, name: str
) -> None:
    path = me.write("policies/hub/mine.json", policy("own"))
    ada.publish(f"{name}@1")
    me.refused(1, f"{path} did not come from a hub", "pull", name, *GO)


def test_one_at_a_time_changes_a_home(ada: Person, me: Person, name: str) -> None:
    ada.publish(f"{name}@1")
    me.write("settings.json", {})
    held = os.open(me.redlane, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    (me.redlane / "policies").mkdir()
    me.refused(1, "another redlane hub is at work", "pull", name, *GO)
    os.close(held)
    me.ok("pull", name, *GO)


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "second"])
def test_nothing_is_half_written(
    ada: Person, me: Person, name: str, *, is_first: bool
) -> None:
    for version in ("1", "2"):
        ada.publish(f"{name}@{version}", policy(f"{name}-{version}"))
    me.write("roles", "in the way")
    if not is_first:
        me.ok("pull", f"{name}@1", *GO)
    me.refused(2, str(me.redlane / "roles"), "pull", name, *GO, "--as-role", "dev")


def test_what_is_not_to_be_seen_is_refused_by_the_hub(me: Person, name: str) -> None:
    me.refused(1, f"no artifact '{name}'", "pull", name, *GO)
    me.refused(1, "the hub says: ", "pull", f"{name}@1", *GO)


def test_hub_that_does_not_answer_is_told_apart(me: Person, name: str) -> None:
    nowhere = replace(me, address="http://127.0.0.1:1")
    nowhere.refused(4, "cannot be reached", "pull", name, *GO)
    assert list(me.home.iterdir()) == []
