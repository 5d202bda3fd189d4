"""Strings of JSON are found however the document around them is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.decoding.json_strings import json_strings, without_escapes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [
            text for pair in value.items() for each in pair for text in strings(each)
        ]
    return (
        [text for each in value for text in strings(each)]
        if isinstance(value, list)
        else []
    )


@given(VALUES, st.booleans())
def test_every_string_is_found(value: object, ascii_only: bool) -> None:  # noqa: FBT001  # drawn
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert json_strings(text) == strings(value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r'{"a":1,"a":"\u0073ecret"}', ["a", "a", "secret"]),
        (r'["\ud83d\ude00 \ud83d"]', ["😀 \ufffd"]),
        (r'["\q\x41\'\u{1F600}"]', ["qA'😀"]),
        (r'["a\/b\n"]', ["a/b\n"]),
        ('["never ends', ["never ends"]),
        (
            '["half an escape \\',
            [
                "half an escape ",
            ],
        ),
        ('{"a" "b" : ] "c"', ["a", "b", "c"]),
        ('"line\nbreak"', ["line\nbreak"]),
        ('["\\q", "a\uffffb"]', ["q", "a\uffffb"]),
        ("no strings", []),
    ],
)
def test_a_document_that_is_none_is_read(text: str, found: list[str]) -> None:
    assert json_strings(text) == found


def test_depth_is_no_matter() -> None:
    assert json_strings("[" * 100_000 + '"deep"') == ["deep"]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        (r"\x69gn\u006fre \U0001F600 \101", "ignore 😀 101"),
        ("trailing \\", "trailing \\"),
        (r"\\u0041 C:\\dir", r"\u0041 C:\dir"),
        (r"\U00110000\u{110000}", "\ufffd\ufffd"),
    ],
)
def test_escapes_come_off_any_text(text: str, meaning: str) -> None:
    assert without_escapes(text) == meaning
