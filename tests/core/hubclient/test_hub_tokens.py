"""A token goes to a hub that somebody named, and settings of hubs fail closed."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person
from lying_hub import NAME, article, routes

PULL = ("pull", NAME, *GO)


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        made.routes = routes({f"{NAME}@1": article(f"{NAME}@1")})
        yield made


@pytest.fixture
def new(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing."""
    return Person(hub.address, tmp_path)


@pytest.fixture
def me(new: Person) -> Person:
    """Somebody who has pulled NAME."""
    new.ok(*PULL)
    return new


TOKEN = "secret-token"


def authorized(hub: RoutedHub) -> set[str]:
    """What the hub was sent as a token since it was asked last."""
    sent, hub.sent = hub.sent, []
    lines = [line for each in sent for line in each.head.lower().splitlines()]
    assert sent
    return {each for each in lines if each.startswith("authorization:")}


Named = Callable[[Person], tuple[Person, tuple[str, ...]]]


def by_an_option(who: Person) -> tuple[Person, tuple[str, ...]]:
    return replace(who, address=""), ("--hub", who.address)


def by_the_environment(who: Person) -> tuple[Person, tuple[str, ...]]:
    return who, ()


def by_the_settings(who: Person) -> tuple[Person, tuple[str, ...]]:
    who.write("settings.json", {"hub": {"url": who.address}})
    return replace(who, address=""), ()


NAMED = {e.__name__: e for e in (by_an_option, by_the_environment, by_the_settings)}


@pytest.mark.parametrize("named", NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("words", [("pull", NAME), ("update",), ("outdated",)])
def test_token_of_the_environment_goes_to_a_hub_that_somebody_named(
    hub: RoutedHub, me: Person, named: Named, words: tuple[str, ...]
) -> None:
    who, flags = named(me)
    hub.sent = []
    replace(who, token=TOKEN).run("hub", *words, *flags)
    assert authorized(hub) == {f"authorization: bearer {TOKEN}"}


ASKING = [("update", *GO), ("pull", NAME, *GO), ("outdated",)]


@pytest.mark.parametrize("words", ASKING)
def test_token_of_the_environment_goes_to_no_hub_that_only_the_lock_names(
    hub: RoutedHub, me: Person, words: tuple[str, ...]
) -> None:
    hub.sent = []
    replace(me, address="", token=TOKEN).ok(*words)
    assert authorized(hub) == set()


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize("words", ASKING)
def test_login_goes_to_its_hub_that_only_the_lock_names(
    hub: RoutedHub, me: Person, words: tuple[str, ...], token: str
) -> None:
    kept = {"hub": hub.address, "email": "me@example.org", "token": "kept"}
    file = me.write(f"hub-logins/{quote(hub.address, safe='')}.json", kept)
    file.chmod(0o600)
    hub.sent = []
    replace(me, address="", token=token).ok(*words)
    assert authorized(hub) == {"authorization: bearer kept"}


SETTINGS: dict[str, tuple[Any, str]] = {
    "unknown name": ({"hub": {"require_signatures": True}}, "hub.require_signatures"),
    "dotted unknown name": ({"hub.require_signatures": True}, "hub.require_signatures"),
    "other case": ({"Hub": {"require_signature": True}}, "Hub"),
    "dotted other case": ({"HUB.require_signature": True}, "HUB.require_signature"),
    "other case within": ({"hub": {"Require_Signature": True}}, "Require_Signature"),
    "wrong type": ({"hub": {"require_signature": "yes"}}, "hub.require_signature"),
    "hub that is a text": ({"hub": "https://hub"}, "hub: must be an object"),
    "twice": (
        {"hub": {"require_signature": False}, "hub.require_signature": True},
        "given twice",
    ),
    "array": ([], "settings must be an object"),
    "null": (None, "settings must be an object"),
    "no JSON": ("{", "settings.json"),
    "empty": ("", "settings.json"),
}


@pytest.mark.parametrize(("value", "says"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_may_forbid_something_and_are_not_understood_forbid_all(
    new: Person, value: Any, says: str
) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    file = new.write("settings.json", text)
    new.refused(2, says, *PULL)
    assert str(file) in new.run("hub", *PULL)[2]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("to", ["nowhere.json", "settings.json", "."])
def test_settings_that_are_a_link_to_nothing_forbid_all(new: Person, to: str) -> None:
    file = new.redlane / "settings.json"
    new.redlane.mkdir()
    file.symlink_to(to)
    code, out, error = new.run("hub", *PULL)
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert str(file) in error
    assert [*new.redlane.iterdir()] == [file]


@pytest.mark.parametrize("value", [{"sevsh": {"nonsense": 1}}, {"unknown": 1}])
def test_settings_that_are_wrong_elsewhere_forbid_nothing(
    new: Person, value: object
) -> None:
    new.write("settings.json", value)
    new.ok(*PULL)
