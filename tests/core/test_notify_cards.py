"""What notifications say of a review, and what may be pressed."""

from typing import Any

import pytest
from core.review_documents import review
from hypothesis import given
from hypothesis import strategies as st

from redlane.cli.notify.cards import ALLOW, ALLOW_FOR, BLOCK, MORE, Card, card_of

LINES, WIDTH = 8, 40


def stands_for(card: Card) -> list[str]:
    return [what for what, _ in card.buttons]


def pages(held: dict[str, Any]) -> list[Card]:
    """Every page of it, as far as there is a button for the next one."""
    cards = [card_of(held, 0)]
    while MORE in stands_for(cards[-1]):
        cards.append(card_of(held, len(cards)))
    return cards


@given(content=st.text(max_size=400), details=st.lists(st.text(max_size=80)))
def test_it_is_allowed_once_all_of_it_was_shown(
    content: str, details: list[str]
) -> None:
    *before, last = pages(review("r1", content, details=details, subject="s"))
    assert [stands_for(each) for each in before] == [[MORE, BLOCK]] * len(before)
    assert stands_for(last) == [BLOCK, ALLOW, ALLOW_FOR]
    assert last.lines[-1] == "block at then"


@given(content=st.text(max_size=400))
def test_no_page_is_larger_than_what_a_desktop_shows(content: str) -> None:
    for card in pages(review("r1", content, subject=None)):
        assert len(card.lines) <= LINES
        assert max(map(len, card.lines)) <= WIDTH
        assert all(line.isprintable() for line in card.lines)


def test_whoever_presses_twice_blocks() -> None:
    *_, before, last = pages(review("r1", "x\n" * 20, subject=None))
    assert before.buttons[0][0] == MORE
    assert last.buttons[0][0] == BLOCK


def test_what_is_too_long_is_not_allowed_here() -> None:
    (card,) = pages(review("r1", "x\n" * 200, subject=None))
    assert stands_for(card) == [BLOCK]
    assert card.lines[-1].endswith("redlane review show r1")


def test_what_cannot_be_told_to_be_the_same_is_decided_once() -> None:
    (card,) = pages(review("r1", subject=None))
    assert stands_for(card) == [BLOCK, ALLOW]


@pytest.mark.parametrize(
    ("context", "what"),
    [
        ("Shell", "a command"),
        ("Network", "a request"),
        ("Inbound", "an answer"),
        ("Mcp", "a tool's message"),
        ("Other", "a content"),
    ],
)
def test_summary_tells_what_is_held(context: str, what: str) -> None:
    card = card_of(review("r1", context=context, subject=None), 0)
    assert card.summary == f"Redlane holds {what}"


def test_flagged_part_comes_first() -> None:
    held = review("r1", "true; push", matched="push", role="dev", subject=None)
    assert card_of(held, 0).lines == (
        "flagged: push",
        "| true; push",
        "flagged",
        "session s, role dev",
        "block at then",
    )
