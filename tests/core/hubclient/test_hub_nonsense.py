"""A hub that answers `redlane hub pull` nonsense, or what is to fool who reads it."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import Answer, RoutedHub, json_answer, plain_answer
from hub_people import GO, Person, policy
from lying_hub import API, NAME, article, holding, lying, need, routes, shelf, walk

PULL = ("pull", NAME)
EVERYTHING = (*GO, "--allow-executable")
EVIL = "\x1b]0;evil\x07\x9b2J\r\n\u202e\u2066\u2028\u200b\x7fredlane: done"
"""A title, a cleared screen, another line, and letters from right to left."""
UNSEEN = "\u3164\u115f\u2800"
"""Letters by their kind, which nobody sees."""


@pytest.fixture
def new(hub: RoutedHub, tmp_path: Path) -> Person:
    """Somebody in a home of nothing, which has to stay so."""
    return Person(hub.address, tmp_path)


def of_name(answer: Answer) -> dict[str, Answer]:
    """The needs of NAME@2 are told like this."""
    return {f"{API}name/2/resolve": answer}


def of_search(*results: Any) -> dict[str, Answer]:
    return {f"{API}search": json_answer({"results": results, "total": 1})}


TRICKS = {
    **dict.fromkeys(("../x", "a/b", ".hidden", "", "a\x00", "a\n", "é", "a" * 129)),
    ".": None,
    "..": None,
    "/etc/passwd": None,
    "-x": None,
    "CON\u200b": None,
}
ROUTES: dict[str, tuple[int, str, dict[str, Answer]]] = {
    **{
        f"need called {ascii(trick)[:20]}": (
            *(4, "cannot be the name and version"),
            of_name(walk("name@2", f"{trick}@2")),
        )
        for trick in TRICKS
    },
    **{
        f"need in version {ascii(trick)[:20]}": (
            *(4, "cannot be the name and version"),
            of_name(walk("name@2", f"low@{trick}")),
        )
        for trick in ("../1", "", "1/2", "1\n", "1" * 65)
    },
    "needs of something else": (4, "it tells what low@2 needs", of_name(walk("low@2"))),
    "needs are left out": (1, "low@2 is needed", of_name(walk("name@2"))),
    "need is not found": (
        *(1, "low@2 is needed"),
        of_name(
            json_answer(
                {
                    "root": "name@2",
                    "dependencies": [need("low@2", depth=1, found=False)],
                }
            )
        ),
    ),
    "need in two versions": (
        *(1, "low is needed twice"),
        of_name(walk("name@2", "low@2", "low@1")),
    ),
    "root in two versions": (
        *(1, "name is needed twice"),
        of_name(walk("name@2", "low@2", "name@1")),
    ),
    "more than anybody needs": (
        *(1, "more than 1000 artifacts"),
        of_name(walk("name@2", *(f"n{each}@1" for each in range(1001)))),
    ),
    "needs that are no list": (
        *(4, "dependencies is no"),
        of_name(json_answer({"root": "name@2", "dependencies": {}})),
    ),
    "search of something else": (1, "lists no artifact 'name'", of_search()),
    "newest in no version": (
        *(4, "is no version"),
        of_search(article("name@../2")),
    ),
    "no JSON": (4, "no JSON", {f"{API}name/2": plain_answer(b"<html>")}),
    "nothing": (4, "", {f"{API}name/2": plain_answer(b"")}),
    "half a letter": (
        *(4, "no JSON"),
        {f"{API}name/2": plain_answer(b'{"content": "\\ud800"}')},
    ),
    "one key twice": (4, "no JSON", {f"{API}name/2": plain_answer(b'{"a":1,"a":2}')}),
    "depth": (4, "no JSON", {f"{API}name/2": plain_answer(b"[" * 99999)}),
    "redirect": (
        *(4, "redirects to"),
        {f"{API}name/2": plain_answer(b"", "302 Found", "Location: /elsewhere")},
    ),
    "no": (1, "the hub says: 402", {f"{API}name/2": plain_answer(b"", "402 Pay")}),
    "breakdown": (4, "answers 500", {f"{API}name/2": plain_answer(b"", "500 Oh")}),
    "too much": (
        *(4, "answers with more than"),
        {f"{API}name/2": plain_answer(b" " * (8 * 1024 * 1024 + 1))},
    ),
}


@pytest.mark.parametrize(("code", "says", "lies"), ROUTES.values(), ids=ROUTES)
def test_answer_that_is_none_brings_nothing(
    hub: RoutedHub, new: Person, code: int, says: str, lies: dict[str, Answer]
) -> None:
    hub.routes = {**routes(shelf()), **lies}
    new.refused(code, says, *PULL, *EVERYTHING)
    assert list(new.home.iterdir()) == []


def safe(told: str) -> bool:
    """Whether it has what a hub said, and nothing of it that steers a terminal."""
    steers = {each for each in told if not each.isprintable()} - {"\n"}
    return "evil" in told and not steers and "\nredlane: done" not in told


WORDS = {
    "question": PULL,
    "plan": (*PULL, *EVERYTHING),
    "rehearsal": (*PULL, "--dry-run", *EVERYTHING),
    "JSON": (*PULL, "--json"),
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_what_is_published_does_not_steer_a_terminal(
    hub: RoutedHub, new: Person, words: tuple[str, ...]
) -> None:
    evil = policy(EVIL, description=EVIL, pattern=EVIL, **{EVIL: EVIL})
    runs = policy("runs", type="Executable", pattern=f"/bin/true {EVIL}")
    texts = {"owner": EVIL, "description": EVIL, "tags": [EVIL]}
    lying(hub, {"name@2": {**texts, **holding([evil, runs])}})
    _, out, error = new.run("hub", *words, "--allow-executable")
    assert safe(out + error)


def test_reasons_do_not_steer_a_terminal(hub: RoutedHub, new: Person) -> None:
    lie = {"yanked": True, "yanked_reason": EVIL}
    hub.routes = routes(shelf())
    new.ok(*PULL, *GO)
    lying(hub, {"name@2": lie})
    assert safe(new.ok("outdated"))
    lying(hub, {"name@3": lie})
    code, _, error = new.run("hub", "pull", "name@3")
    assert (code, error.count("\n"), safe(error)) == (1, 1, True)


def test_what_a_hub_refuses_with_does_not_steer_a_terminal(
    hub: RoutedHub, new: Person
) -> None:
    hub.routes = {API: json_answer({"error": EVIL}, "403 Forbidden")}
    code, _, error = new.run("hub", *PULL)
    assert (code, error.count("\n"), safe(error)) == (1, 1, True)


@pytest.mark.parametrize("words", [PULL, (*PULL, "--dry-run")])
def test_unseen_letters_of_an_owner_are_shown(
    hub: RoutedHub, new: Person, words: tuple[str, ...]
) -> None:
    lying(hub, {"name@2": {"owner": f"ada{UNSEEN}@example.org"}})
    _, out, error = new.run("hub", *words)
    assert not {*UNSEEN} & {*out, *error}


def test_unseen_letters_of_a_reason_are_shown(hub: RoutedHub, new: Person) -> None:
    lying(hub, {"name@2": {"yanked": True, "yanked_reason": f"fine{UNSEEN}"}})
    assert not {*UNSEEN} & {*new.run("hub", *PULL)[2]}


def test_hash_is_of_the_content_that_comes(hub: RoutedHub, new: Person) -> None:
    """What others have published as text with white space is what it is."""
    content = {"type": "Simple", "id": "name-policy", "pattern": "é", "action": "Block"}
    text = '{"type": "Simple", "id": "name-policy", "pattern": "é", "action": "Block"}'
    digest = hashlib.sha256(text.encode()).hexdigest()
    lying(hub, {"name@2": {"content": content, "content_hash": digest}})
    new.ok(*PULL, *GO)
    assert new.lock[NAME]["content_hash"] == digest
