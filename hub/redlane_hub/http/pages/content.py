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
    pretty = laid_out(text)
    if pretty is None:
        return escape(visible_json(text))
    formatter = HtmlFormatter(nowrap=True)
    marked = highlight(visible_json(pretty), JsonLexer(), formatter)
    return Markup(marked)  # noqa: S704  # Pygments escapes what it marks up


def laid_out(text: str) -> str | None:
    """JSON with a line for each member and element, all its tokens unchanged.

    None when it is, or would become, more than a page highlights.
    """
    if len(text) > LARGEST_HIGHLIGHTED:
        return None
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
