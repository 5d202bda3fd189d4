"""A URL in any spelling is found in its plain one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.network.spellings import spellings

METADATA = "http://169.254.169.254/latest/"


@pytest.mark.parametrize(
    "url",
    [
        "http://2852039166/latest/",
        "http://0xA9FEA9FE/latest/",
        "http://0251.0376.0251.0376/latest/",
        "http://[::ffff:169.254.169.254]/latest/",
        "http://[::ffff:a9fe:a9fe]:80/latest/",
        "http://[64:ff9b::a9fe:a9fe]/latest/",
        "http://user:pw@169.254.169.254/latest/",
        "http://ok.example@169.254.169.254:0080/latest/",
        "HTTP://169.254.169.254./latest/",
        "http://169.254.169.254/x/../latest/",
        "http://169.254.169.254//latest//",
        "http://169.254.169.254/%6catest/",
        "http://169.254.169.254/%256catest/",
        "http://169.254.169.254/x/%2e%2e/latest/",
        "http://169.254.169.254/x/..;/latest;v=1/",
        "http:\\\\169.254.169.254\\latest\\",
        "http://169.254.169.254/lat\test/",
        "http://169.254.169.254/latest/#x",
    ],
)
def test_a_url_is_found_in_its_plain_spelling(url: str) -> None:
    assert METADATA in spellings("GET", url)


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("https://EXAMPLE.com/Path", "https://example.com/Path"),
        ("https://example.com.:443/", "https://example.com/"),
        ("https://example.com:8443/", None),
        ("wss://example.com:443/a", "wss://example.com/a"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://xn--bcher-kva.example/", "https://bücher.example/"),
        ("https://ok.example@evil.example/", "https://evil.example/"),
        ("https://evil.example/a?b=%2e%2E/c", "https://evil.example/a?b=../c"),
        ("/admin/../etc/%70asswd", "/etc/passwd"),
        ("/%252e%252e/etc", "/etc"),
        ("/a/./b/", "/a/b/"),
        ("*", None),
        ("https://example.com", None),
        ("https://example.com/a/b?c=d", None),
        ("https://[::1]:443/", "https://[::1]/"),
    ],
)
def test_spelling(url: str, spelling: str | None) -> None:
    found = spellings("GET", url)
    if spelling is None:
        assert found == ()
    else:
        assert spelling in found


@pytest.mark.parametrize(
    "url", ["https://evil-github.com/", "https://github.com.evil.example/"]
)
def test_another_host_is_not_spelt_like_one_that_it_looks_like(url: str) -> None:
    assert not [each for each in spellings("GET", url) if "://github.com/" in each]


def test_each_address_stands_in_the_hosts_place() -> None:
    found = spellings("GET", "https://rebound.example:8443/a", ("10.0.0.1", "::1"))
    assert "https://10.0.0.1:8443/a" in found
    assert "https://[::1]:8443/a" in found
    mapped = spellings("GET", "https://rebound.example/a", ("::ffff:10.0.0.1",))
    assert "https://10.0.0.1/a" in mapped


@pytest.mark.parametrize(
    ("authority", "spelling"),
    [
        ("EXAMPLE.com:443", "example.com:443"),
        ("example.com.:443", "example.com:443"),
        ("2130706433:8080", "127.0.0.1:8080"),
        ("[::ffff:127.0.0.1]:8080", "127.0.0.1:8080"),
        ("rebound.example:443", "10.0.0.1:443"),
        ("rebound.example:443", "[::1]:443"),
    ],
)
def test_a_tunnel_is_found_by_its_host(authority: str, spelling: str) -> None:
    assert spelling in spellings("CONNECT", authority, ("10.0.0.1", "::1"))


def test_long_urls_have_their_escapes_taken_off_only() -> None:
    url = "http://h/" + "../" * 100_000 + "%61"
    assert spellings("GET", url) == (url.removesuffix("%61") + "a",)


PIECES = (
    "http://",
    "https:",
    "//",
    "\\",
    "/",
    "..",
    ".",
    ";",
    "%2e",
    "%",
    "@",
    ":",
    "80",
    "[",
    "]",
    "::1",
    "?",
    "#",
    "a",
    "Ü",
    "xn--",
    "127.1",
    "\t",
)


@given(
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.sampled_from(["GET", "CONNECT"]),
)
def test_any_url_is_bounded_and_no_error(url: str, method: str) -> None:
    found = spellings(method, url, ("10.0.0.1", "::1"))
    assert url not in found
    assert len(found) <= 64
    assert sum(map(len, found)) <= 64 * (len(url) + 200)
