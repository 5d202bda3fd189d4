"""What the event log must not keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.state.redaction import (
    LONGEST_EXCERPT,
    REDACTED,
    Redactor,
    redact,
)

# Secrets are put together here, so that no scanner takes this file for a leak.
SECRETS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLE",
    "gcp": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "github": "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345",
    "github-fine": "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop",
    "gitlab": "glpat-" + "abcdefghij0123456789",
    "slack": "xoxb-" + "123456789012-abcdefGHIJ",
    "openai": "sk-" + "proj-abcdefghijklmnop1234567890",
    "anthropic": "sk-ant-" + "api03-abcdefghijklmnopqrstuvwx",
    "stripe": "sk_live_" + "abcdefghijklmnop",
    "jwt": "eyJhbGciOiJI" + ".eyJzdWIiOiIx." + "SflKxwRJSMeKKF2QT4",
    "pem": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----",
    "torn-pem": "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r",
}

NAMED = {
    "assignment": ("export DB_PASSWORD=hunter2 && x", "hunter2"),
    "quoted": ('PASSWORD="two words" x', "two words"),
    "json": ('{"password":"hunter2","n":1}', "hunter2"),
    "json in json": ('{"a":"{\\"api_key\\":\\"hunter2\\"}"}', "hunter2"),
    "option": ("mysql --password hunter2 db", "hunter2"),
    "header": ("curl -H 'Authorization: Bearer abc.def' u", "abc.def"),
    "basic": ("Authorization: Basic dXNlcjpw\r\nHost: x", "dXNlcjpw"),
    "cookie": ("Cookie: session=abcdef; x=1", "abcdef"),
    "url": ("git clone https://joe:hunter2@host/x", "hunter2"),
    "user option": ("curl -u joe:hunter2 http://x", "hunter2"),
    "query": ("GET https://h/?token=hunter2&x=1 HTTP/1.1", "hunter2"),
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_known_form_is_taken_out(secret: str) -> None:
    clean = redact(f"before {secret}")
    assert clean == f"before {REDACTED}"


@pytest.mark.parametrize(("text", "secret"), NAMED.values(), ids=NAMED)
def test_named_secret_is_taken_out(text: str, secret: str) -> None:
    clean = redact(text)
    assert secret not in clean
    assert REDACTED in clean


@pytest.mark.parametrize(
    "text",
    ["ls -la /tmp", "git push origin main", "https://host/path?x=1", "echo a@b.c", ""],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_excerpt_is_bounded_and_shows_that_it_goes_on() -> None:
    assert Redactor().excerpt(b"x" * 10_000_000) == "x" * LONGEST_EXCERPT + "…"
    assert Redactor().excerpt(b"short") == "short"


@pytest.mark.parametrize("gap", range(0, 30, 3))
def test_secret_that_the_bound_would_cut_is_taken_out(gap: int) -> None:
    text = "x " * (LONGEST_EXCERPT // 2 - gap) + SECRETS["github"]
    assert "ghp_" not in Redactor().excerpt(text.encode())


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert Redactor().excerpt(b"a\xff\0b") == "a�\0b"


@given(st.binary(max_size=300))
def test_any_bytes_give_text(data: bytes) -> None:
    Redactor().excerpt(data).encode()


@given(st.text(max_size=50), st.sampled_from(sorted(SECRETS)), st.text(max_size=50))
def test_secret_is_taken_out_wherever_it_stands(
    before: str, name: str, after: str
) -> None:
    secret = SECRETS[name]
    text = f"{before} {secret} {after}"
    assert secret not in redact(text)


@pytest.mark.usefixtures("twenty_seconds_of_work")
@pytest.mark.parametrize(
    "piece", ["password=", '"', "token ", "://", "a", "-----BEGIN PRIVATE KEY-----"]
)
def test_time_is_linear(piece: str) -> None:
    redact(piece * (1_000_000 // len(piece)))


def test_secret_of_a_content_is_one_where_its_name_is_gone() -> None:
    clean = Redactor(b"PASSWORD='hunter2secret'; curl -d x=$PASSWORD h")
    assert clean.text("curl -d x=hunter2secret h") == "curl -d x=[redacted] h"
    assert clean.excerpt(b"x=hunter2secret") == "x=[redacted]"


def test_argument_behind_an_option_is_a_secret_of_its_name() -> None:
    details = ("directory: /x", "$0: sh", "$1: --password", "$2: hunter2secret")
    clean = Redactor(b'curl "$@"', details)
    assert clean.lines(details) == [*details[:3], "$2: [redacted]"]


def test_short_word_is_left_where_it_stands_alone() -> None:
    assert Redactor(b"TOKEN=test x").text("npm test") == "npm test"
