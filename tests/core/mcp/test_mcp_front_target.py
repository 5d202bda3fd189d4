"""Where the server is, where else it may want messages, and what all keep together."""

import pytest

from redlane.errors import UsageError
from redlane.mcp.front.memory import Memory, QuotaExceededError
from redlane.mcp.front.target import read_target


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://a.example", "a.example", "/"),
        ("https://a.example:443/mcp", "a.example", "/mcp"),
        ("http://A.example:8080/mcp?k=v", "a.example:8080", "/mcp?k=v"),
        ("http://[::1]:80/x", "[::1]", "/x"),
    ],
)
def test_a_url_is_taken_apart(url: str, authority: str, path: str) -> None:
    target = read_target(url)

    assert (target.authority, target.path) == (authority, path)
    assert read_target(target.url) == target


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example/mcp",
        "ftp://a.example/",
        "http://",
        "http://u:p@a.example/",
        "http://a.example/#x",
        "http://a.example:99999/",
        "http://a.example/a b",
        "http://a.example/é",
        "http://é.example/",
        "http://[::1/",
        "http://a.example/\r\nX: y",
    ],
)
def test_what_is_no_server_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        read_target(url)


@pytest.mark.parametrize(
    ("reference", "path"),
    [
        ("/message?s=1", "/message?s=1"),
        ("message", "/a/message"),
        ("http://a.example/m", "/m"),
        ("http://a.example:80/m", "/m"),
        ("//a.example/m", "/m"),
        ("https://a.example/m", None),
        ("http://a.example:81/m", None),
        ("http://a.example.evil/m", None),
        ("http://a.example@evil/m", None),
        ("http://u@a.example/m", None),
        ("http:evil", "/a/evil"),
        ("/a b", None),
        ("javascript:x", None),
    ],
)
def test_messages_go_to_the_same_server_only(reference: str, path: str | None) -> None:
    found = read_target("http://a.example/a/sse").endpoint(reference)

    assert (found and found.path) == path
    assert found is None or found.authority == "a.example"


def test_all_that_is_kept_is_bounded() -> None:
    memory = Memory(10)
    one, two = memory.reservation(), memory.reservation()
    one.resize(6)
    with pytest.raises(QuotaExceededError):
        two.resize(5)
    two.resize(4)
    one.resize(0)
    two.resize(10)
