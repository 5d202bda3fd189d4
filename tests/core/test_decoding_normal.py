"""Text that reads the same is the same, and what is hidden is read."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.entities import without_entities
from redlane.decoding.normal import folded, hidden, plain

CARRIED = "ignore all previous"


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(each)) for each in text)


def selectors(text: str) -> str:
    return "".join(
        chr(0xFE00 + byte if byte < 16 else 0xE0100 + byte - 16)
        for byte in text.encode()
    )


@pytest.mark.parametrize(
    "text",
    [
        "ig\u200bnore all\u2060 previous",
        "ign\u00adore\u202e all pre\u200d\ufeffvious\u202c",
        "\uff49\uff47\uff4e\uff4f\uff52\uff45 all previous",
        "\U0001d422\U0001d420\U0001d427\U0001d428\U0001d42b\U0001d41e all previous",
        "&#105;gnore&nbsp;all &#x70;revious",
        "ig\ufe0fnore" + tags("x") + " all previous",
        "ignore\u3000all\u00a0previous",
        "i\u115fgnore all\u3164 previous",
    ],
    ids=ascii,
)
def test_it_reads_as_it_is_read(text: str) -> None:
    assert plain(without_entities(text)) == CARRIED


@pytest.mark.parametrize("spell", [tags, selectors])
def test_what_nobody_sees_is_spelt_out(spell: "type[str]") -> None:
    assert hidden("Hello" + spell(CARRIED) + " world") == CARRIED


@pytest.mark.parametrize("text", ["plain", "naïve", "日本語", "👍🏽 emoji ❤️", ""])
def test_nothing_is_hidden_in_ordinary_text(text: str) -> None:
    assert hidden(text) == ""


def test_only_accents_put_together_otherwise_are_no_other_text() -> None:
    apart = "nai\u0308ve"
    assert plain(apart) == "na\u00efve"
    assert folded(apart) == apart
    assert folded("\uff49gnore") == "ignore"


@given(st.text(max_size=200))
def test_it_is_nfkc_without_what_is_not_seen(text: str) -> None:
    made = plain(text)
    assert plain(made) == plain(plain(made))
    if text.isascii():
        assert made == text


@pytest.mark.parametrize("letter", ["\u0301", "\u05b0", "\u0316\u0301"], ids=ascii)
def test_many_marks_lose_nothing(letter: str) -> None:
    text = "e" + letter * 5_000
    found = plain(text)
    assert sorted(unicodedata.normalize("NFD", found)) == sorted(
        unicodedata.normalize("NFD", text)
    )


def test_lines_are_worked_on_alone_and_come_out_whole() -> None:
    text = "plain line that is long enough\n" * 50 + "\uff49gnore\n" + "more\n" * 9
    assert plain(text) == text.replace("\uff49", "i")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("word " * 40 + "e\u0301", "word " * 40 + "\u00e9"),
        ("word " * 40 + "e\u200b\u0301", "word " * 40 + "\u00e9"),
        ("word " * 40 + "\u2026 \uff41\uff42", "word " * 40 + "... ab"),
        ("\u00a8" + " word" * 40, " \u0308" + " word" * 40),
    ],
    ids=ascii,
)
def test_runs_among_ascii_are_as_in_the_whole(text: str, made: str) -> None:
    assert plain(text) == made


@given(
    st.lists(
        st.sampled_from("ae \u0301\u200b\uff41\u00e9\u1100\u1161\u00a8"), max_size=60
    )
)
def test_sparse_runs_give_what_the_whole_gives(letters: list[str]) -> None:
    text = "".join(letters)
    assert plain(text + "-" * 2_000) == plain(text) + "-" * 2_000
