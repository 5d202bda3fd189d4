"""Files of one's own stay what they are, whatever a lock says of them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, policy
from lying_hub import LOW, NAME, article, need, routes

MINE = "roles/mine.json"
PULL = ("pull", NAME, *GO)


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        has = (
            article(f"{NAME}@2", dependencies=[need(f"{LOW}@1")]),
            article(f"{NAME}@1", dependencies=[need(f"{LOW}@1")]),
            article(f"{LOW}@1"),
        )
        made.routes = routes({f"{e['name']}@{e['version']}": e for e in has})
        yield made


@pytest.fixture
def new(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing."""
    return Person(hub.address, tmp_path)


@pytest.fixture
def me(new: Person) -> Person:
    """Somebody who has pulled NAME@1, and has a policy of their own."""
    new.write("policies/own.json", policy("own"))
    new.ok("pull", f"{NAME}@1", *GO)
    return new


def claim(who: Person, *paths: str, of: str = NAME) -> None:
    """Have the lock say that these files were made of an artifact."""
    lock = who.read("hub.lock")
    for path in paths:
        digest = hashlib.sha256((who.redlane / path).read_bytes()).hexdigest()
        lock["artifacts"][of]["files"][path] = digest
    who.write("hub.lock", lock)


ROLES: dict[str, object] = {
    "of ones own policy": {"name": "mine", "policies": ["own"]},
    "of both": {"name": "mine", "policies": ["name-policy", "own"]},
    "with a remark": {"name": "mine", "policies": ["name-policy"], "description": "x"},
    "of nothing": {"name": "mine", "policies": []},
    "without a name": {"policies": ["name-policy"]},
}
NO_ROLES: dict[str, object] = {
    "no role": "{",
    "array": [],
    "policies that are a number": {"name": "mine", "policies": 5},
    "policies that are null": {"name": "mine", "policies": None},
    "policies that are objects": {"name": "mine", "policies": [{"id": "own"}]},
}


@pytest.mark.parametrize("role", (ROLES | NO_ROLES).values(), ids=ROLES | NO_ROLES)
@pytest.mark.parametrize("words", [("remove", NAME, "--yes"), ("update", *GO)])
def test_role_of_ones_own_that_a_lock_claims_stays(
    me: Person, words: tuple[str, ...], role: object
) -> None:
    file = me.write(MINE, role)
    before = file.read_bytes()
    claim(me, MINE)
    code, _, error = me.run("hub", *words)
    assert file.read_bytes() == before
    assert "internal error" not in error
    assert code in (0, 2)


def test_role_of_ones_own_that_a_lock_claims_keeps_nothing_from_being_removed(
    me: Person,
) -> None:
    me.write(MINE, {"name": "mine", "policies": ["own"]})
    claim(me, MINE)
    out = me.ok("remove", NAME, "--yes")
    assert f"! {MINE} was changed by hand: it stays" in out
    assert (me.lock, (me.redlane / MINE).exists()) == ({}, True)


def test_role_that_was_made_of_what_goes_is_removed(new: Person) -> None:
    new.ok(*PULL, "--as-role", "dev")
    new.ok("remove", NAME, "--yes")
    assert not (new.redlane / "roles/dev.json").exists()


CLAIMED = {
    "file of another artifact": f"policies/hub/{LOW}.json",
    "file of nobody": "policies/hub/nobody.json",
    "policy of ones own": "policies/own.json",
    "settings": "settings.json",
}


@pytest.mark.parametrize("path", CLAIMED.values(), ids=CLAIMED)
@pytest.mark.parametrize(
    "words", [("verify",), ("remove", NAME, "--yes"), ("update", *GO)]
)
def test_lock_that_gives_an_artifact_what_is_not_its_own_is_damaged(
    me: Person, words: tuple[str, ...], path: str
) -> None:
    if not (me.redlane / path).exists():
        me.write(path, {})
    claim(me, path)
    me.refused(2, "hub.lock is damaged", *words)
