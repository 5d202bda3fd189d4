"""Character references become characters, as HTML says."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.entities import without_entities


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("&lt;b&gt; &amp;amp;", "<b> &amp;"),
        ("&#105;&#x67;&#X6E;ore", "ignore"),
        ("&#0000000000105;", "i"),
        ("&copy 2026 &copyright", "© 2026 ©right"),
        ("&notin; &notit;", "∉ ¬it;"),
        ("&#150;", "\u2013"),
        ("&nosuch; & &;", "&nosuch; & &;"),
        ("&#0; &#xD800; &#x110000;", "&#0; &#xD800; &#x110000;"),
        ("&#" + "9" * 9_000 + ";", "&#" + "9" * 9_000 + ";"),
        ("no reference", "no reference"),
    ],
)
def test_a_reference_is_its_character(text: str, meaning: str) -> None:
    assert without_entities(text) == meaning


@given(st.text(st.sampled_from("&#;xX019aflmptgsoqcy "), max_size=40))
def test_it_is_what_the_standard_library_says(text: str) -> None:
    found = without_entities(text)
    if "\ufffd" not in html.unescape(text) and "&#" not in found:
        assert found == html.unescape(text)
