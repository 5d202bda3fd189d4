"""What somebody has asked for stays as it is, whatever else needs it or does not."""

from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, policy
from lying_hub import LOW, NAME, Shelf, article, need, routes

OTHER = "other"
NEEDS: dict[str, str] = {
    f"{NAME}@3": "",
    f"{NAME}@2": f"{LOW}@2",
    f"{NAME}@1": f"{LOW}@1",
    f"{LOW}@2": "",
    f"{LOW}@1": "",
    f"{OTHER}@1": f"{LOW}@2",
}
"""What the hub has, the newest first, and what each needs."""


def shelf(*missing: str) -> Shelf:
    found = {}
    for each, needed in NEEDS.items():
        needs = [need(needed)] if needed else []
        if each not in missing:
            content = [policy(each.replace("@", "-"))]
            found[each] = article(each, content=content, dependencies=needs)
    return found


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing."""
    hub.routes = routes(shelf())
    return Person(hub.address, tmp_path)


def asked(who: Person) -> Any:
    return who.read("hub.lock").get("asked")


def here(who: Person) -> set[str]:
    """What is here, as its files are."""
    who.ok("verify")
    return {f"{name}@{each['version']}" for name, each in who.lock.items()}


@pytest.mark.parametrize("words", [(), ("--dry-run",), ("--as-role", "dev")])
def test_what_was_asked_for_does_not_go_back_because_another_needs_that(
    me: Person, words: tuple[str, ...]
) -> None:
    me.ok("pull", f"{LOW}@2", *GO)
    says = f"{LOW} is here as 2, as was asked for, and what is pulled needs it as 1"
    me.refused(1, says, "pull", f"{NAME}@1", *GO, *words)


def test_what_was_asked_for_does_not_go_back_by_an_update(
    hub: RoutedHub, me: Person
) -> None:
    me.ok("pull", f"{OTHER}@1", *GO)
    me.ok("pull", f"{LOW}@2", *GO)
    me.ok("remove", OTHER, "--yes")
    hub.routes = routes(shelf(f"{NAME}@3", f"{NAME}@2"))
    me.refused(1, "which is older: remove it first", "pull", NAME, *GO)


def test_what_was_asked_for_goes_back_where_that_is_named(me: Person) -> None:
    me.ok("pull", f"{LOW}@2", *GO)
    me.ok("pull", f"{LOW}@1", *GO)
    me.ok("pull", f"{NAME}@1", *GO)
    assert here(me) == {f"{NAME}@1", f"{LOW}@1"}


def test_what_only_another_needed_goes_back_with_it(me: Person) -> None:
    me.ok("pull", f"{NAME}@2", *GO)
    me.ok("pull", f"{NAME}@1", *GO)
    assert here(me) == {f"{NAME}@1", f"{LOW}@1"}


def test_update_leaves_what_was_asked_for_as_another_needs_it(
    hub: RoutedHub, me: Person
) -> None:
    me.ok("pull", f"{LOW}@1", *GO)
    me.ok("pull", f"{NAME}@1", *GO)
    hub.routes = routes(shelf(f"{NAME}@3", f"{NAME}@2"))
    me.refused(0, "everything is as it was", "update", "--yes")


ORDERS = {"first": (f"{LOW}@2", f"{NAME}@2"), "later": (f"{NAME}@2", f"{LOW}@2")}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_what_was_asked_for_stays_when_what_needed_it_is_removed(
    me: Person, order: tuple[str, ...]
) -> None:
    for each in order:
        me.ok("pull", each, *GO)
    assert asked(me) == [LOW]
    me.ok("remove", NAME, "--yes")
    assert (here(me), asked(me)) == ({f"{LOW}@2"}, None)


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_what_was_asked_for_stays_when_what_needed_it_needs_it_no_more(
    me: Person, order: tuple[str, ...]
) -> None:
    for each in order:
        me.ok("pull", each, *GO)
    me.ok("update", *GO)
    assert (here(me), asked(me)) == ({f"{NAME}@3", f"{LOW}@2"}, None)


def test_what_was_asked_for_stays_through_what_else_comes_and_goes(me: Person) -> None:
    for each in (f"{LOW}@2", f"{NAME}@2", f"{OTHER}@1"):
        me.ok("pull", each, *GO)
    me.ok("remove", NAME, "--yes")
    assert asked(me) == [LOW]
    me.ok("remove", OTHER, "--yes")
    assert (here(me), asked(me)) == ({f"{LOW}@2"}, None)


def test_what_was_not_asked_for_goes_with_what_needed_it(me: Person) -> None:
    me.ok("pull", f"{NAME}@2", *GO)
    me.ok("remove", NAME, "--yes")
    assert here(me) == set()


def test_what_is_removed_with_what_needs_it_is_asked_for_no_more(me: Person) -> None:
    for each in (f"{LOW}@2", f"{NAME}@2"):
        me.ok("pull", each, *GO)
    me.ok("remove", LOW, NAME, "--yes")
    me.ok("pull", f"{NAME}@2", *GO)
    assert asked(me) is None


@pytest.mark.parametrize("named", [f"{LOW}@2", f"{NAME}@2"])
def test_what_can_be_seen_from_the_needs_is_not_written(me: Person, named: str) -> None:
    me.ok("pull", named, *GO)
    assert "asked" not in me.read("hub.lock")


def test_lock_that_does_not_say_what_was_asked_for_is_read(me: Person) -> None:
    for each in (f"{LOW}@2", f"{NAME}@2"):
        me.ok("pull", each, *GO)
    lock = me.read("hub.lock")
    del lock["asked"]
    me.write("hub.lock", lock)
    me.refused(0, "everything is as it was", "pull", f"{NAME}@2")
    me.ok("remove", NAME, "--yes")
    assert here(me) == set()


@pytest.mark.parametrize("value", [["../x"], [1], {"low": [], "a b": 1}, 1, [None]])
def test_lock_that_says_nonsense_of_what_was_asked_for_is_damaged(
    me: Person, value: object
) -> None:
    me.ok("pull", f"{LOW}@2", *GO)
    me.write("hub.lock", {**me.read("hub.lock"), "asked": value})
    me.refused(2, "hub.lock is damaged", "pull", f"{NAME}@2", *GO)


def test_what_was_asked_for_and_is_not_here_is_nothing(me: Person) -> None:
    me.ok("pull", f"{NAME}@2", *GO)
    me.write("hub.lock", {**me.read("hub.lock"), "asked": ["gone", LOW]})
    me.ok("remove", NAME, "--yes")
    assert (here(me), asked(me)) == ({f"{LOW}@2"}, None)
