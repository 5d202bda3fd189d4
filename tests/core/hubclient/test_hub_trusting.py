"""`redlane hub trust|untrust|trusted|verify`: whose word counts, and which files."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from hub_people import GO, Person, fingerprint_of, people_of, policy

NAMES = map("policy-{}".format, count())
EVERYTHING = (*GO, "--allow-executable")
ONE, OTHER = "1" * 64, "2" * 64


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


def test_trusted_are_listed_with_their_notes(me: Person) -> None:
    assert me.told("trusted") == []
    me.ok("trust", ONE.upper(), "--note", "Ada, by\nphone")
    (found,) = me.told("trusted")
    since = found.pop("since")
    note = "Ada, by\nphone"
    assert found == {
        "fingerprint": ONE,
        "note": note,
        "states": False,
        "replaces": None,
    }
    assert me.ok("trusted") == f"{ONE}  since {since}  Ada, by⟨U+000A⟩phone\n"
    assert me.read("hub-trust.json") == {
        "version": 1,
        "publishers": {ONE: {"since": since, "note": note, "states": False}},
        "replaced": {},
    }


def test_key_in_the_place_of_another_is_the_trusted_one(me: Person) -> None:
    me.ok("trust", ONE)
    me.ok("trust", OTHER, "--replaces", ONE)
    found = [(each["fingerprint"], each["replaces"]) for each in me.told("trusted")]
    assert found == [(OTHER, ONE)]


def test_untrusted_is_off_the_list(me: Person) -> None:
    me.ok("trust", ONE)
    me.ok("untrust", ONE)
    assert me.told("trusted") == []


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "short": (("trust", "ab"), "64 hexadecimal digits"),
    "no hexadecimal": (("trust", "g" * 64), "64 hexadecimal digits"),
    "other digits": (("trust", "\u0661" * 64), "64 hexadecimal digits"),
    "replaced is none": (("trust", ONE, "--replaces", "x"), "64 hexadecimal digits"),
    "itself": (("trust", ONE, "--replaces", ONE), "does not replace itself"),
    "not trusted": (("untrust", ONE), "is not trusted"),
}


@pytest.mark.parametrize(("words", "says"), USAGE.values(), ids=USAGE)
def test_what_is_no_key_is_not_trusted(
    me: Person, words: tuple[str, ...], says: str
) -> None:
    me.refused(2, says, *words)


def test_trust_that_does_not_load_is_not_written_over(me: Person) -> None:
    path = me.write("hub-trust.json", '{"version": 1, "publishers": {"x": {}}}')
    me.refused(2, str(path), "trust", ONE)


def test_version_by_another_key_wants_word_of_its_publisher(
    ada: Person, me: Person, name: str
) -> None:
    old, middle, new = (ada.new_key() for _ in range(3))
    me.ok("pull", ada.publish(f"{name}@1", key=old), *GO)
    ada.publish(f"{name}@2", policy(f"{name}-2"), key=new)
    me.ok("trust", fingerprint_of(new))
    says = f"redlane hub trust {fingerprint_of(new)} --replaces {fingerprint_of(old)}"
    me.refused(1, says, "update", *EVERYTHING)
    me.refused(1, says, "pull", f"{name}@2", *EVERYTHING)
    for key, former in ((middle, old), (new, middle)):
        me.ok("trust", fingerprint_of(key), "--replaces", fingerprint_of(former))
    me.ok("update", "--yes")
    assert me.lock[name]["key_fingerprint"] == fingerprint_of(new)
    ada.publish(f"{name}@3", policy(f"{name}-3"), key=old)
    me.refused(1, f"is signed by {fingerprint_of(old)}", "update", *EVERYTHING)


def test_what_a_replaced_key_has_signed_stays(
    ada: Person, me: Person, name: str
) -> None:
    old, new = ada.new_key(), ada.new_key()
    me.ok("pull", ada.publish(f"{name}@1", key=old), *GO)
    me.ok("trust", fingerprint_of(new), "--replaces", fingerprint_of(old))
    me.refused(0, "everything is as it was", "update")
    ada.publish(f"{name}-2@1", key=old)
    me.refused(1, "in whose place", "pull", f"{name}-2", *GO)


def test_signed_does_not_become_unsigned(ada: Person, me: Person, name: str) -> None:
    me.ok("pull", ada.publish(f"{name}@1", key=ada.new_key()), *GO)
    ada.publish(f"{name}@2", policy(f"{name}-2"))
    me.refused(1, f"{name}@2 is not signed", "update", *EVERYTHING)


def test_unsigned_becomes_signed_once_its_key_is_trusted(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    ada.publish(f"{name}@2", policy(f"{name}-2"), key=ada.new_key())
    me.refused(1, "say --trust-new", "update", "--yes")
    me.ok("update", *GO)


def test_revoked_key_counts_no_more(ada: Person, me: Person, name: str) -> None:
    key = ada.new_key()
    ada.publish(f"{name}@1", key=key)
    me.ok("trust", fingerprint_of(key))
    ada.revoke(key)
    says = f"the signature of {name}@1 does not hold"
    me.refused(1, says, "pull", name, *EVERYTHING)


def test_untrusted_key_is_asked_about_again(ada: Person, me: Person, name: str) -> None:
    key = ada.new_key()
    me.ok("pull", ada.publish(f"{name}@1", key=key), *GO)
    ada.publish(f"{name}@2", policy(f"{name}-2"), key=key)
    me.ok("untrust", fingerprint_of(key))
    me.refused(1, "say --trust-new", "update", "--yes")


def changed(file: Path) -> str:
    file.write_text("[]")
    return "is not what was pulled: somebody has changed it"


def gone(file: Path) -> str:
    file.unlink()
    return "cannot be read: it is gone, or a symbolic link to nothing"


def replaced(file: Path) -> str:
    file.unlink()
    file.mkdir()
    return ""


DAMAGES = {each.__name__: each for each in (changed, gone, replaced)}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("place", ["policies/hub/{}.json", "roles/dev.json"])
def test_file_that_is_not_what_was_pulled_is_found(
    ada: Person, me: Person, name: str, place: str, damage: Callable[[Path], str]
) -> None:
    ada.publish(f"{name}@1", policy(name, action="Flag"))
    me.ok("pull", name, *GO, "--as-role", "dev")
    file = me.redlane / place.format(name)
    says = damage(file)
    code, out, error = me.run("hub", "verify")
    assert (code, error, out.count("\n")) == (1, "", 1)
    assert out.startswith(f"error: {file} {says}")
    (found,) = json.loads(me.run("hub", "verify", "--json")[1])
    assert found["file"] == str(file)
    assert f"warning: {file}: {says}" in me.run("config", "check")[1]


def test_verify_asks_no_hub(ada: Person, me: Person, name: str) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    nowhere = Person("", me.home)
    assert nowhere.told("verify") == []
    nowhere.refused(0, "all is as it was pulled", "verify")


def test_file_that_did_not_come_from_a_hub_is_found(
    ada: Person, me: Person, name: str
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    file = me.write("policies/hub/mine.json", policy("mine"))
    code, out, _ = me.run("hub", "verify")
    assert (code, out) == (1, f"error: {file} did not come from a hub\n")
    assert f"warning: {file}: did not come" in me.run("config", "check")[1]


def test_lock_that_does_not_load_is_found(me: Person) -> None:
    path = me.write("hub.lock", '{"version": 1}')
    me.refused(2, f"{path} is damaged", "verify")
    code, out, _ = me.run("config", "check")
    assert (code, out.startswith(f"warning: {path}: ")) == (0, True)


@pytest.mark.parametrize("damage", [changed, gone])
def test_pulling_the_same_version_puts_a_file_right(
    ada: Person, me: Person, name: str, damage: Callable[[Path], str]
) -> None:
    me.ok("pull", ada.publish(f"{name}@1"), *GO)
    before = me.files()
    damage(me.redlane / f"policies/hub/{name}.json")
    me.refused(1, "say --yes", "pull", f"{name}@1")
    me.ok("pull", f"{name}@1", "--yes")
    assert me.files() == before
