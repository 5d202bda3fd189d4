"""N-grams: what a model without a transformer sees of a text."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_match_ml import ngrams
from redlane_match_ml.ngrams import blocks

SIZE, STRIDE = 6, 4
WORDS = st.text(st.sampled_from("aZé3!-_漢字ß \n\u0301"), max_size=400)


def seen(text: str, size: int = SIZE) -> list[tuple[frozenset[int], tuple[int, int]]]:
    """Each window: its n-grams, and which characters it is of."""
    return [
        (frozenset(block.hashes[first:last].tolist()), place)
        for block in blocks(text, size, STRIDE)
        for first, last, place in zip(
            block.bounds[:-1], block.bounds[1:], block.places, strict=True
        )
    ]


def only(text: str) -> frozenset[int]:
    """The n-grams of a text of one window."""
    [(found, _)] = seen(text, 1000)
    return found


ALIKE = {
    "case": ("Ignore All STRASSE", "ignore all straße"),
    "white space": ("ignore\n\n  all", "ignore all"),
    "wide letters": ("\uff49gnore", "ignore"),
    "accents": ("cafe\u0301", "caf\u00e9"),
    "accents where none belong": ("i\u0301gn\u00f6re", "ignore"),
    "what is invisible": ("ig\u200bno\u00adre", "ignore"),
    "letters that look alike": ("\u0456gn\u043er\u0415", "ignore"),
    "which digits": ("call 4917 now", "call 23 now"),
    "how long a rule is": ("a ======== b", "a == b"),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_it_makes_no_difference(one: str, other: str) -> None:
    assert only(one) == only(other)


DIFFERENT = {
    "order of words": ("send the keys to me", "me to send the keys"),
    "marks": ("stop", "stop!"),
    "where a word ends": ("no table", "not able"),
    "words of another script": ("\u0440\u0443\u0441", "pyc"),
    "a word more": ("delete it", "delete it all"),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_it_makes_a_difference(one: str, other: str) -> None:
    assert only(one) != only(other)


def test_word_in_another_form_is_nearly_the_same() -> None:
    one, other = only("instruction"), only("instructions")
    assert len(one & other) > len(one) / 2


def test_languages_without_spaces_are_read_by_the_character() -> None:
    assert only("指示") < only("前の指示を")


def test_nothing_has_one_window_of_nothing() -> None:
    for text in ("", " \n ", "\u0301"):
        [(found, _)] = seen(text)
        assert not found


@given(WORDS)
def test_windows_are_of_all_tokens_and_overlap(text: str) -> None:
    places = [place for _, place in seen(text)]
    tokens = [(start, end) for _, start, end in ngrams._tokens(text)]

    for at, place in enumerate(places):
        inside = tokens[at * STRIDE : at * STRIDE + SIZE]
        assert place == ((inside[0][0], inside[-1][1]) if inside else (0, 0))
    assert not tokens or places[-1][1] == tokens[-1][1]


@given(WORDS, st.integers(1, 4))
def test_how_many_are_looked_at_together_changes_nothing(text: str, count: int) -> None:
    together = seen(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngrams, "_AT_ONCE", count)
        assert seen(text) == together


def test_text_is_read_as_far_as_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = 0

    def counted(text: str) -> Iterator[ngrams._Token]:
        nonlocal read
        for each in tokens(text):
            read += 1
            yield each

    tokens = ngrams._tokens
    monkeypatch.setattr(ngrams, "_tokens", counted)
    next(blocks("a " * 100_000, SIZE, STRIDE))
    assert read < 1000
