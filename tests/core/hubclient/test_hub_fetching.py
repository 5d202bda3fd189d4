"""`redlane hub fetch` prints what was checked, installs nothing, and tells no lie."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import Answer, RoutedHub, json_answer, plain_answer
from hub_near import Near
from hub_people import GO, Person, fingerprint_of, people_of, policy
from hub_statements import stated_article
from lying_hub import (
    API,
    KEY,
    LOW,
    NAME,
    OTHER,
    article,
    holding,
    lying,
    need,
    routes,
    shelf,
)
from nacl.signing import SigningKey

from redlane.cli.hub import consents

HAND = SigningKey(bytes(range(32)))
HERS, REPLACED = fingerprint_of(HAND), {"key_fingerprint": OTHER}
NOBODY = {"signed": False, "key_fingerprint": None, "signature_valid": None}
NEW = "--trust-new"
EXACT = f"{NAME}@2"
UNSIGNED = article(EXACT, **NOBODY)
UNSTATED = article(EXACT, key_fingerprint=HERS)
STATED = stated_article(article(EXACT, tags=["model", "b"]), HAND)
ENDORSEMENTS = f"{API}{NAME}%402/endorsements"
Told = dict[str, Any]
Words = tuple[str, ...]


@pytest.fixture
def me(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing, and a hub that has NAME as version 1 and 2."""
    hub.routes = routes(shelf())
    return Near(hub.address, tmp_path)


@pytest.fixture
def owner(me: Person) -> Person:
    """Somebody who has pulled NAME@2 and what it needs."""
    me.ok("pull", NAME, *GO)
    return me


def telling(hub: RoutedHub, *told: Told) -> None:
    """Have it tell of these alone, the newest first."""
    hub.routes = routes({f"{each['name']}@{each['version']}": each for each in told})


def require_one_line(ended: tuple[int, str, str], code: int, says: str) -> None:
    """That it has failed so, in one line, and has printed nothing."""
    done, out, error = ended
    assert (done, out, error.count("\n")) == (code, "", 1), error
    assert error.startswith("redlane: ")
    assert error[:-1].isprintable()
    assert (says in error, "internal error" in error) == (True, False), error


def refused(who: Person, code: int, says: str, *words: str) -> None:
    """The same of a fetch, after which every file is what it was."""
    before = who.files()
    require_one_line(who.run("hub", "fetch", *words), code, says)
    assert who.files() == before


CONTENTS = [[policy()], {"é": {"a": "\u2028\n"}}, "text", [1e5, -0.5, 2**70], None]


@pytest.mark.parametrize("content", CONTENTS, ids=ascii)
def test_content_of_any_kind_is_printed_as_one_value(
    hub: RoutedHub, me: Person, content: Any
) -> None:
    telling(hub, article(EXACT, **holding(content), **NOBODY))
    out = me.ok("fetch", NAME, NEW)
    assert (json.loads(out), out.count("\n")) == (content, 1)
    assert list(me.home.iterdir()) == []


WORTH: dict[str, tuple[Told, str | None, bool]] = {
    "stated": (STATED, HERS, True),
    "by its word": (UNSTATED, HERS, False),
    "unsigned": (UNSIGNED, None, False),
    "unsigned, but a key": (article(EXACT, signed=False), None, False),
    "unsigned, but stated": ({**STATED, "signed": False}, None, False),
}


@pytest.mark.parametrize(("told", "key", "checked"), WORTH.values(), ids=WORTH)
def test_scripts_are_told_what_it_is_and_what_its_signature_is_worth(
    hub: RoutedHub, me: Person, told: Told, key: str | None, *, checked: bool
) -> None:
    telling(hub, told)
    same = ("name", "version", "owner", "tags", "content_hash", "content")
    assert me.told("fetch", NAME, NEW) == {
        "hub": me.address,
        **{each: told[each] for each in same},
        "key_fingerprint": key,
        "checked": checked,
    }


@pytest.mark.parametrize(("asked", "comes"), [("", "2"), ("@1", "1")])
def test_version_is_the_newest_or_the_one_that_is_named(
    me: Person, asked: str, comes: str
) -> None:
    assert me.told("fetch", f"{NAME}{asked}", NEW)["version"] == comes


@pytest.mark.parametrize("told", [STATED, UNSTATED], ids=["stated", "by its word"])
def test_new_key_is_all_that_is_written_and_is_asked_about_once(
    hub: RoutedHub, me: Person, told: Told
) -> None:
    telling(hub, told)
    me.ok("fetch", NAME, NEW)
    assert [*me.files()] == ["hub-trust.json"]
    (trusted,) = me.told("trusted")
    assert (trusted["fingerprint"], trusted["states"]) == (HERS, told is STATED)
    me.ok("fetch", NAME)


def test_unsigned_is_asked_about_each_time(hub: RoutedHub, me: Person) -> None:
    telling(hub, UNSIGNED)
    me.ok("fetch", NAME, NEW)
    refused(me, 1, f"say {NEW}", NAME)


def test_key_that_has_stated_is_asked_about_where_it_does_not(
    hub: RoutedHub, me: Person
) -> None:
    me.ok("trust", HERS)
    telling(hub, STATED)
    me.ok("fetch", NAME)
    telling(hub, UNSTATED)
    refused(me, 1, f"say {NEW}", NAME)
    me.ok("fetch", NAME, NEW)


@pytest.mark.parametrize("fields", [{}, NOBODY], ids=["new key", "unsigned"])
def test_without_a_terminal_what_no_flag_answers_is_refused(
    hub: RoutedHub, me: Person, fields: Told
) -> None:
    telling(hub, article(EXACT, **fields))
    refused(me, 1, f"say {NEW}", NAME, "--json")
    assert list(me.home.iterdir()) == []


def test_without_standard_input_it_is_refused_as_without_a_terminal(me: Person) -> None:
    command = ["sh", "-c", 'exec "$0" -m redlane hub fetch name <&-', sys.executable]
    done = subprocess.run(
        command, env=me.environment, text=True, capture_output=True, check=False
    )
    require_one_line((done.returncode, done.stdout, done.stderr), 1, f"say {NEW}")


@pytest.mark.parametrize("fields", [{}, NOBODY], ids=["new key", "unsigned"])
@pytest.mark.parametrize("answer", ["y", "n"])
def test_at_a_terminal_a_person_decides(
    hub: RoutedHub, me: Person, fields: Told, answer: str
) -> None:
    telling(hub, article(EXACT, **fields))
    done, asked = me.typing("fetch", NAME, answers=(answer,))
    written = ["hub-trust.json"] if (fields, answer) == ({}, "y") else []
    assert (done, [*me.files()]) == (int(answer == "n"), written), asked


UNWANTED: dict[str, tuple[Told, Words, str]] = {
    "no tag": ({"tags": ["models"]}, ("--tag", "model"), "has not the tag 'model'"),
    "no key": (NOBODY, ("--signed-by", KEY), "is not signed"),
    "the hub's word": ({}, ("--signed-by", KEY), "is not signed so that"),
    "older": ({}, ("--at-least", "10"), "is older than 10"),
    "no number": ({"version": "zz9"}, ("--at-least", "1"), "cannot be told from"),
}


@pytest.mark.parametrize(("fields", "words", "says"), UNWANTED.values(), ids=UNWANTED)
def test_what_is_not_as_the_options_want_it_is_refused(
    hub: RoutedHub, me: Person, fields: Told, words: Words, says: str
) -> None:
    telling(hub, article(EXACT, **fields))
    refused(me, 1, says, NAME, *words, NEW)


WANTED = ["--tag model", f"--signed-by {HERS.upper()}", "--at-least 2.0"]
WANTED += ["--at-least 1.9.9", "--at-least 2-rc1"]


@pytest.mark.parametrize("words", WANTED)
def test_what_is_as_the_options_want_it_is_taken(
    hub: RoutedHub, me: Person, words: str
) -> None:
    telling(hub, STATED)
    me.ok("fetch", NAME, *words.split(), NEW)


def test_key_in_the_place_of_another_signs_for_it(hub: RoutedHub, me: Person) -> None:
    telling(hub, STATED)
    refused(me, 1, f"is signed by {HERS}, and not", NAME, "--signed-by", KEY, NEW)
    me.ok("trust", HERS, "--replaces", KEY)
    me.ok("fetch", NAME, "--signed-by", KEY)
    me.ok("untrust", HERS)
    refused(me, 1, f"is signed by {HERS}, and not", NAME, "--signed-by", KEY, NEW)


FLOORS = ("", "latest", "9" * 5000)
USAGE: dict[str, Words] = {
    **{each or "empty": (each,) for each in ("", "a/b", "a@", "@1")},
    "no fingerprint": (NAME, "--signed-by", "1" * 63),
    **{f"at least {each[:9]!r}": (NAME, "--at-least", each) for each in FLOORS},
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE)
def test_wrong_usage_sends_nothing(hub: RoutedHub, me: Person, words: Words) -> None:
    before = len(hub.sent)
    refused(me, 2, "", *words, NEW)
    assert (len(hub.sent), list(me.home.iterdir())) == (before, [])


BROKEN, NEEDS = (1, "has signed is of something else"), [need(f"{LOW}@2")]
LIES: dict[str, tuple[int, str, Told]] = {
    "another content": (1, "has not the hash", {"content": [policy("evil")]}),
    "another hash": (1, "has not the hash", {"content_hash": "0" * 64}),
    "signature that fails": (1, "does not hold", {"signature_valid": False}),
    "signature of unknown": (1, "does not hold", {"signature_valid": None}),
    "statement of other needs": (*BROKEN, {**STATED, "dependencies": NEEDS}),
    "statement of another content": (*BROKEN, {**STATED, **holding("evil")}),
    "statement by another key": (*BROKEN, {**STATED, "key_fingerprint": KEY}),
    "no statement": (*BROKEN, {"content_schema": {"redlane-statement": None}}),
    "yanked": (1, "by its publisher: no reason is told", {"yanked": True}),
    "yanked, it says why": (1, "why: x", {"yanked": True, "yanked_reason": "why: x"}),
    "signed by no key": (4, "is signed by no key", {"key_fingerprint": None}),
    "another name": (4, "it tells of other@2", {"name": "other"}),
    "another version": (4, "it tells of name@1", {"version": "1"}),
    "tags that are no list": (4, "tags is no", {"tags": "model"}),
}


@pytest.mark.parametrize(("code", "says", "lie"), LIES.values(), ids=LIES)
def test_lie_is_refused_whoever_says_yes(
    hub: RoutedHub, me: Person, code: int, says: str, lie: Told
) -> None:
    lying(hub, {EXACT: lie})
    refused(me, code, says, EXACT, NEW)
    assert list(me.home.iterdir()) == []


ODD: dict[str, tuple[int, str, str, Answer]] = {
    "nothing there": (1, EXACT, "the hub says: ", json_answer({}, "404 Not Found")),
    "not listed": (1, NAME, "no artifact", json_answer({"results": [], "total": 0})),
    "breakdown": (4, NAME, "answers 500", plain_answer(b"", "500 Oh")),
    "no JSON": (4, EXACT, "no JSON", plain_answer(b"<html>")),
    "steers": (1, NAME, "evil", json_answer({"error": "evil\x1b[2J\nx"}, "403 No")),
}


@pytest.mark.parametrize(("code", "named", "says", "answer"), ODD.values(), ids=ODD)
def test_answer_that_brings_nothing_is_told(
    hub: RoutedHub, me: Person, code: int, named: str, says: str, answer: Answer
) -> None:
    hub.routes = {API: answer}
    refused(me, code, says, named, NEW)


def test_hub_that_does_not_answer_is_told_apart(me: Person) -> None:
    refused(replace(me, address="http://127.0.0.1:1"), 4, "cannot be reached", NAME)


@pytest.mark.parametrize("version", ["", "../2", "2\n", "9" * 5000])
def test_newest_in_a_version_that_is_none_is_nonsense(
    hub: RoutedHub, me: Person, version: str
) -> None:
    told = {**article(EXACT), "version": version}
    found = json_answer({"results": [told], "total": 1})
    hub.routes = {f"{API}search": found, f"{API}{NAME}/": json_answer(told)}
    refused(me, 4, "nonsense", NAME, "--at-least", "1", NEW)


SETTINGS: dict[str, tuple[str, Any, Told]] = {
    "signed so that it can be checked": ("require_signature", True, UNSTATED),
    "not recognised": ("require_recognised", True, STATED),
    "endorsement of 0 recognised": ("require_endorsements", 1, STATED),
}


@pytest.mark.parametrize(("says", "case"), SETTINGS.items(), ids=SETTINGS)
def test_settings_are_heeded_whoever_says_yes(
    hub: RoutedHub, me: Person, says: str, case: tuple[str, Any, Told]
) -> None:
    setting, value, told = case
    me.write("settings.json", {"hub": {setting: value}})
    telling(hub, told)
    hub.routes[ENDORSEMENTS] = json_answer([])
    refused(me, 1, says, NAME, NEW)


LATER, EARLIER = ({"created_at": f"2026-01-{day}T00:00:00Z"} for day in ("09", "01"))
HERE: dict[str, tuple[str, str, Told]] = {
    "another hash": (EXACT, "A version never changes", {EXACT: holding("evil")}),
    "another key": (EXACT, f"is signed by {OTHER}", {EXACT: REPLACED}),
    "no signature": (NAME, "is not signed", {f"{NAME}@3": {**LATER, **NOBODY}}),
    "newest is lower": (NAME, "which is older", {f"{NAME}@1.9": LATER}),
    "newest is earlier": (NAME, "which is older", {f"{NAME}@3": EARLIER}),
    "looks like it": ("narne", f"looks like {NAME}", {"narne@1": REPLACED}),
}


@pytest.mark.parametrize(("named", "says", "lies"), HERE.values(), ids=HERE)
def test_lie_about_what_was_pulled_is_refused_whoever_says_yes(
    hub: RoutedHub, owner: Person, named: str, says: str, lies: Told
) -> None:
    lying(hub, lies)
    refused(owner, 1, says, named, NEW)


@pytest.mark.parametrize("named", [EXACT, f"{LOW}@2"], ids=["with needs", "alone"])
def test_what_was_pulled_is_had_although_its_key_was_replaced(
    owner: Person, named: str
) -> None:
    owner.ok("trust", OTHER, "--replaces", KEY)
    owner.ok("fetch", named)


def test_yanked_is_had_where_it_was_pulled(hub: RoutedHub, owner: Person) -> None:
    lying(hub, {EXACT: {"yanked": True}})
    owner.ok("fetch", EXACT)


def test_refusal_of_what_is_yanked_is_one_line(hub: RoutedHub, owner: Person) -> None:
    owner.write("settings.json", {"hub": {"require_endorsements": 1}})
    lying(hub, {EXACT: {"yanked": True}})
    hub.routes[ENDORSEMENTS] = json_answer([])
    refused(owner, 1, "recognised accounts", EXACT)


def test_trust_that_somebody_else_has_changed_meanwhile_stays(
    me: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_agreed(_: str, **_flags: str) -> bool:
        me.ok("trust", OTHER)
        return True

    monkeypatch.setattr(consents, "is_agreed", is_agreed)
    require_one_line(me.run("hub", "fetch", NAME), 1, "try again")
    assert [each["fingerprint"] for each in me.told("trusted")] == [OTHER]


def test_real_hub_gives_what_was_pushed_until_it_is_yanked(tmp_path: Path) -> None:
    content = {"files": {"model.onnx": "é"}}
    with people_of(tmp_path, "ada") as (_, (account,)):
        ada, me = account.at(tmp_path / "ada"), Person(account.address, tmp_path)
        ada.redlane.mkdir(parents=True)
        ada.ok("keys", "generate")
        ada.ok("keys", "add")
        words = ("--any-json", "--sign", "--tag", "model")
        ada.push("small@1", *words, content=content)
        told = me.told("fetch", "small", "--tag", "model", NEW)
        assert (told["content"], told["checked"]) == (content, True)
        me.ok("fetch", "small@1", "--signed-by", told["key_fingerprint"])
        ada.yank("small@1", "too small")
        refused(me, 1, "too small", "small@1", NEW)
