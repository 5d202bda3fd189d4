"""The pages, without a script: what is held, and a form that decides it."""

from collections.abc import Mapping
from dataclasses import replace
from html import escape

from redlane.control.documents import review_document
from redlane.model.review_text import lines_of
from redlane.model.visible import on_one_line, visible
from redlane.state.review import Review

__all__ = ["ALLOW", "ALLOW_FOR", "BLOCK", "MOST_NOTE", "held", "over", "plain"]

ALLOW, ALLOW_FOR, BLOCK = "allow", "allow-10m", "block"
"""What a button asks for."""

MOST_NOTE = 500
"""How many characters a note may have."""

_MOST_BYTES, _BEGINNING, _MOST_LINES = 100_000, 2_000, 20
_WORDS: Mapping[str, str] = {
    BLOCK: "Block",
    ALLOW: "Allow",
    ALLOW_FOR: "Allow for 10 minutes",
}
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.4 system-ui,sans-serif;max-width:50rem;margin:auto;padding:1rem}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:.5rem;"
    "font-variant-ligatures:none}"
    "input,button{font:inherit;padding:.6rem;margin:.3rem .3rem 0 0}"
    "input{width:100%;box-sizing:border-box}"
)
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
    "<title>Redlane</title><style>{style}</style><h1>{title}</h1>{body}</html>"
)


def held(review: Review) -> str:
    """All of what is held, and buttons; what is too long for a page has one alone."""
    is_all = _size(review) <= _MOST_BYTES
    shown = review if is_all else _beginning(review)
    document = review_document(shown, 0)
    text = escape("\n".join(lines_of(dict(document), with_time=False)))
    more = f"This is its beginning: redlane review show {review.id} has all of it."
    rest = "" if is_all else f"<p>{escape(more)}</p>"
    body = f"<pre>{text}</pre>{rest}{_form(review, is_all=is_all)}"
    return _page("Redlane holds this", body)


def over(review: Review) -> str:
    """How it ended; the content is no business of a link that was used."""
    by = f" by {on_one_line(review.by)}" if review.by else ""
    note = f": {visible(review.note)}" if review.note else ""
    return plain(f"Review {review.id} is {review.state.value}{by}{note}")


def plain(text: str) -> str:
    """A page that says one thing."""
    return _page("Redlane", f"<p>{escape(text)}</p>")


def _page(title: str, body: str) -> str:
    return _PAGE.format(style=_STYLE, title=title, body=body)


def _form(review: Review, *, is_all: bool) -> str:
    acts = [BLOCK]
    if is_all:
        acts += [ALLOW, ALLOW_FOR] if review.subject else [ALLOW]
    buttons = "".join(
        f'<button name="act" value="{act}">{_WORDS[act]}</button>' for act in acts
    )
    return (
        '<form method="post">'
        f'<input name="note" maxlength="{MOST_NOTE}" autocomplete="off" '
        f'placeholder="Why, for the agent">{buttons}</form>'
    )


def _size(review: Review) -> int:
    return review.size + sum(map(len, review.inside))


def _beginning(review: Review) -> Review:
    matched = review.matched
    return replace(
        review,
        content=review.content[:_BEGINNING],
        matched=None if matched is None else matched[:_BEGINNING],
        modified=None,
        inside=(),
        details=tuple(e[:_BEGINNING] for e in review.details[:_MOST_LINES]),
    )
