"""The pages, without a script: what is held, and forms that decide it."""

from collections.abc import Mapping
from dataclasses import replace
from html import escape

from redlane.control.documents import review_document
from redlane.model.review_text import lines_of
from redlane.model.visible import on_one_line, visible
from redlane.state.redaction import Redactor
from redlane.state.review import Review

__all__ = ["ALLOW", "ALLOW_FOR", "BLOCK", "MOST_NOTE", "SHOW", "held", "over", "plain"]

ALLOW, ALLOW_FOR, BLOCK, SHOW = "allow", "allow-10m", "block", "show"
"""What a button asks for."""

MOST_NOTE = 500
"""How many characters a note may have."""

_WORDS: Mapping[str, str] = {
    BLOCK: "Block",
    ALLOW: "Allow",
    ALLOW_FOR: "Allow for 10 minutes",
    SHOW: "Show all of it",
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
    '<meta name="robots" content="noindex">'
    "<title>Redlane</title><style>{style}</style><h1>{title}</h1>{body}</html>"
)


def held(review: Review, seconds_left: float, *, is_whole: bool) -> str:
    """What is held, and buttons.

    Unless `is_whole` secrets are out and long texts are cut, since chats fetch what a
    link leads to. It can be allowed only where all of it is shown.
    """
    everything = review_document(review, seconds_left)
    shown = everything if is_whole else review_document(_told(review), seconds_left)
    text = escape("\n".join(lines_of(dict(shown))))
    is_all = shown == everything
    rest = "" if is_all else "<p>Secrets are taken out here, or long texts cut.</p>"
    body = f"<pre>{text}</pre>{rest}{_form(review, is_all=is_all)}"
    return _page("Redlane holds this", body)


def over(review: Review) -> str:
    """How it ended; the content is no business of a link that was used."""
    by = f" by {on_one_line(review.by)}" if review.by else ""
    note = f": {visible(review.note)}" if review.note else ""
    text = escape(f"Review {review.id} is {review.state.value}{by}{note}")
    return _page("Redlane", f"<p>{text}</p>")


def plain(text: str) -> str:
    """A page that says one thing."""
    return _page("Redlane", f"<p>{escape(text)}</p>")


def _page(title: str, body: str) -> str:
    return _PAGE.format(style=_STYLE, title=title, body=body)


def _form(review: Review, *, is_all: bool) -> str:
    acts = [BLOCK]
    if not is_all:
        acts.append(SHOW)
    else:
        acts += [ALLOW, ALLOW_FOR] if review.subject else [ALLOW]
    buttons = "".join(
        f'<button name="act" value="{act}">{_WORDS[act]}</button>' for act in acts
    )
    return (
        '<form method="post">'
        f'<input name="note" maxlength="{MOST_NOTE}" autocomplete="off" '
        f'placeholder="Why, for the agent">{buttons}</form>'
    )


def _told(review: Review) -> Review:
    """The review as whoever has the webhook's messages may know it."""
    others = (*review.inside, review.modified or b"")
    clean = Redactor(review.content, review.details, others)

    def cut(data: bytes) -> bytes:
        return clean.excerpt(data).encode()

    matched, modified = review.matched, review.modified
    return replace(
        review,
        content=cut(review.content),
        matched=None if matched is None else cut(matched),
        modified=None if modified is None else cut(modified),
        inside=tuple(map(cut, review.inside)),
        details=tuple(clean.lines(review.details)),
        reason=clean.text(review.reason),
        votes=tuple(replace(e, reason=clean.text(e.reason)) for e in review.votes),
    )
