"""One review in lines, for a person who is to decide on exactly what stands there."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

from redlane.messages import single_line
from redlane.model.visible import visible, without_gaps

__all__ = ["alike", "card_lines", "headline", "lines_of", "wrapped"]

_LONGEST_PREVIEW, _NARROW = 100, 70
_MARK = "> "
_HEXAGRAMS = frozenset(map(chr, (*range(0x3248, 0x3250), *range(0x4DC0, 0x4E00))))
"""Letters that some terminals have as wide ones."""
_SHOWN = (
    *("id", "state", "session", "role", "context", "policy", "reason"),
    *("created", "deadline", "by", "note"),
)

Review = dict[str, Any]
"""A review as the control API has it."""


def alike(reviews: Iterable[Review]) -> list[list[Review]]:
    """Those that are the same, together: one decision may be for them all."""
    found: dict[str, list[Review]] = {}
    for review in reviews:
        is_held = review["seconds_left"] is not None
        same = review["subject"] if is_held else None
        found.setdefault(same or review["id"], []).append(review)
    return list(found.values())


def headline(review: Review) -> str:
    """What is held, in one line: the part that was flagged first."""
    content = _preview(review["content"])
    if review["matched"] is not None:
        content = f"{_preview(review['matched'])} (in: {content})"
    arguments = sum(each.startswith("$") for each in review["details"]) - 1
    more = f" (and {arguments} arguments: see redlane review show)"
    text = f"{content}{more if arguments > 0 else ''}"
    return single_line(f"{review['context']}, session {review['session']}: {text}")


def lines_of(review: Review, *, with_time: bool = True) -> Iterator[str]:
    """All of it; what a terminal would hide or obey is written out."""
    for name in _SHOWN:
        if review[name] is not None:
            yield f"{name + ':':<11}{single_line(str(review[name]))}"
    if review["processes"]:
        names = (f"{each['name']} {each['pid']}" for each in review["processes"])
        yield f"{'asked by:':<11}{single_line(_one_line(' < '.join(names)))}"
    if with_time and review["seconds_left"] is not None:
        left = (
            f"{review['seconds_left']} s for {review['waits_for']}, then "
            f"{review['timeout_action']}"
        )
        yield f"{'left:':<11}{left}"
    if review["matched"] is not None:
        yield f"{'matched:':<11}{single_line(_one_line(review['matched']))}"
    for vote in review["votes"]:
        said = f"{vote['juror']} says {vote['vote']}: {vote['reason']}"
        yield f"{'vote:':<11}{single_line(_one_line(said))}"
    for detail in review["details"]:
        yield _one_line(detail)
    yield from _titled("content", review["content"])
    yield from _besides(review)


def card_lines(review: Review) -> Iterator[str]:
    """All that decides about it, what is held first: for where there is little room."""
    if review["matched"] is not None:
        yield f"flagged: {single_line(_one_line(review['matched']))}"
    yield from _barred(review["content"])
    yield single_line(review["reason"])
    role = f", role {review['role']}" if review["role"] is not None else ""
    yield single_line(f"session {review['session']}{role}")
    yield from map(_one_line, review["details"])
    yield from _besides(review)
    yield f"{review['timeout_action']} at {review['deadline']}"


def _besides(review: Review) -> Iterator[str]:
    """The texts that are not the content as it came."""
    for text in review["inside"]:
        yield from _titled("inside of it", text)
    if review["modified"] is not None:
        yield from _titled("what would go on in its place", review["modified"])


def _titled(title: str, text: str) -> Iterator[str]:
    lines = list(_barred(text))
    yield f"{title} ({len(text)} characters, {len(lines)} lines):"
    yield from lines


def _barred(text: str) -> Iterator[str]:
    """All of it, each line behind a bar, so that none can pass for one of ours.

    Nor can what a terminal makes of a long line: there gaps are written out.
    """
    for line in visible(text).split("\n"):
        yield f"| {line if len(line) <= _NARROW else without_gaps(line)}"


def wrapped(line: str, width: int) -> Iterator[str]:
    """A line in pieces of at most so many columns; a mark of ours begins the others."""
    piece, used = "", 0
    for letter in line.replace("\t", " "):
        columns = _columns(letter)
        if used + columns > width:
            yield piece
            piece, used = _MARK, len(_MARK)
        piece, used = piece + letter, used + columns
    yield piece


def _columns(letter: str) -> int:
    """How wide it is at most."""
    is_wide = unicodedata.east_asian_width(letter) in "WF" or letter in _HEXAGRAMS
    return 2 if is_wide else 1


def _preview(text: str) -> str:
    """The beginning, and how much there is."""
    line = _one_line(text[: _LONGEST_PREVIEW + 1])
    if len(text) <= _LONGEST_PREVIEW and len(line) <= _LONGEST_PREVIEW:
        return line
    return f"{line[:_LONGEST_PREVIEW]}… ({len(text)} characters)"


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")
