"""Percent-encoding comes off once."""

from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.percent import without_percent


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("%2Fetc%2fpasswd", "/etc/passwd"),
        ("%252F", "%2F"),
        ("%c3%bc ü", "ü ü"),
        ("%u0073ecret %u20AC", "secret €"),
        ("100% %zz %", "100% %zz %"),
        ("%ff%C0%AF", "\ufffd" * 3),
        ("plain", "plain"),
    ],
)
def test_an_escape_is_its_character(text: str, meaning: str) -> None:
    assert without_percent(text) == meaning


@given(st.text(max_size=60))
def test_it_undoes_what_quoting_does(text: str) -> None:
    assert without_percent(quote(text, safe="")) == text


@given(st.text(st.sampled_from("%0123456789abcfüx "), max_size=60))
def test_it_is_what_the_standard_library_says(text: str) -> None:
    assert without_percent(text) == unquote(text)
