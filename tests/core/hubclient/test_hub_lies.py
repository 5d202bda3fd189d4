"""A hub that lies to `redlane hub pull|update|outdated`: nothing here changes.

It told the truth once: NAME is here as version 2, and LOW, which it needs, is, too.
"""

from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, policy
from lying_hub import (
    API,
    LOW,
    NAME,
    OTHER,
    article,
    holding,
    lying,
    need,
    routes,
    shelf,
    walk,
)

PULL, UPDATE = ("pull", NAME), ("update",)
RESOLVE = f"{API}name/2/resolve"
EVERYTHING = (*GO, "--allow-executable")


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody who has pulled what the hub had in truth."""
    found = Person(hub.address, tmp_path)
    hub.routes = routes(shelf())
    found.write("policies/mine.json", policy("mine"))
    found.ok(*PULL, *GO, "--as-role", "dev")
    return found


@pytest.fixture
def new(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing, which has to stay so."""
    return Person(hub.address, tmp_path)


OF_WHAT_IS_NEW: dict[str, tuple[int, str, dict[str, Any]]] = {
    "another content": (1, "has not the hash", {"content": [policy("evil")]}),
    "another hash": (1, "has not the hash", {"content_hash": "0" * 64}),
    "no hash": (1, "has not the hash", {"content_hash": ""}),
    "signature that fails": (1, "does not hold", {"signature_valid": False}),
    "signature of unknown": (1, "does not hold", {"signature_valid": None}),
    "signed by no key": (4, "is signed by no key", {"key_fingerprint": None}),
    "signed by nonsense": (4, "is signed by no key", {"key_fingerprint": "../k"}),
    "another name": (4, "it tells of other@2", {"name": "other"}),
    "another version": (4, "it tells of name@1", {"version": "1"}),
    "yes that is no boolean": (4, "signature_valid is no", {"signature_valid": "yes"}),
    "no policy": (2, "holds no policies", {**holding({"greeting": "hello"})}),
    "an id that is a list": (2, "holds no policies", {**holding([{"id": []}])}),
    "a policy in a policy": (2, "holds no policies", {**holding([[policy()]])}),
    "yanked": (1, "was yanked by its publisher: ", {"yanked": True}),
}


@pytest.mark.parametrize(
    ("code", "says", "lie"), OF_WHAT_IS_NEW.values(), ids=OF_WHAT_IS_NEW
)
@pytest.mark.parametrize("of", [NAME, LOW])
def test_lie_about_what_is_new_brings_nothing(
    hub: RoutedHub, new: Person, of: str, code: int, says: str, lie: dict[str, Any]
) -> None:
    lying(hub, {f"{of}@2": lie})
    says = says.replace("name@", f"{of}@")
    new.refused(code, says, "pull", f"{NAME}@2", *EVERYTHING)
    assert list(new.home.iterdir()) == []


CHANGED = [policy("name-policy", pattern="changed")]
NEXT = {"created_at": "2026-01-03T00:00:00+00:00", "dependencies": [need("low@2")]}
OF_WHAT_IS_HERE: dict[str, tuple[int, str, tuple[str, ...], dict[str, Any]]] = {
    "same version, another hash": (
        *(1, "A version never changes", PULL),
        {
            "name@2": {
                **holding(CHANGED),
            }
        },
    ),
    "same version of what is needed, another hash": (
        *(1, "A version never changes", UPDATE),
        {"low@2": article("low@2", content=CHANGED)},
    ),
    "newest is lower": (
        *(1, "which is older; to go back", UPDATE),
        {"name@1.9": {"created_at": "2026-01-09T00:00:00+00:00"}},
    ),
    "newest is lower by a zero": (
        *(1, "which is older; to go back", PULL),
        {"name@v1.99.99": {"created_at": "2026-01-09T00:00:00+00:00"}},
    ),
    "newest is earlier": (
        *(1, "which is older; to go back", UPDATE),
        {"name@3": {"created_at": "2026-01-01T23:59:59.999Z"}},
    ),
    "newest is of the same time": (
        *(1, "which is older; to go back", UPDATE),
        {"name@3": {"created_at": "2026-01-02T01:00:00+01:00"}},
    ),
    "newest is of no time": (
        *(4, "is no time", UPDATE),
        {"name@3": {"created_at": "yesterday"}},
    ),
    "newest is of no zone": (
        *(4, "is no UTC", UPDATE),
        {"name@3": {"created_at": "2026-01-03T00:00:00"}},
    ),
    "what is here is gone": (
        *(1, "does not know any more", UPDATE),
        {"name@3": NEXT, "name@2": None},
    ),
    "what is here is another one": (
        *(1, "tells another hash", UPDATE),
        {"name@2": article("name@2", content=CHANGED), "name@3": NEXT},
    ),
    "another key": (
        *(1, f"is signed by {OTHER}", UPDATE),
        {"name@3": {**NEXT, "key_fingerprint": OTHER}},
    ),
    "another key for the same": (
        *(1, f"is signed by {OTHER}", PULL),
        {"name@2": {"key_fingerprint": OTHER}},
    ),
    "another key of what is needed": (
        *(1, f"is signed by {OTHER}", PULL),
        {"low@2": {"key_fingerprint": OTHER}},
    ),
    "no signature": (
        *(1, "name@3 is not signed", UPDATE),
        {"name@3": {**NEXT, "signed": False, "key_fingerprint": None}},
    ),
    "no signature, but a key": (
        *(1, "name@3 is not signed", UPDATE),
        {"name@3": {**NEXT, "signed": False}},
    ),
    "no signature of the same": (
        *(1, "name@2 is not signed", PULL),
        {"name@2": {"signed": False}},
    ),
    "signature that fails": (
        *(1, "does not hold", PULL),
        {"name@2": {"signature_valid": False}},
    ),
    "other needs of the same": (
        *(1, "name@2", PULL),
        {"name@2": {"dependencies": [need("low@1")]}},
    ),
    "no needs of the same": (
        *(1, "name@2", PULL),
        {"name@2": {"dependencies": []}},
    ),
}


@pytest.mark.parametrize(
    ("code", "says", "words", "lies"), OF_WHAT_IS_HERE.values(), ids=OF_WHAT_IS_HERE
)
def test_lie_about_what_is_here_changes_nothing(
    hub: RoutedHub,
    me: Person,
    code: int,
    says: str,
    words: tuple[str, ...],
    lies: dict[str, Any],
) -> None:
    lying(hub, lies)
    me.refused(code, says, *words, *EVERYTHING)


OF_THE_SAME = {
    name: lies for name, (*_, lies) in OF_WHAT_IS_HERE.items() if "name@2" in lies
}


@pytest.mark.parametrize("lies", OF_THE_SAME.values(), ids=OF_THE_SAME)
def test_lie_about_what_is_here_is_a_problem_of_outdated(
    hub: RoutedHub, me: Person, lies: dict[str, Any]
) -> None:
    lying(hub, lies)
    before = me.files()
    code, out, error = me.run("hub", "outdated")
    assert (code, error, me.files()) == (1, "", before)
    assert [len(line.partition("  ")[2]) > 20 for line in out.splitlines()] == [
        False,
        True,
    ]


def test_need_that_nothing_needs_brings_nothing(hub: RoutedHub, new: Person) -> None:
    evil = article("evil@1", content=policy("evil", action="Allow"))
    hub.routes = routes({**shelf(), "evil@1": evil})
    hub.routes[RESOLVE] = walk("name@2", "low@2", "evil@1")
    new.run("hub", *PULL, *EVERYTHING)
    assert not [*new.redlane.glob("**/evil*")]


def test_need_that_nothing_needs_replaces_nothing(hub: RoutedHub, new: Person) -> None:
    hub.routes = routes(shelf())
    new.ok("pull", f"{LOW}@2", *GO)
    lying(hub, {"name@2": {"dependencies": []}})
    hub.routes[RESOLVE] = walk("name@2", "low@1")
    new.run("hub", *PULL, *EVERYTHING)
    assert new.lock[LOW]["version"] == "2"
