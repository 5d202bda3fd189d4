"""What `redlane review` shows, and what its keys may decide."""

from typing import Any

import pytest
from core.review_documents import review
from hypothesis import given
from hypothesis import strategies as st

from redlane.cli.review_board import Board, Wish
from redlane.cli.review_screen import News

KEYS = ["a", "b", "t", "j", "k", " ", "n", "x", "\n", "\x7f", "KEY_DOWN", "KEY_PPAGE"]


def board(*reviews: dict[str, Any], height: int = 30) -> Board:
    """A screen on which these have just been drawn."""
    made = Board(width=60, height=height)
    made.update(reviews)
    drawn(made)
    return made


def drawn(shown: Board) -> list[str]:
    return [line for line, _ in shown.rows()]


def chosen(shown: Board) -> str:
    return next((line for line, is_chosen in shown.rows() if is_chosen), "")


@pytest.mark.parametrize(
    ("key", "wish"),
    [
        ("a", Wish("r1", "allow")),
        ("t", Wish("r1", "allow", seconds=600)),
        ("b", Wish("r1", "block")),
        ("x", None),
    ],
)
def test_key_decides_the_chosen_one(key: str, wish: Wish | None) -> None:
    assert board(review("r1"), review("r2")).press(key) == wish


def test_arrows_choose() -> None:
    shown = board(review("r1", "one"), review("r2", "two"))
    shown.press("KEY_DOWN")
    assert "two" in chosen(shown)
    assert shown.press("b") == Wish("r2", "block")
    shown.press("KEY_DOWN")
    shown.press("KEY_UP")
    assert "one" in chosen(shown)
    shown.press("G")
    assert "two" in chosen(shown)
    shown.press("g")
    assert "one" in chosen(shown)


def test_those_that_are_the_same_are_one_line() -> None:
    same = [review(f"r{number}", "one", subject="s") for number in range(3)]
    shown = board(*same, review("r9", "two"))
    assert "(and 2 more)" in chosen(shown)
    shown.press("KEY_DOWN")
    assert "two" in chosen(shown)
    shown.press("KEY_UP")
    shown.decided(Wish("r0", "allow"), "")
    shown.press("KEY_DOWN")
    drawn(shown)
    assert shown.press("b") == Wish("r1", "block")


def test_nothing_is_allowed_that_was_not_read_to_its_end() -> None:
    shown = board(review("r1", "a\n" * 100), height=20)
    assert shown.press("a") is None
    assert "read it to its end" in shown.message
    assert shown.press("b") == Wish("r1", "block")
    for _ in range(20):
        shown.press(" ")
        drawn(shown)
    assert shown.press("a") == Wish("r1", "allow")


def test_pages_that_were_not_drawn_were_not_read() -> None:
    shown = board(review("r1", "a\n" * 500), height=20)
    for _ in range(60):
        shown.press(" ")
    drawn(shown)
    assert shown.press("a") is None


def test_other_width_is_to_be_read_again() -> None:
    shown = board(review("r1", "a " * 2000), height=20)
    for _ in range(60):
        shown.press(" ")
        drawn(shown)
    shown.resize(20, 200)
    assert shown.press("a") is None
    drawn(shown)
    assert shown.press("a") is None


def test_no_line_of_a_content_passes_for_one_of_ours() -> None:
    forged = "ls #" + " " * 54 + "content (2 characters, 1 lines):"
    lines = drawn(board(review("r1", forged)))
    assert [line for line in lines if line.startswith("content")] == [
        f"content ({len(forged)} characters, 1 lines):"
    ]


def test_what_was_typed_ahead_allows_nothing() -> None:
    shown = board(review("r1"), review("r2"))
    shown.press("j")
    assert shown.press("a") is None


def test_chosen_one_stays_when_it_is_over_and_is_decided_no_more() -> None:
    shown = board(review("r1", "one"), review("r2", "two"), review("r3", "three"))
    shown.press("j")
    shown.update([review("r1", "one"), review("r3", "three")])
    assert "over" in chosen(shown)
    assert "two" in chosen(shown)
    assert shown.press("b") is None
    shown.press("j")
    assert "three" in chosen(shown)


def test_what_comes_changes_no_choice() -> None:
    shown = board(review("r1", "one"))
    shown.update([review("r0", "zero"), review("r1", "one"), review("r2", "two")])
    assert "one" in chosen(shown)


def test_note_goes_with_one_decision() -> None:
    shown = board(review("r1"))
    for key in "nwhaz\x7ft\n":
        shown.press(key)
    assert "note: what" in drawn(shown)[-1]
    wish = shown.press("a")
    assert wish == Wish("r1", "allow", note="what")
    shown.decided(wish, "r1 is allowed")
    assert shown.press("b") is None
    assert "what" not in drawn(shown)[-1]


def test_letters_of_a_note_decide_nothing() -> None:
    shown = board(review("r1"))
    assert [shown.press(key) for key in "nabt"] == [None] * 4
    assert [shown.press(key) for key in ("\x1b", "b")] == [None, Wish("r1", "block")]


def test_what_a_terminal_would_obey_is_written_out() -> None:
    shown = board(review("r1", "a\x1b[2J\u202eb\rc"))
    assert all(line.isprintable() for line in drawn(shown))
    assert any("a⟨U+001B⟩[2J⟨U+202E⟩b⟨U+000D⟩c" in line for line in drawn(shown))


def test_wide_letters_fit() -> None:
    shown = board(review("r1", "字" * 200))
    wide = [line for line in drawn(shown) if "字字字" in line]
    assert max(line.count("字") for line in wide) <= shown.width // 2


def test_thousand_of_them_fit_as_well() -> None:
    shown = board(*(review(f"r{n}", f"push {n}") for n in range(1000)), height=24)
    for _ in range(500):
        shown.press("j")
    assert "push 500" in chosen(shown)
    assert len(drawn(shown)) == shown.height


def test_on_a_screen_that_is_too_small_nothing_is_allowed() -> None:
    shown = board(review("r1"), height=6)
    assert drawn(shown) == ["larger!"]
    assert shown.press("a") is None


def test_nothing_is_held() -> None:
    assert "Nothing is held." in drawn(board())
    assert board().press("a") is None


def test_news_that_came_together_are_taken_together() -> None:
    news = News()
    for each in (1, 2):
        news.put(each)
    assert list(news.take()) == [1, 2]
    assert list(news.take()) == []
    news.put(3)
    assert list(news.take()) == [3]


STEPS = st.lists(
    st.sampled_from(KEYS) | st.lists(st.integers(0, 5), unique=True, max_size=6),
    max_size=40,
)


@given(STEPS, st.integers(1, 40), st.integers(1, 90))
def test_whatever_comes_only_what_is_chosen_and_waits_is_decided(
    steps: list[Any], height: int, width: int
) -> None:
    shown = Board(width=width, height=height)
    there: set[str] = set()
    for step in steps:
        if isinstance(step, list):
            there = {f"r{number}" for number in step}
            shown.update(review(f"r{n}", f"{n}\n" * 9) for n in sorted(step))
            continue
        before = [is_chosen for _, is_chosen in shown.rows()]
        wish = shown.press(step)
        assert wish is None or (wish.review in there and sum(before) <= 1)
        assert all(len(line) <= width for line in drawn(shown))
        assert len(drawn(shown)) in (1, height)
