"""Holes that a lying hub had found in `redlane hub pull|update`: none comes back.

In truth NAME is there as version 2, a set that needs LOW@2; EXTRA is there, too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, fingerprint_of, policy
from hub_statements import stated_article
from lying_hub import KEY, LOW, NAME, OTHER, Shelf, article, need, routes
from nacl.signing import SigningKey

HAND = SigningKey(bytes(range(32)))
HERS = fingerprint_of(HAND)
EXTRA = "extra"
FINE = "3" * 64
MORE = [need(f"{LOW}@2"), need(f"{EXTRA}@1", required=False)]
PULL = ("pull", f"{NAME}@2")
Make = Callable[..., dict[str, Any]]
Before = Callable[[RoutedHub, Person], tuple[dict[str, Any], dict[str, Any]]]


def by_key(named: str, **fields: Any) -> dict[str, Any]:
    return article(named, **fields)


def unsigned(named: str, **fields: Any) -> dict[str, Any]:
    nobody = {"signed": False, "key_fingerprint": None, "signature_valid": None}
    return article(named, **nobody, **fields)


def stated(named: str, **fields: Any) -> dict[str, Any]:
    return stated_article(article(named, **fields), HAND)


def unstated(named: str, **fields: Any) -> dict[str, Any]:
    """Like `stated`, but that the statement is dropped."""
    return article(named, key_fingerprint=HERS, **fields)


def telling(hub: RoutedHub, *told: dict[str, Any]) -> None:
    """Have it tell of these, the newest first."""
    has: Shelf = {f"{each['name']}@{each['version']}": each for each in told}
    hub.routes = routes(has)


def a_set(make: Make, version: str = "2", **fields: Any) -> dict[str, Any]:
    """NAME, which needs LOW@2 alone, unless said otherwise."""
    plain = {"content": [], "artifact_type": "set", "dependencies": [need(f"{LOW}@2")]}
    return make(f"{NAME}@{version}", **{**plain, **fields})


def extra(**fields: Any) -> dict[str, Any]:
    content = [policy("extra", action="Allow")]
    return by_key(f"{EXTRA}@1", content=content, **fields)


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing."""
    return Person(hub.address, tmp_path)


def keys(who: Person) -> list[tuple[str, str | None]]:
    """The keys that are trusted, and in whose place."""
    return [(each["fingerprint"], each["replaces"]) for each in who.told("trusted")]


def of_nobody(hub: RoutedHub, me: Person) -> tuple[dict[str, Any], dict[str, Any]]:
    """The set and what it needs, pulled; and they again, as the hub tells them now."""
    low = unsigned(f"{LOW}@2")
    telling(hub, a_set(unsigned), low)
    me.ok(*PULL, *GO)
    return a_set(unsigned, dependencies=MORE), low


def of_a_replaced_key(
    hub: RoutedHub, me: Person
) -> tuple[dict[str, Any], dict[str, Any]]:
    low = by_key(f"{LOW}@2")
    telling(hub, a_set(by_key), low)
    me.ok(*PULL, *GO)
    me.ok("trust", OTHER, "--replaces", KEY)
    return a_set(by_key, dependencies=MORE), low


def of_a_key_that_states(
    hub: RoutedHub, me: Person
) -> tuple[dict[str, Any], dict[str, Any]]:
    low = stated(f"{LOW}@2")
    telling(hub, a_set(stated), low)
    me.ok(*PULL, *GO)
    return a_set(unstated, dependencies=MORE), low


def of_a_key_that_is_trusted_no_more(
    hub: RoutedHub, me: Person
) -> tuple[dict[str, Any], dict[str, Any]]:
    low = by_key(f"{LOW}@2")
    telling(hub, a_set(by_key), low)
    me.ok(*PULL, *GO)
    me.ok("untrust", KEY)
    return a_set(by_key, dependencies=MORE), low


SETS = {
    each.__name__: each
    for each in (
        of_nobody,
        of_a_key_that_states,
        of_a_key_that_is_trusted_no_more,
    )
}


@pytest.mark.parametrize("words", [PULL, ("update",)], ids=["pull", "update"])
def test_need_that_a_hub_adds_to_what_a_replaced_key_has_signed_is_refused(
    hub: RoutedHub, me: Person, words: tuple[str, ...]
) -> None:
    told = of_a_replaced_key(hub, me)
    me.ok("trust", FINE)
    telling(hub, *told, extra(key_fingerprint=FINE))
    me.refused(1, "in whose place", *words, *GO)


@pytest.mark.parametrize("before", SETS.values(), ids=SETS)
@pytest.mark.parametrize("words", [PULL, ("update",)], ids=["pull", "update"])
def test_need_that_a_hub_adds_to_what_is_here_is_shown_and_asked_about(
    hub: RoutedHub, me: Person, before: Before, words: tuple[str, ...]
) -> None:
    told = before(hub, me)
    me.ok("trust", FINE)
    telling(hub, *told, extra(key_fingerprint=FINE))
    locked = me.read("hub.lock")
    code, out, error = me.run("hub", *words, "--yes")
    assert (code, me.read("hub.lock")) == (1, locked)
    assert "say --trust-new" in error
    lines = out.splitlines()
    assert f"    needs {EXTRA}@1 from now on" in lines
    assert "    ! extra PERMITS what it matches, whatever forbids it" in lines


def test_need_that_a_hub_adds_is_told_to_scripts(hub: RoutedHub, me: Person) -> None:
    telling(hub, *of_nobody(hub, me), extra())
    told = {each["name"]: each for each in me.told(*PULL, "--dry-run")["artifacts"]}
    assert told[NAME]["new_needs"] == {EXTRA: "1"}


def test_need_that_was_optional_and_missing_comes_once_somebody_says_yes(
    hub: RoutedHub, me: Person
) -> None:
    telling(hub, *of_nobody(hub, me), extra())
    me.ok(*PULL, *GO)
    assert me.lock[NAME]["dependencies"] == {LOW: "2", EXTRA: "1"}


def new_release(hub: RoutedHub) -> None:
    telling(hub, by_key(f"{LOW}@3"), by_key(f"{LOW}@2"))


def same_content_under_another_version(hub: RoutedHub) -> None:
    content = by_key(f"{LOW}@2")["content"]
    telling(hub, by_key(f"{LOW}@3", content=content), by_key(f"{LOW}@2"))


def same_version_with_another_need(hub: RoutedHub) -> None:
    needs = [need(f"{EXTRA}@1", required=False)]
    telling(hub, by_key(f"{LOW}@2", dependencies=needs), unsigned(f"{EXTRA}@1"))


def same_version(hub: RoutedHub) -> None:
    telling(hub, by_key(f"{LOW}@2"))


def something_else(hub: RoutedHub) -> None:
    telling(hub, by_key(f"{EXTRA}@1"))


def one_that_needs_what_is_here(hub: RoutedHub) -> None:
    telling(hub, a_set(unsigned), by_key(f"{LOW}@2"))


OF_THE_OLD_KEY: dict[str, tuple[Callable[[RoutedHub], None], str]] = {
    "new release": (new_release, f"{LOW}@3"),
    "same content, another version": (same_content_under_another_version, f"{LOW}@3"),
    "same version, another need": (same_version_with_another_need, f"{LOW}@2"),
    "same version": (same_version, f"{LOW}@2"),
    "something else": (something_else, f"{EXTRA}@1"),
    "needed": (one_that_needs_what_is_here, f"{NAME}@2"),
}


@pytest.mark.parametrize(("lie", "named"), OF_THE_OLD_KEY.values(), ids=OF_THE_OLD_KEY)
def test_key_that_was_replaced_is_not_taken_back_by_trust_new(
    hub: RoutedHub, me: Person, lie: Callable[[RoutedHub], None], named: str
) -> None:
    telling(hub, by_key(f"{LOW}@2"))
    me.ok("pull", f"{LOW}@2", *GO)
    me.ok("trust", OTHER, "--replaces", KEY)
    lie(hub)
    me.run("hub", "pull", named, *GO)
    assert keys(me) == [(OTHER, KEY)]


def test_release_by_a_key_that_was_replaced_is_refused(
    hub: RoutedHub, me: Person
) -> None:
    me.ok("trust", OTHER, "--replaces", KEY)
    new_release(hub)
    says = f"is signed by {KEY}, in whose place {OTHER} is trusted"
    me.refused(1, says, "pull", LOW, *GO)


@pytest.mark.parametrize(
    ("here", "then", "words"),
    [
        ("2025-06-01", "2024-01-01", ("update",)),
        ("2025-06-01", "2024-01-01", ("pull", NAME)),
        ("2025-06-01", "2025-05-31", ("update",)),
        ("2025.6", "2024-12-31", ("update", NAME)),
        ("1.0", "1.0-rc1", ("update",)),
        ("1.0", "1.0-rc1", ("pull", NAME)),
        ("v1.0", "1.0.0-beta.2", ("update",)),
    ],
)
def test_older_version_that_was_published_later_is_no_newer_one(
    hub: RoutedHub, me: Person, here: str, then: str, words: tuple[str, ...]
) -> None:
    old = by_key(f"{NAME}@{here}", created_at="2026-01-01T00:00:00Z")
    telling(hub, old)
    me.ok("pull", NAME, *GO)
    telling(hub, by_key(f"{NAME}@{then}", created_at="2026-02-01T00:00:00Z"), old)
    says = f"is here as {here}, and the hub lists {NAME}@{then}, which is older"
    me.refused(1, says, *words, *GO)


def test_key_that_was_untrusted_is_asked_about_by_the_same_version(
    hub: RoutedHub, me: Person
) -> None:
    telling(hub, by_key(f"{NAME}@2"))
    me.ok(*PULL, *GO)
    me.ok("untrust", KEY)
    me.refused(1, "a key that is not trusted here. Trust this key?", *PULL, "--yes")


def test_key_that_was_untrusted_is_trusted_again_by_the_same_version(
    hub: RoutedHub, me: Person
) -> None:
    telling(hub, by_key(f"{NAME}@2"))
    me.ok(*PULL, *GO)
    lock = me.read("hub.lock")
    me.ok("untrust", KEY)
    me.ok(*PULL, *GO)
    assert (keys(me), me.read("hub.lock")) == ([(KEY, None)], lock)


TRUSTED = f"{KEY} is trusted from now on"


def test_key_is_said_to_be_trusted_once_it_is(hub: RoutedHub, me: Person) -> None:
    telling(hub, by_key(f"{NAME}@2"))
    assert f"redlane: {TRUSTED}\n" in me.run("hub", *PULL, *GO)[2]
    me.ok("remove", NAME, "--yes")
    assert TRUSTED not in me.run("hub", *PULL, *GO)[2]


def change_refused(_: Person) -> tuple[str, ...]:
    return ("--trust-new",)


def only_shown(_: Person) -> tuple[str, ...]:
    return ("--trust-new", "--dry-run")


def role_not_to_be_written(who: Person) -> tuple[str, ...]:
    who.write("roles", "no directory")
    return (*GO, "--as-role", "dev")


def stranger_in_the_way(who: Person) -> tuple[str, ...]:
    who.write("policies/hub/mine.json", policy("mine"))
    return GO


UNTRUSTED = {
    each.__name__: each
    for each in (
        change_refused,
        only_shown,
        role_not_to_be_written,
        stranger_in_the_way,
    )
}


@pytest.mark.parametrize("make", UNTRUSTED.values(), ids=UNTRUSTED)
def test_key_is_not_said_to_be_trusted_where_it_is_not(
    hub: RoutedHub, me: Person, make: Callable[[Person], tuple[str, ...]]
) -> None:
    telling(hub, by_key(f"{NAME}@2"))
    error = me.run("hub", *PULL, *make(me))[2]
    assert "is trusted from now on" not in error
    assert keys(me) == []
