"""A grammar of a few sentences stands for many texts, the same ones each time."""

from pathlib import Path

import pytest

from inbound.grammar import Grammar, GrammarError, read_grammar

FRUIT = """
# A remark.
[fruit]
{colour} apple
pear

[]
Eat {an|one} {fruit}.
{Fruit}s, in {{braces}}\\nfor {guest}
"""
COMMON = "[colour]\nred\ngreen\n\n[guest]\nAna\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "orders").mkdir()
    (tmp_path / "common.txt").write_text(COMMON)
    return tmp_path / "orders" / "fruit.txt"


def grammar(place: Path, text: str = FRUIT) -> Grammar:
    place.write_text(text)
    return read_grammar(place)


def test_slots_are_filled_from_lists_and_choices(place: Path) -> None:
    read = grammar(place)
    assert set(read.texts(read.sentences[0], 6, "1")) == {
        f"Eat {which} {fruit}."
        for which in ("an", "one")
        for fruit in ("red apple", "green apple", "pear")
    }


def test_capital_braces_and_line_breaks(place: Path) -> None:
    read = grammar(place)
    assert set(read.texts(read.sentences[1], 3, "1")) == {
        f"{fruit}s, in {{braces}}\nfor Ana"
        for fruit in ("Red apple", "Green apple", "Pear")
    }


def test_same_seed_draws_the_same(place: Path) -> None:
    read = grammar(place)
    drawn = {seed: read.texts(read.sentences[0], 3, seed) for seed in "12345"}
    assert drawn == {seed: read.texts(read.sentences[0], 3, seed) for seed in "12345"}
    assert len(set(map(tuple, drawn.values()))) > 1


WRONG = {
    "no such list": ("[]\nEat {stone}.\n", "'stone'"),
    "no such list in a list": ("[a]\n{b}\n\n[]\nEat {a}.\n", "'b'"),
    "a list in itself": ("[a]\n{a}\n\n[]\nEat {a}.\n", "holds itself"),
    "a slot in a slot": ("[]\nEat {an {fruit}|one}.\n", "a brace alone"),
    "a list that is none": ("[user]\nAna\n\n[]\nEat.\n", "nothing uses"),
    "a brace alone": ("[]\nEat }.\n", "a brace alone"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_meant_is_told(place: Path, text: str, told: str) -> None:
    with pytest.raises(GrammarError, match=told):
        grammar(place, text)
