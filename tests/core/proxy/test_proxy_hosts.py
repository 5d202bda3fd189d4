"""Names of hosts: one host has many spellings; a list names just what it names."""

import pytest

from redlane.proxy.hosts import Endpoint, is_listed, parse_authority, same_host


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("example.com", "EXAMPLE.com.", True),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("127.0.0.1", "[::ffff:127.0.0.1]", True),
        ("[::1]", "::1", True),
        ("example.com", "example.com.evil.test", False),
        ("example.com", "evil-example.com", False),
        ("127.0.0.1", "localhost", False),
    ],
)
def test_spellings_of_one_host_are_the_same(
    one: str, other: str, *, same: bool
) -> None:
    assert same_host(one, other) is same


@pytest.mark.parametrize(
    ("host", "port", "entry", "listed"),
    [
        ("api.example.com", 443, "api.example.com", True),
        ("API.example.com.", 443, "api.example.com", True),
        ("api.example.com", 443, "*.example.com", True),
        ("a.b.example.com", 443, "*.example.com", True),
        ("example.com", 443, "*.example.com", False),
        ("evilexample.com", 443, "*.example.com", False),
        ("api.example.com", 443, "example.com", False),
        ("api.example.com", 8443, "api.example.com:443", False),
        ("api.example.com", 443, "api.example.com:443", True),
        ("::1", 443, "[::1]:443", True),
        ("::1", 443, "::1", True),
    ],
)
def test_setting_lists_what_it_names(
    host: str, port: int, entry: str, *, listed: bool
) -> None:
    assert is_listed(host, port, [entry]) is listed


@pytest.mark.parametrize(
    ("authority", "endpoint"),
    [
        ("example.com", ("example.com", 443)),
        ("example.com:8443", ("example.com", 8443)),
        ("[::1]", ("::1", 443)),
        ("[::1]:80", ("::1", 80)),
        ("user@example.com", None),
        ("example.com:x", None),
        ("example.com/path", None),
        ("example.com\\evil.test", None),
        ("exam ple.com", None),
        ("", None),
    ],
)
def test_authority_is_a_host_and_a_port(
    authority: str, endpoint: Endpoint | None
) -> None:
    assert parse_authority(authority, "https") == endpoint
