"""What `redlane hub pull` asks, and what it refuses, against a real hub."""

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Circle:
    """Ada publishes, bob is recognised, and cyd is approved alone."""

    ada: Person
    bob: Person
    cyd: Person


@pytest.fixture(scope="module")
def circle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Circle]:
    directory = tmp_path_factory.mktemp("hub")
    with people_of(directory, "ada", "bob", "cyd") as (hub, people):
        hub.recognise("bob@example.org")
        yield Circle(*people)


@pytest.fixture
def ada(circle: Circle) -> Person:
    return circle.ada


@pytest.fixture
def me(circle: Circle, tmp_path: Path) -> Person:
    """Somebody without an account, in a home of nothing."""
    return Person(circle.ada.address, tmp_path)


@pytest.fixture
def name() -> str:
    return next(NAMES)


UNANSWERED: dict[str, tuple[bool, tuple[str, ...], str]] = {
    "unsigned": (False, ("--yes",), "say --trust-new"),
    "new key": (True, ("--yes",), "say --trust-new"),
    "change": (False, ("--trust-new",), "say --yes"),
    "change by JSON": (False, ("--trust-new", "--json"), "say --yes"),
}


@pytest.mark.parametrize(
    ("is_signed", "words", "says"), UNANSWERED.values(), ids=UNANSWERED
)
def test_without_a_terminal_what_no_flag_answers_is_refused(
    ada: Person,
    me: Person,
    name: str,
    *,
    is_signed: bool,
    words: tuple[str, ...],
    says: str,
) -> None:
    ada.publish(f"{name}@1", key=ada.new_key() if is_signed else None)
    me.refused(1, says, "pull", name, *words)
    assert list(me.home.iterdir()) == []


ANSWERS: dict[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "both": (("y", "YES"), (), 0),
    "no key": (("n",), (), 1),
    "no change": (("y", ""), (), 1),
    "change alone": (("y",), ("--trust-new",), 0),
    "key alone": (("y",), ("--yes",), 0),
}


@pytest.mark.parametrize(("answers", "flags", "code"), ANSWERS.values(), ids=ANSWERS)
def test_at_a_terminal_each_question_is_asked(
    ada: Person,
    me: Person,
    name: str,
    answers: tuple[str, ...],
    flags: tuple[str, ...],
    code: int,
) -> None:
    key = ada.new_key()
    ada.publish(f"{name}@1", key=key)
    assert me.typing("pull", name, *flags, answers=answers)[0] == code
    if code:
        assert me.files() == {}
    else:
        assert [*me.read("hub-trust.json")["publishers"]] == [fingerprint_of(key)]


def test_trusted_key_is_not_asked_about(ada: Person, me: Person, name: str) -> None:
    key = ada.new_key()
    ada.publish(f"{name}@1", key=key)
    me.ok("trust", fingerprint_of(key))
    me.ok("pull", name, "--yes")


@pytest.mark.parametrize("content", [RUNS, [policy(), REWRITES]], ids=["runs", "mod"])
def test_program_is_started_only_with_consent(
    ada: Person, me: Person, name: str, content: Any
) -> None:
    ada.publish(f"{name}-low@1", content)
    ada.publish(f"{name}@1", needs=[f"{name}-low@1"])
    me.refused(1, "say --allow-executable", "pull", name, *GO)
    me.ok("pull", name, *GO, "--allow-executable")
    assert len(me.lock) == 2


@pytest.mark.parametrize("is_signed", [False, True], ids=["unsigned", "by its word"])
def test_signature_that_can_be_checked_here_may_be_required(
    ada: Person,
    me: Person,
    name: str,
    *,
    is_signed: bool,
) -> None:
    me.write("settings.json", {"hub": {"require_signature": True}})
    publisher = ada.at(me.home / "ada")
    publisher.redlane.mkdir(parents=True)
    publisher.ok("keys", "generate")
    publisher.ok("keys", "add")
    low = publisher.publish(f"{name}-low@1", key=ada.new_key() if is_signed else None)
    publisher.push(f"{name}-set@1", "--member", low, "--sign")
    says = f"{low} is not signed so that it can be checked here"
    me.refused(1, says, "pull", f"{name}-set", *GO)
    me.ok("pull", publisher.push(f"{name}@1", "--sign"), *GO)


def test_recognised_publisher_may_be_required(
    circle: Circle, me: Person, name: str
) -> None:
    me.write("settings.json", {"hub": {"require_recognised": True}})
    theirs, ours = circle.ada.publish(f"{name}@1"), circle.bob.publish(f"{name}-bob@1")
    me.refused(1, "is not recognised by the hub", "pull", theirs, *GO)
    me.ok("pull", ours, *GO)


def test_endorsements_of_recognised_others_may_be_required(
    circle: Circle, me: Person, name: str
) -> None:
    me.write("settings.json", {"hub": {"require_endorsements": 1}})
    of_bob, of_ada = (
        circle.bob.publish(f"{name}-bob@1"),
        circle.ada.publish(f"{name}@1"),
    )
    circle.bob.endorse(of_bob)
    circle.cyd.endorse(of_ada)
    for each in (of_bob, of_ada):
        me.refused(1, "has the endorsement of 0 recognised", "pull", each, *GO)
    circle.bob.endorse(of_ada)
    me.ok("pull", of_ada, *GO)


@pytest.mark.parametrize(
    ("reason", "says"), [("eats files", "eats files"), (None, "no reason is told")]
)
def test_yanked_is_refused_with_its_reason(
    ada: Person, me: Person, name: str, reason: str | None, says: str
) -> None:
    ada.publish(f"{name}-low@1")
    ada.publish(f"{name}@1", needs=[f"{name}-low@1"])
    ada.yank(f"{name}-low@1", reason)
    told = f"{name}-low@1 was yanked by its publisher: {says}"
    me.refused(1, told, "pull", name, *GO)
