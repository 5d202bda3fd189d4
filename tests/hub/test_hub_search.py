"""Searching: what is found, by whom, in which order, and how far it looks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


@pytest.fixture
def bob(running: Running) -> Publisher:
    return new_publisher(running, "bob@example.com")


def search(running: Running, token: str | None = None, **query: Any) -> dict[str, Any]:
    found = running.call("GET", f"{ARTIFACTS}/search", token, params=query)
    assert found.status_code == 200, found.text
    answer: dict[str, Any] = found.json
    assert list(answer) == ["results", "total"]
    return answer


def names(running: Running, token: str | None = None, **query: Any) -> list[str]:
    return [each["name"] for each in search(running, token, **query)["results"]]


def test_an_empty_hub_has_nothing(running: Running, ann: Publisher) -> None:
    for token in (None, ann.token):
        assert search(running, token) == {"results": [], "total": 0}
        assert search(running, token, q="a") == {"results": [], "total": 0}


def test_the_newest_come_first(running: Running, ann: Publisher) -> None:
    for name in ("a", "c", "b"):
        ann.publish(name)
        running.clock.advance(seconds=1)
    assert names(running) == ["b", "c", "a"]
    assert names(running, ann.token) == ["b", "c", "a"]


def test_one_sees_ones_own_beside_the_public(
    running: Running, ann: Publisher, bob: Publisher
) -> None:
    ann.publish("ann-private", visibility="private", tags=["t"])
    bob.publish("bob-public", tags=["t"])
    ann.publish("ann-draft", visibility="draft", tags=["t"])
    bob.publish("bob-private", visibility="private", tags=["t"])
    ann.publish("ann-public", tags=["t"])
    seen = ["ann-public", "ann-draft", "bob-public", "ann-private"]
    for query in ({}, {"tag": "t"}, {"q": "-P"}, {"q": "b"}, {"q": "ann-p"}):
        expected = [
            name
            for name in seen
            if query.get("q", "").lower() in name or query == {"tag": "t"}
        ]
        found = search(running, ann.token, **query)
        assert [each["name"] for each in found["results"]] == expected
        assert found["total"] == 4
    assert names(running) == ["ann-public", "bob-public"]
    assert names(running, bob.token) == ["ann-public", "bob-private", "bob-public"]
    assert names(running, ann.token, limit=2, offset=1) == ["ann-draft", "bob-public"]
    assert names(running, ann.token, limit=2, offset=3) == ["ann-private"]


def test_the_total_does_not_depend_on_the_query(
    running: Running, ann: Publisher
) -> None:
    for name in ("a", "b", "c"):
        ann.publish(name, tags=[name])
    ann.publish("d", visibility="draft")
    for query in ({}, {"q": "a"}, {"tag": "zz"}, {"limit": 1}, {"offset": 100}):
        assert search(running, **query)["total"] == 3
        assert search(running, ann.token, **query)["total"] == 4


def test_yanked_ones_are_not_found(running: Running, ann: Publisher) -> None:
    made = [
        ann.publish(name, tags=["t"], visibility=visibility).json["id"]
        for name, visibility in (("one", "public"), ("two", "private"))
    ]
    for each in made:
        assert (
            running.call(
                "POST", f"{ARTIFACTS}/{each}/yank", ann.token, json={}
            ).status_code
            == 204
        )
    for query in ({}, {"q": "o"}, {"q": "tw"}, {"q": "one"}, {"tag": "t"}):
        for token in (None, ann.token):
            asked = {**query, "include_yanked": "true"}
            assert search(running, token, **asked) == {"results": [], "total": 0}
    for each in made:
        running.call("DELETE", f"{ARTIFACTS}/{each}/yank", ann.token)
    for query in ({}, {"q": "o"}, {"tag": "t"}):
        assert names(running, ann.token, **query) == ["two", "one"]


def test_a_tag_is_exact_and_takes_precedence(running: Running, ann: Publisher) -> None:
    ann.publish("a", tags=["Tag", "x"])
    ann.publish("b", tags=["tag"], description="Tag")
    assert names(running, tag="Tag") == ["a"]
    assert names(running, tag="ta") == []
    assert names(running, tag="Tag", q="nothing like it") == ["a"]
    assert names(running, tag="", q="b") == ["b"]
    assert names(running, tag="", q="") == ["b", "a"]


LITERAL = ["%", "_", "a%b", "a_b", '"', '""', "*", "a*", "^a", "a OR b", "NEAR(a b)"]
LITERAL += [
    "\\",
    "-a",
    "a-b",
    "name:a",
    "(",
    "'",
    ";",
    "\t",
    "\x00",
    "a\x00b",
    "\x00\x00",
]
LITERAL += ["\ufffd\ufffd\ufffd", "\uffff\uffff\uffff", "😀", "😀😀😀", "\u200b"]


@pytest.mark.parametrize("text", LITERAL, ids=ascii)
def test_q_is_literal_text(running: Running, ann: Publisher, text: str) -> None:
    plain = "aXb a-x name a b near \ufffe\ufffe\ufffe"
    ann.publish("plain", description=plain)
    ann.publish("marked", description=f"..{text}..")
    assert names(running, q=f".{text}.") == ["marked"]
    others = ["plain"] if text in plain else []
    assert names(running, q=text) == ["marked", *others]


FOLDED = {
    "sharp s": ("straße", "STRASSE"),
    "two for one": ("maße", "ASS"),
    "sigma": ("ὈΔΥΣΣΕΎΣ", "ὀδυσσεύς"),
    "dotted capital i": ("İstanbul", "İSTANBUL"),
    "Cherokee": ("\u13a0\u13a1\u13a2", "\uab70\uab71\uab72"),
    "kelvin": ("10 \u212a", "10 k"),
    "beyond the first plane": (
        "\U00010400\U00010401\U00010402",
        "\U00010428\U00010429",
    ),
}


@pytest.mark.parametrize(("stored", "asked"), FOLDED.values(), ids=FOLDED)
def test_q_ignores_case_in_all_scripts(
    running: Running, ann: Publisher, stored: str, asked: str
) -> None:
    ann.publish("a", description=stored)
    ann.publish("b", description="something else")
    assert names(running, q=asked) == ["a"]


def test_q_looks_at_name_and_description_apart(
    running: Running, ann: Publisher
) -> None:
    ann.publish("first", description="second")
    assert names(running, q="FIRST") == names(running, q="eco") == ["first"]
    assert names(running, q="firstsecond") == names(running, q="ts") == []


def test_a_long_q_must_match_as_a_whole(running: Running, ann: Publisher) -> None:
    start, end = "s" * 70 + "tart", "e" * 70 + "nd"
    ann.publish("right", description=f"{start} middle {end}")
    ann.publish("wrong", description=f"{start} muddle {end}")
    assert names(running, q=f"{start} middle {end}") == ["right"]
    assert names(running, q="z" * 12_000) == []


LIMITS = {
    "default": ({}, 20),
    "zero": ({"limit": "0"}, 1),
    "negative": ({"limit": "-5"}, 1),
    "most": ({"limit": "101"}, 25),
    "huge": ({"limit": "9" * 30}, 25),
    "offset": ({"offset": "20"}, 5),
    "negative offset": ({"offset": "-1"}, 20),
    "beyond": ({"offset": "25"}, 0),
    "huge offset": ({"offset": "9" * 30}, 0),
    "far negative offset": ({"offset": "-" + "9" * 30}, 20),
    "junk of another name": ({"page": "x"}, 20),
}


@pytest.mark.parametrize(("query", "count"), LIMITS.values(), ids=LIMITS)
def test_limit_and_offset_are_clamped(
    running: Running, ann: Publisher, query: dict[str, str], count: int
) -> None:
    for turn in range(25):
        ann.publish(f"a-{turn}", tags=["t"])
    for more in ({}, {"q": "a"}, {"q": "A-"}, {"tag": "t"}):
        assert len(names(running, **query, **more)) == count


@pytest.mark.parametrize(
    "query", ["limit=x", "limit=", "limit=1.5", "offset=x", "offset=0x1", "q=%ff"]
)
def test_what_is_no_number_or_text_is_refused(running: Running, query: str) -> None:
    refused = running.call("GET", f"{ARTIFACTS}/search?{query}")
    assert refused.status_code == 400
    assert list(refused.json) == ["error"]


def test_pages_join_to_the_whole(running: Running, ann: Publisher) -> None:
    for turn in range(7):
        ann.publish(f"n{turn}", visibility="private" if turn % 2 else "public")
    every = names(running, ann.token)
    paged = [
        name
        for offset in range(0, 9, 3)
        for name in names(running, ann.token, limit=3, offset=offset)
    ]
    assert paged == every
    assert len(every) == 7
