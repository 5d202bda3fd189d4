"""A hub that forges what a publisher states: nothing of it comes here unasked.

In truth NAME is there as version 2, a set that needs LOW@2; all is stated by one key.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub, json_answer
from hub_people import GO, Person, fingerprint_of, policy
from hub_statements import stated_article
from lying_hub import API, LOW, NAME, Shelf, article, need, routes
from nacl.signing import SigningKey

KEY, EVES = SigningKey(bytes(range(32))), SigningKey(bytes(32))
HERS = fingerprint_of(KEY)
EVERYTHING = (*GO, "--allow-executable")
SET = {"content": [], "artifact_type": "set"}
UPDATE, PULL = ("update",), ("pull", NAME)


def made(named: str, key: SigningKey = KEY, **fields: Any) -> dict[str, Any]:
    """An artifact that is stated by a key."""
    return stated_article(article(named, **fields), key)


def a_set(version: str, *needs: str, key: SigningKey = KEY) -> dict[str, Any]:
    """NAME in that version, which needs these."""
    needed = [need(each) for each in needs]
    return made(f"{NAME}@{version}", key, dependencies=needed, **SET)


def shelf() -> Shelf:
    """What the hub has in truth."""
    found = (a_set("2", f"{LOW}@2"), made(f"{LOW}@2"), made(f"{LOW}@1"))
    return {f"{each['name']}@{each['version']}": each for each in found}


def telling(hub: RoutedHub, *lies: dict[str, Any]) -> None:
    """Have it tell that, and the truth of all else; the first is the newest."""
    told = {f"{each['name']}@{each['version']}": each for each in lies}
    hub.routes = routes({**told, **{k: v for k, v in shelf().items() if k not in told}})


@pytest.fixture
def new(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing but the trust in a key."""
    telling(hub)
    found = Person(hub.address, tmp_path)
    found.ok("trust", HERS)
    return found


@pytest.fixture
def me(new: Person) -> Person:
    """Somebody who has pulled what the hub had in truth."""
    new.ok(*PULL, "--yes")
    return new


def test_honest_hub_is_not_asked_about(hub: RoutedHub, me: Person) -> None:
    telling(hub, a_set("3", f"{LOW}@3"), made(f"{LOW}@3"))
    assert "says the hub" not in me.ok(*UPDATE, "--yes")
    assert {key: each["version"] for key, each in me.lock.items()} == {
        NAME: "3",
        LOW: "3",
    }


def like(told: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """What a hub tells, with other fields, and the statement as it was."""
    return {**told, **fields}


def unstated(told: dict[str, Any]) -> dict[str, Any]:
    return like(told, content_schema=None)


THREE = a_set("3", f"{LOW}@2")
EVIL = [policy("evil", action="Allow")]
EVES_LOW = made(f"{LOW}@3", EVES)
FORGED: dict[str, tuple[str, tuple[dict[str, Any], ...]]] = {
    "a member in an older version": (
        f"{NAME}@3",
        (like(THREE, dependencies=[need(f"{LOW}@1")]),),
    ),
    "another member": (
        f"{NAME}@3",
        (like(THREE, dependencies=[need("evil@1")]), made("evil@1", EVES)),
    ),
    "one more member": (
        f"{NAME}@3",
        (
            like(THREE, dependencies=[need(f"{LOW}@2"), need("evil@1")]),
            made("evil@1", EVES),
        ),
    ),
    "no member": (f"{NAME}@3", (like(THREE, dependencies=[]),)),
    "a member that need not be": (
        f"{NAME}@3",
        (like(THREE, dependencies=[need(f"{LOW}@2", required=False)]),),
    ),
    "a release under her name, by another key": (
        f"{NAME}@3",
        (like(a_set("3", key=EVES), key_fingerprint=HERS),),
    ),
    "a release with a statement of an older one": (
        f"{NAME}@3",
        (like(THREE, content_schema=shelf()[f"{NAME}@2"]["content_schema"]),),
    ),
    "an older one as a newer": (
        f"{LOW}@3",
        (
            a_set("3", f"{LOW}@3"),
            like(
                shelf()[f"{LOW}@1"],
                version="3",
                created_at="2026-01-03T00:00:00+00:00",
            ),
        ),
    ),
    "another content of a member": (
        f"{LOW}@3",
        (
            a_set("3", f"{LOW}@3"),
            like(
                made(f"{LOW}@3", content=EVIL),
                content_schema=made(f"{LOW}@3")["content_schema"],
            ),
        ),
    ),
    "a member by another key, it says": (
        f"{LOW}@3",
        (a_set("3", f"{LOW}@3"), like(EVES_LOW, key_fingerprint=HERS)),
    ),
    "a statement that is none": (
        f"{NAME}@3",
        (like(THREE, content_schema={"redlane-statement": None}),),
    ),
}


@pytest.mark.parametrize(("of", "lies"), FORGED.values(), ids=FORGED)
def test_what_a_hub_has_forged_is_refused_whoever_says_yes(
    hub: RoutedHub, new: Person, of: str, lies: tuple[dict[str, Any], ...]
) -> None:
    telling(hub, *lies)
    says = f"what the publisher of {of} has signed is of something else"
    new.refused(1, says, "pull", f"{NAME}@3", *EVERYTHING)


def test_what_a_hub_has_forged_comes_by_no_update(hub: RoutedHub, me: Person) -> None:
    of, lies = FORGED["a member in an older version"]
    telling(hub, *lies)
    me.refused(1, f"the publisher of {of} has signed is of", *UPDATE, *EVERYTHING)


DROPPED: dict[str, tuple[dict[str, Any], ...]] = {
    "set with a new member": (unstated(a_set("3", f"{LOW}@3")), made(f"{LOW}@3")),
    "set with a member in an older version": (unstated(a_set("3", f"{LOW}@1")),),
    "member": (a_set("3", f"{LOW}@3"), unstated(made(f"{LOW}@3"))),
    "member with another content": (
        a_set("3", f"{LOW}@3"),
        unstated(made(f"{LOW}@3", content=EVIL)),
    ),
    "set, and something of its own": (
        unstated(made(f"{NAME}@3", content=EVIL, artifact_type="set")),
    ),
}


@pytest.mark.parametrize("lies", DROPPED.values(), ids=DROPPED)
def test_statement_that_a_hub_drops_is_asked_about(
    hub: RoutedHub, me: Person, lies: tuple[dict[str, Any], ...]
) -> None:
    telling(hub, *lies)
    me.refused(1, "say --trust-new", *UPDATE, "--yes")


@pytest.mark.parametrize(
    ("answer", "code"), [("y", 0), ("n", 1)], ids=["taken", "left"]
)
def test_a_person_may_take_what_is_not_stated(
    hub: RoutedHub, me: Person, answer: str, code: int
) -> None:
    telling(hub, unstated(made(f"{NAME}@3", content=[policy("fine")])))
    done, asked = me.typing(*UPDATE, "--yes", answers=(answer,))
    assert done == code, asked
    by = f"is signed by {HERS}, says the hub, but lacks what else by this key has"
    assert f"{NAME}@3, which the hub says is of 'ada@example.org', {by}" in asked
    assert "Take it all the same? [y/N]" in asked
    assert me.lock[NAME]["version"] == ("3" if answer == "y" else "2")
    assert me.told("trusted")[0]["states"] is True


def test_forged_member_of_the_first_set_that_a_key_states_is_asked_about(
    hub: RoutedHub, new: Person
) -> None:
    telling(hub, unstated(made(f"{LOW}@2", content=EVIL)), shelf()[f"{NAME}@2"])
    new.refused(1, "say --trust-new", "pull", f"{NAME}@2", "--yes")


def test_key_that_states_does_so_in_the_place_of_another_too(
    hub: RoutedHub, me: Person
) -> None:
    old = fingerprint_of(EVES)
    me.ok("trust", HERS, "--replaces", old)
    telling(hub, unstated(made(f"{NAME}@3", content=EVIL)))
    me.refused(1, "say --trust-new", *UPDATE, "--yes")


def test_what_is_here_already_is_not_asked_about(hub: RoutedHub, me: Person) -> None:
    telling(hub, a_set("3", f"{LOW}@2"), unstated(shelf()[f"{LOW}@2"]))
    out = me.ok(*UPDATE, "--yes")
    assert f"~ {NAME}@3 (was 2)  signed by {HERS}, published by" in out


def unsigned(of: dict[str, Any]) -> dict[str, Any]:
    return like(of, signed=False, key_fingerprint=None, signature_valid=None)


def stated_of_another(of: dict[str, Any]) -> dict[str, Any]:
    return like(of, content_schema=made("other@2")["content_schema"])


LESS = {each.__name__: each for each in (unstated, unsigned, stated_of_another)}


@pytest.mark.parametrize("less", LESS.values(), ids=LESS)
def test_member_without_a_statement_is_refused_where_one_is_required(
    hub: RoutedHub, new: Person, less: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    new.write("settings.json", {"hub": {"require_signature": True}})
    telling(hub, shelf()[f"{NAME}@2"], less(shelf()[f"{LOW}@2"]))
    new.refused(1, f"{LOW}@2", *PULL, *EVERYTHING)


def test_set_that_is_stated_throughout_is_taken_where_that_is_required(
    new: Person,
) -> None:
    new.write("settings.json", {"hub": {"require_signature": True}})
    new.ok(*PULL, "--yes")


OF_ELSE = "THE PUBLISHER'S OWN STATEMENT IS OF SOMETHING ELSE"
SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "stated": (THREE, f"good, says the hub; checked here, with the needs; key {HERS}"),
    "by its word": (unstated(THREE), f"good, says the hub; key {HERS}"),
    "other needs": (
        like(THREE, dependencies=[need(f"{LOW}@1")]),
        f"good, says the hub; {OF_ELSE}; key {HERS}",
    ),
    "unsigned": (unsigned(THREE), "none"),
}


@pytest.mark.parametrize(("told", "says"), SHOWN.values(), ids=SHOWN)
def test_show_tells_what_a_signature_is_worth(
    hub: RoutedHub, new: Person, told: dict[str, Any], says: str
) -> None:
    telling(hub, told)
    hub.routes[f"{API}{NAME}%403/endorsements"] = json_answer([])
    assert f"\nsignature:   {says}\n" in new.ok("show", f"{NAME}@3")
