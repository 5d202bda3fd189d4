"""What changes while `redlane hub` waits for an answer is not lost, nor agreed to."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import RoutedHub
from hub_people import GO, Person, policy
from lying_hub import KEY, LOW, NAME, OTHER, article, need, routes

from redlane.cli.hub import pulling
from redlane.cli.main import main

POLICIES, ROLE = f"policies/hub/{NAME}.json", "roles/dev.json"
UPDATE, REMOVE = ("update",), ("remove", NAME)
Change = Callable[[Person], Any]


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        low = article(f"{LOW}@1")
        second = [policy(f"{NAME}-2"), policy("both")]
        made.routes = routes(
            {
                f"{NAME}@2": article(
                    f"{NAME}@2", content=second, dependencies=[need(f"{LOW}@1")]
                ),
                f"{NAME}@1": article(f"{NAME}@1", content=[policy("both")]),
                f"{LOW}@1": low,
                "other@1": article("other@1"),
            }
        )
        yield made


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Somebody who has NAME@1 and a role of it, and another role."""
    found = Person(hub.address, tmp_path)
    found.write("policies/own.json", policy("own"))
    found.write("roles/mine.json", {"name": "mine", "policies": ["own"]})
    found.ok("pull", f"{NAME}@1", *GO, "--as-role", "dev")
    for name in ("REDLANE_HOME", "REDLANE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in found.environment.items():
        monkeypatch.setenv(name, value)
    return found


def edit_role(who: Person) -> None:
    who.write(ROLE, {"name": "dev", "policies": ["both", "own"]})


def remove_role(who: Person) -> None:
    (who.redlane / ROLE).unlink()


def save_new_policy(who: Person) -> None:
    who.write("policies/mine.json", [policy(f"{NAME}-2")])


def edit_pulled(who: Person) -> None:
    who.write(POLICIES, [policy("both", pattern="mine")])


def remove_pulled(who: Person) -> None:
    (who.redlane / POLICIES).unlink()


def save_beside_pulled(who: Person) -> None:
    who.write("policies/hub/mine.json", [policy("mine")])


def save_role_that_names_it(who: Person) -> None:
    who.write("roles/more.json", {"name": "more", "policies": [f"{NAME}-2"]})


def save_role_that_names_what_goes(who: Person) -> None:
    who.write("roles/more.json", {"name": "more", "policies": ["both"]})


def save_role_of_that_name(who: Person) -> None:
    who.write("roles/more.json", {"name": "dev", "policies": ["own"]})


def pull_another(who: Person) -> None:
    who.ok("pull", "other", *GO)


def trust_another(who: Person) -> None:
    who.ok("trust", OTHER)


def trust_no_more(who: Person) -> None:
    who.ok("untrust", KEY)


UPDATED = (
    edit_role,
    remove_role,
    save_new_policy,
    edit_pulled,
    remove_pulled,
    save_beside_pulled,
    save_role_that_names_it,
    pull_another,
    trust_another,
    trust_no_more,
)
REMOVED = (
    edit_role,
    edit_pulled,
    save_beside_pulled,
    save_role_that_names_what_goes,
    pull_another,
)
CASES = [(UPDATE, each) for each in UPDATED] + [(REMOVE, each) for each in REMOVED]


def answered(
    who: Person,
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: Change,
) -> int:
    """The exit status of a command; that happens before somebody says yes."""

    def agreed(_question: str, **_flags: Any) -> None:
        meanwhile(who)

    monkeypatch.setattr(pulling, "agreed", agreed)
    return main(["hub", *words])


@pytest.mark.parametrize(
    ("words", "change"), CASES, ids=[f"{w[0]}-{c.__name__}" for w, c in CASES]
)
def test_what_has_changed_meanwhile_is_refused_and_stays(
    me: Person,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    change: Change,
) -> None:
    after: dict[str, Any] = {}

    def meanwhile(who: Person) -> None:
        change(who)
        after.update(who.files())

    code = answered(me, words, monkeypatch, meanwhile)
    error = capsys.readouterr().err
    assert (code, me.files()) == (1, after), error
    assert any(each in error for each in ("try again", "did not come from a hub"))


def test_role_that_was_saved_meanwhile_under_the_name_of_a_new_one_stays(
    me: Person, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = {"name": "new", "policies": ["own"]}
    words = ("pull", "other", "--as-role", "new")
    code = answered(
        me, words, monkeypatch, lambda who: who.write("roles/new.json", mine)
    )
    assert (code, me.read("roles/new.json")) == (1, mine)
    assert "try again" in capsys.readouterr().err
    assert "other" not in me.lock


@pytest.mark.parametrize("words", [UPDATE, REMOVE])
def test_what_nobody_has_changed_meanwhile_is_done(
    me: Person, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    assert answered(me, words, monkeypatch, lambda _: None) == 0
    me.ok("verify")
    assert {name: each["version"] for name, each in me.lock.items()} == (
        {NAME: "2", LOW: "1"} if words == UPDATE else {}
    )


@pytest.mark.parametrize("words", [UPDATE, REMOVE])
def test_what_else_has_changed_meanwhile_is_nothing_to_it(
    me: Person, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    mine = [policy("mine")]
    done = answered(
        me, words, monkeypatch, lambda who: who.write("policies/more.json", mine)
    )
    assert (done, me.read("policies/more.json")) == (0, mine)
    me.ok("verify")


def test_refusal_names_the_file_that_has_changed(
    me: Person, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The role says the same, so that only its bytes are other ones.
    text = json.dumps(me.read(ROLE), indent=1)
    answered(me, UPDATE, monkeypatch, lambda who: who.write(ROLE, text))
    file = me.redlane / ROLE
    assert f"{file} has changed meanwhile: try again" in capsys.readouterr().err
    assert file.read_text() == text
