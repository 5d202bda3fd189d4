"""What a notification says of a review, and what its buttons stand for.

A desktop cuts long texts off, so that a text comes in pages, and what is on one of them
can be read. It can be allowed on the last one alone: nobody allows what was not shown.
"""

from dataclasses import dataclass
from math import ceil

from redlane.model.review_text import Review, card_lines, wrapped
from redlane.model.visible import on_one_line

__all__ = [
    "ALLOW",
    "ALLOW_FOR",
    "BLOCK",
    "MORE",
    "Card",
    "card_of",
    "failure",
    "overview",
]

ALLOW, ALLOW_FOR, BLOCK, MORE = "allow", "allow-for", "block", "more"
"""What a button stands for."""

_WIDTH, _LINES, _MOST_PAGES = 40, 8, 12
"""As much as common desktops show of one."""
_KINDS = {
    "Shell": "a command",
    "Network": "a request",
    "Inbound": "an answer",
    "Mcp": "a tool's message",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A notification; `buttons` are what each stands for, and its words."""

    summary: str
    lines: tuple[str, ...]
    buttons: tuple[tuple[str, str], ...] = ()


def card_of(review: Review, page: int) -> Card:
    """One page of it, of which the first is 0."""
    lines = [part for line in card_lines(review) for part in wrapped(line, _WIDTH)]
    pages = ceil(len(lines) / _LINES)
    kind = _KINDS.get(review["context"], "a content")
    summary = f"Redlane holds {kind}"
    shown = tuple(lines[page * _LINES : (page + 1) * _LINES])
    if pages > _MOST_PAGES:
        last = f"… {len(lines)} lines in all: redlane review show {review['id']}"
        return Card(summary, (*shown[:-1], last), ((BLOCK, "Block"),))
    if page + 1 < pages:
        # Where this button was, the next card has the one that blocks: nobody allows
        # by pressing twice.
        more = (MORE, f"More ({page + 1} of {pages})")
        return Card(summary, shown, (more, (BLOCK, "Block")))
    allow = [(BLOCK, "Block"), (ALLOW, "Allow")]
    if review["subject"] is not None:
        allow.append((ALLOW_FOR, "Allow for 10 minutes"))
    return Card(summary, shown, tuple(allow))


def overview(count: int) -> Card:
    """So many more are held than have a notification of their own."""
    return Card(f"Redlane holds {count} more", ("redlane review shows them all",))


def failure(why: str) -> Card:
    """What was pressed did not come about."""
    return Card("Redlane could not do that", (on_one_line(why),))
