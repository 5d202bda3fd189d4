"""An artifact's content as a page shows it: laid out, highlighted, nothing hidden.

Every token stays as it was published, numbers and escapes included; only the white
space between them is ours. What is large is shown plainly and as it came.
"""

import functools
import re
from dataclasses import dataclass

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import JsonLexer

from redlane_hub.http.pages.visible import visible_json

__all__ = ["LARGEST_HIGHLIGHTED", "LARGEST_SHOWN", "Shown", "laid_out", "shown"]

LARGEST_HIGHLIGHTED = 64 * 1024
"""Highlighting more takes too long for a page."""

LARGEST_SHOWN = 1024 * 1024
"""More makes a browser slow; the rest is behind the link to the API."""

_REMEMBERED = 32

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Shown:
    """The content as HTML, for inside a `pre`, and how it differs from the original."""

    html: Markup
    note: str


def shown(content: bytes) -> Shown:
    """The content as a page shows it."""
    if len(content) <= LARGEST_HIGHLIGHTED and (marked := _highlighted(content)):
        return Shown(marked, "Laid out for reading")
    cut = len(content) > LARGEST_SHOWN
    text = content[:LARGEST_SHOWN].decode(errors="replace")
    note = "Only the beginning" if cut else "As published"
    return Shown(escape(visible_json(text)), note)


@functools.lru_cache(_REMEMBERED)
def _highlighted(content: bytes) -> Markup | None:
    pretty = laid_out(content.decode(errors="replace"))
    if pretty is None:
        return None
    formatter = HtmlFormatter(nowrap=True)
    marked = highlight(visible_json(pretty), JsonLexer(), formatter)
    return Markup(marked)  # noqa: S704  # Pygments escapes what it marks up


def laid_out(text: str) -> str | None:
    """JSON with a line for each member and element, all its tokens unchanged.

    None when that would be more than a page highlights.
    """
    made: list[str] = []
    length = depth = 0
    previous = ""
    for piece in _TOKEN.findall(text):
        closes = piece in "]}"
        depth -= closes
        if previous and (previous not in "[{" if closes else previous in "[{,"):
            made.append("\n" + _INDENT * depth)
            length += len(made[-1])
        depth += piece in "[{"
        made.append(": " if piece == ":" else piece)
        length += len(made[-1])
        if length > LARGEST_HIGHLIGHTED:
            return None
        previous = piece
    return "".join(made)
