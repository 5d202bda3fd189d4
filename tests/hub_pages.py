"""Pages, as a test reads them: parsed, and checked for what every page must keep to."""

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from hub_instance import Running

from redlane_hub.clock import timestamp
from redlane_hub.identifiers import new_id
from redlane_hub.services.reset_queue import ResetQueue
from redlane_hub.store import resets
from redlane_hub.store.resets import ResetRequest

__all__ = ["Page", "live_token", "publish", "read"]

_VOID = {"meta", "link", "input", "br"}
_ALLOWED = {
    *("html", "head", "meta", "title", "link", "body", "header", "main", "footer"),
    *("nav", "section", "h1", "h2", "p", "a", "span", "strong", "ul", "li", "dl"),
    *("dt", "dd", "pre", "code", "table", "caption", "thead", "tbody", "tr", "th"),
    *("td", "form", "label", "input", "button", "div", "time"),
}


class Page(HTMLParser):
    """One parsed page; a page that breaks a rule of all pages fails the test."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []
        self._check()

    def handle_decl(self, decl: str) -> None:
        assert decl == "doctype html"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ALLOWED, tag
        given = {name: value or "" for name, value in attrs}
        assert len(given) == len(attrs)
        self.elements.append((tag, given))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """What a reader sees, with white space made even."""
        return " ".join("".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of all such elements."""
        return [given for found, given in self.elements if found == tag]

    def links(self) -> list[str]:
        return [given["href"] for given in self.all("a")]

    def _values(self, name: str) -> Iterator[str]:
        return (given[name] for _tag, given in self.elements if name in given)

    def _check(self) -> None:
        names = {name for _tag, given in self.elements for name in given}
        assert "style" not in names
        assert not {name for name in names if name.startswith("on")}
        for address in [*self._values("href"), *self._values("action")]:
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//"), address
        ids = list(self._values("id"))
        assert len(ids) == len(set(ids))
        for name in ("aria-labelledby", "aria-describedby", "for"):
            for value in self._values(name):
                assert set(value.split()) <= set(ids)
        assert self.all("html")[0]["lang"] == "en"
        assert len(self.all("main")) == len(self.all("h1")) == 1
        labelled = {given["for"] for given in self.all("label")}
        for given in self.all("input"):
            assert given.get("type") == "hidden" or given["id"] in labelled


def read(hub: Running, path: str, status: int = 200, **options: Any) -> Page:
    """The page at a path, whose answer carries the headers that all pages carry."""
    found = hub.call("GET", path, **options)
    assert found.status_code == status
    assert found.headers["content-type"] == "text/html; charset=utf-8"
    return Page(found.text)


def publish(
    hub: Running, token: str, name: str = "starter", version: str = "1.0", **more: Any
) -> dict[str, Any]:
    """Publish an artifact; what the hub answered."""
    body = {"name": name, "version": version, "content": "{}", **more}
    found = hub.call("POST", "/api/v1/artifacts", token, json=body)
    assert found.status_code == 201, found.text
    answered: dict[str, Any] = found.json
    return answered


def live_token(hub: Running, email: str) -> str:
    """A reset token, as the mail to this account would carry it."""
    request = ResetRequest(new_id(), email, timestamp(hub.clock()), attempts=0)
    with hub.database.transaction() as connection:
        resets.enqueue(connection, request, 10)
    queue = ResetQueue(hub.database, hub.clock)
    letter = queue.take()
    assert letter is not None
    queue.sent(letter)
    return letter.token
