"""Policies that fail their own tests are neither pushed nor pulled; a real hub."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hub_people import GO, Person, people_of, policy

from redlane.hubclient import HubRefusedError

NAMES = map("tested-{}".format, count())
ALL = (*GO, "--allow-executable")
FAILS = {"match": ["nothing of it"]}
WRONG: dict[str, Any] = {"no object": "rm", "no list": {"match": "rm"}}
VERDICTS = {"verdicts": [{"role": "gone", "content": "x", "verdict": "BLOCK"}]}


@pytest.fixture(scope="module")
def publisher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    with people_of(tmp_path_factory.mktemp("hub"), "ada") as (_, (ada,)):
        yield ada


@pytest.fixture
def ada(publisher: Person, tmp_path: Path) -> Person:
    """Who publishes, in a home of nothing."""
    home = tmp_path / "ada"
    home.mkdir()
    return publisher.at(home)


@pytest.fixture
def me(publisher: Person, tmp_path: Path) -> Person:
    """Somebody without an account, in a home of nothing."""
    home = tmp_path / "me"
    home.mkdir()
    return Person(publisher.address, home)


@pytest.fixture
def name() -> str:
    return next(NAMES)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The file that a checker leaves where it runs."""
    return tmp_path / "made"


def carrying(name: str, tests: Any, **fields: Any) -> dict[str, Any]:
    return policy(name, tests=tests, **fields)


def marking(name: str, made: Path, tests: Any) -> dict[str, Any]:
    """A checker that leaves a file, and matches nothing but `x`."""
    command = f"/bin/sh -c 'touch {made}; exec grep -q x'"
    return carrying(name, tests, type="Executable", pattern=command)


def is_there(person: Person, named: str) -> bool:
    try:
        return person.artifact(named).id != ""
    except HubRefusedError:
        return False


def pushing(person: Person, name: str, content: Any) -> tuple[str, ...]:
    file = person.write(f"pushed/{name}.json", content)
    return ("push", str(file), "--name", name, "--version", "1")


def test_a_policy_that_fails_its_test_is_not_pushed(ada: Person, name: str) -> None:
    words = pushing(ada, name, [policy("other"), carrying(name, FAILS)])
    says = "nothing is published: a test fails: "
    ada.refused(1, says, *words)
    assert not is_there(ada, f"{name}@1")


def test_the_refusal_of_a_push_names_the_test(ada: Person, name: str) -> None:
    words = pushing(ada, name, carrying(name, {**FAILS, "not_match": [name]}))
    told = f"{name}: it must match (Shell): nothing of it: it does not match"
    ada.refused(1, told, *words)
    ada.refused(1, "a test fails (and 1 more): ", *words)


@pytest.mark.parametrize("tests", WRONG.values(), ids=WRONG)
def test_what_is_no_test_is_not_pushed(ada: Person, name: str, tests: Any) -> None:
    ada.refused(1, f"{name}: `tests`: ", *pushing(ada, name, carrying(name, tests)))
    assert not is_there(ada, f"{name}@1")


def test_what_passes_is_pushed_with_its_tests(ada: Person, name: str) -> None:
    tests = {"match": [name], "not_match": ["ls"]}
    ada.push(f"{name}@1", content=[carrying(name, tests)])
    assert ada.artifact(f"{name}@1").content == [carrying(name, tests)]


def test_checkers_are_run_for_a_push(ada: Person, name: str, made: Path) -> None:
    failing = marking(name, made, {"match": ["y"]})
    ada.refused(1, "it does not match", *pushing(ada, name, failing))
    assert made.exists()


def test_any_json_is_not_tested(ada: Person, name: str) -> None:
    content = [carrying(name, FAILS)]
    ada.push(f"{name}@1", "--any-json", content=content)
    assert is_there(ada, f"{name}@1")


def test_verdicts_of_roles_do_not_keep_from_pushing(ada: Person, name: str) -> None:
    ada.push(f"{name}@1", content=[carrying(name, VERDICTS)])
    assert is_there(ada, f"{name}@1")


def test_a_model_is_looked_for_as_the_settings_say(ada: Person, name: str) -> None:
    scored = {"id": name, "type": "MlClassifier", "action": "Block", "model": "none"}
    content = {**scored, "block_threshold": 0.9, "tests": {"match": ["x"]}}
    says = "it cannot be asked: model 'none'"
    ada.refused(1, says, *pushing(ada, name, content))


def test_an_artifact_that_fails_its_test_is_not_pulled(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}@1", [policy("other"), carrying(name, FAILS)])
    file = me.redlane / "policies" / "hub" / f"{name}.json"
    told = f"{file}: {name}: it must match (Shell): nothing of it: it does not match"
    says = f"nothing was changed, since a test of its own fails: {told}"
    me.refused(1, says, "pull", name, *GO)
    assert list(me.home.iterdir()) == []


def test_what_an_artifact_needs_is_tested_as_well(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}-low@1", [carrying(name, FAILS)])
    ada.publish(f"{name}@1", [policy("other")], needs=[f"{name}-low@1"])
    me.refused(1, "a test of its own fails", "pull", name, *GO)


def test_a_version_that_fails_its_test_does_not_take_the_place_of_another(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}@1", [carrying(name, {"match": [name]})])
    me.ok("pull", name, *GO)
    ada.publish(f"{name}@2", [carrying(name, FAILS)])
    for words in (("pull", name), ("update",)):
        me.refused(1, "a test of its own fails", *words, *GO)
    assert me.lock[name]["version"] == "1"


def test_a_dry_run_refuses_as_well(ada: Person, me: Person, name: str) -> None:
    ada.publish(f"{name}@1", [carrying(name, FAILS)])
    me.refused(1, "a test of its own fails", "pull", name, "--dry-run")


def test_what_is_here_already_and_fails_keeps_nothing_else_away(
    ada: Person, me: Person, name: str
) -> None:
    me.write("policies/own.json", carrying("own", FAILS))
    ada.publish(f"{name}@1", [carrying(name, {"match": [name]})])
    me.ok("pull", name, *GO)


@pytest.mark.parametrize("tests", WRONG.values(), ids=WRONG)
def test_what_is_no_test_is_a_warning_of_a_pull(
    ada: Person, me: Person, name: str, tests: Any
) -> None:
    ada.publish(f"{name}@1", [carrying(name, tests)])
    code, _, error = me.run("hub", "pull", name, *GO)
    file = me.redlane / "policies" / "hub" / f"{name}.json"
    assert code == 0
    assert error.splitlines()[0].startswith(f"warning: {file}: {name}: `tests`: ")
    assert name in me.lock


def test_a_pull_tells_the_warning_in_json(ada: Person, me: Person, name: str) -> None:
    ada.publish(f"{name}@1", [carrying(name, 5)])
    (warning,) = me.told("pull", name, *GO)["warnings"]
    assert warning["subject"] == name
    assert warning["message"] == "`tests`: must be an object, not 5"


def test_verdicts_of_roles_do_not_keep_from_pulling(
    ada: Person, me: Person, name: str
) -> None:
    ada.publish(f"{name}@1", [carrying(name, VERDICTS)])
    me.ok("pull", name, *GO)
    assert name in me.lock


NO_CONSENT: dict[str, tuple[str, ...]] = {
    "no word of programs": GO,
    "no word of the change": ("--trust-new", "--allow-executable"),
    "no word of the key": ("--yes", "--allow-executable"),
    "no more than shown": ("--dry-run", "--allow-executable"),
    "shown after all": (*ALL, "--dry-run"),
}


@pytest.mark.parametrize("words", NO_CONSENT.values(), ids=NO_CONSENT)
def test_a_checker_is_not_started_before_it_was_agreed(
    ada: Person, me: Person, name: str, made: Path, words: tuple[str, ...]
) -> None:
    tests = {"match": ["x"], "not_match": ["y"]}
    ada.publish(f"{name}@1", [marking(name, made, tests)])
    code, _, _ = me.run("hub", "pull", name, *words)
    assert code == (0 if "--dry-run" in words else 1)
    assert not made.exists()
    assert me.files() == {}


@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_checker_is_started_once_a_person_has_said_yes(
    ada: Person, me: Person, name: str, made: Path, answer: str, code: int
) -> None:
    ada.publish(f"{name}@1", [marking(name, made, {"match": ["x"]})])
    words = ("pull", name, "--trust-new", "--allow-executable")
    assert me.typing(*words, answers=(answer,))[0] == code
    assert made.exists() is (answer == "y")
    assert bool(me.files()) is (answer == "y")


def test_a_checker_that_passes_its_test_is_pulled(
    ada: Person, me: Person, name: str, made: Path
) -> None:
    tests = {"match": ["x"], "not_match": ["y"]}
    ada.publish(f"{name}@1", [marking(name, made, tests)])
    me.ok("pull", name, *ALL)
    assert made.exists()
    assert name in me.lock


def test_a_checker_that_fails_its_test_is_not_pulled(
    ada: Person, me: Person, name: str, made: Path
) -> None:
    ada.publish(f"{name}@1", [marking(name, made, {"match": ["y"]})])
    me.refused(1, "a test of its own fails", "pull", name, *ALL)
    assert made.exists()
    assert me.files() == {}


def test_a_pattern_that_fails_starts_no_checker(
    ada: Person, me: Person, name: str, made: Path
) -> None:
    checker = marking(f"{name}-runs", made, {"match": ["x"]})
    ada.publish(f"{name}@1", [carrying(name, FAILS), checker])
    me.refused(1, "a test of its own fails", "pull", name, *ALL)
    assert not made.exists()


def test_no_transform_is_run_for_a_pull(
    ada: Person, me: Person, name: str, made: Path
) -> None:
    transform = {"type": "Executable", "command": f"/usr/bin/touch {made}"}
    tests = {
        "match": [name],
        "verdicts": [{"role": "dev", "content": name, "verdict": "MODIFY"}],
    }
    fields = {"action": "Modify", "transform": transform}
    ada.publish(f"{name}@1", [carrying(name, tests, **fields)])
    me.ok("pull", name, *ALL, "--as-role", "dev")
    assert not made.exists()


HOSTILE = {
    "line break": "a\nredlane: forged",
    "right to left": "a\u202eb",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_refusal_is_one_line_whatever_was_published(
    ada: Person, me: Person, name: str, text: str
) -> None:
    failing = carrying(name, {"match": [text]})
    ada.publish(f"{name}@1", [failing])
    me.refused(1, "a test of its own fails", "pull", name, *GO)
    assert me.run("hub", "pull", name, *GO)[2].rstrip("\n").isprintable()
    ada.refused(1, "a test fails", *pushing(ada, f"{name}-mine", failing))
