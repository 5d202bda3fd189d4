"""An artifact's content as a page shows it: laid out, highlighted, nothing hidden.

Every token stays as it was published, numbers and escapes included; only the white
space between them is ours. What is large is shown plainly and as it came.
"""

import functools
import re

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import JsonLexer

from redlane_hub.http.pages.visible import visible_json

__all__ = ["LARGEST_HIGHLIGHTED", "laid_out", "shown"]

LARGEST_HIGHLIGHTED = 64 * 1024
"""Highlighting more takes too long for a page."""

_REMEMBERED = 32

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
_INDENT = "  "


@functools.lru_cache(_REMEMBERED)
def shown(content: bytes) -> Markup:
    """The content as HTML, for inside a `pre`."""
    text = content.decode(errors="replace")
    if len(text) <= LARGEST_HIGHLIGHTED:
        pretty = laid_out(text)
        if len(pretty) <= LARGEST_HIGHLIGHTED:
            text = visible_json(pretty)
            formatter = HtmlFormatter(nowrap=True)
            # Pygments escapes what it marks up.
            return Markup(highlight(text, JsonLexer(), formatter))  # noqa: S704  # as above
    return escape(visible_json(text))


def laid_out(text: str) -> str:
    """JSON with a line for each member and element, all its tokens unchanged."""
    made: list[str] = []
    depth = 0
    previous = ""
    for piece in _TOKEN.findall(text):
        if piece in "]}":
            depth -= 1
            if previous not in "[{":
                made.append("\n" + _INDENT * depth)
        elif previous and previous in "[{,":
            made.append("\n" + _INDENT * depth)
        if piece in "[{":
            depth += 1
        made.append(": " if piece == ":" else piece)
        previous = piece
    return "".join(made)
