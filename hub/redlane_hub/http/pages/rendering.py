"""Templates to answers, with the headers that let a browser do nothing else.

No page has a script, an inline style or anything from elsewhere, so nothing of the kind
may run: whatever text of a stranger might one day slip through does nothing.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2

from redlane_hub.http.operations import Raw
from redlane_hub.http.pages.visible import visible

__all__ = ["HEADERS", "Renderer"]

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "interest-cohort=()",
    "Cache-Control": "no-store",
}
"""What every page carries."""

_TEMPLATES = Path(__file__).parent / "templates"
_HTML = "text/html; charset=utf-8"


class Renderer:
    """Makes pages; `root` is the path that the hub is reached under, `/` left out.

    `assets` are the names that static files are served under, by their own.
    """

    def __init__(self, root: str, assets: Mapping[str, str]) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "visible": visible,
            "segment": _segment,
            "moment": _moment,
        }
        self._environment.globals |= {"root": root, "assets": dict(assets)}

    def page(self, template: str, status: int = 200, **values: Any) -> Raw:  # noqa: ANN401  # what templates show
        """A page of the template's."""
        text = self._environment.get_template(template).render(values)
        return Raw(text.encode(), _HTML, HEADERS, status)

    def message(self, title: str, *lines: str, status: int = 200) -> Raw:
        """A page that only says something."""
        return self.page("message.html", status, title=title, lines=lines)

    def not_found(self) -> Raw:
        """The page for what does not exist, or is not public."""
        return self.message(
            "Not found",
            "There is no such page here, or it is not public.",
            status=404,
        )


def _segment(text: str) -> str:
    """Text as one segment of a path, or one value of a query."""
    return quote(text, safe="")


def _moment(timestamp: str) -> str:
    """A timestamp as people read it."""
    return f"{timestamp[:10]} {timestamp[11:16]} UTC"
