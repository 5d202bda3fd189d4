"""A request that may be read in two ways goes nowhere."""

import pytest
from mitmproxy import http

from redlane.proxy.agreeing import problem_of


def request(url: str, **headers: str) -> http.Request:
    made = http.Request.make("GET", url)
    made.headers.clear()
    for name, value in headers.items():
        made.headers[name] = value
    return made


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.com/", "example.com"),
        ("http://example.com/", "EXAMPLE.com:80"),
        ("http://example.com:8080/", "example.com:8080"),
        ("https://example.com/", "example.com"),
        ("https://example.com/", "example.com:443"),
        ("http://[::1]:8080/", "[::1]:8080"),
    ],
)
def test_host_that_agrees_is_no_problem(url: str, host: str) -> None:
    assert problem_of(request(url, host=host)) == ""


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.com/", "evil.test"),
        ("http://example.com/", "example.com:8080"),
        ("http://example.com:8080/", "example.com"),
        ("http://example.com/", "example.com.evil.test"),
        ("http://example.com/", "user@example.com"),
        ("http://example.com/", "example.com/evil.test"),
    ],
)
def test_host_that_disagrees_is_a_problem(url: str, host: str) -> None:
    assert problem_of(request(url, host=host)) != ""


def test_authority_counts_as_a_host() -> None:
    made = request("https://example.com/")
    made.authority = "evil.test"
    assert "evil.test" in problem_of(made)


def test_several_hosts_are_a_problem() -> None:
    made = request("http://example.com/")
    made.headers.set_all("host", ["example.com", "example.com"])
    assert "several" in problem_of(made)


@pytest.mark.parametrize("value", ["a\0b", "a\rb", "a\nb", "a\r\n b", "\x0bchunked"])
def test_control_characters_in_a_header_are_a_problem(value: str) -> None:
    made = request("http://example.com/", x=value)
    assert "control characters" in problem_of(made)


def test_unknown_version_is_a_problem() -> None:
    made = request("http://example.com/")
    made.http_version = "HTTP/9.9"
    assert "version" in problem_of(made)
