"""How texts and contents of strangers are shown."""

import json
import re
import time
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.http.pages.content import (
    LARGEST_HIGHLIGHTED,
    LARGEST_SHOWN,
    laid_out,
    shown,
)
from redlane_hub.http.pages.visible import visible, visible_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
).filter(lambda value: value not in (float("inf"), float("-inf")))
HIDDEN = {
    "a bell": ("\x07", "⟨U+0007⟩"),
    "an escape": ("\x1b[31m", "⟨U+001B⟩[31m"),
    "a carriage return": ("a\rb", "a⟨U+000D⟩b"),
    "delete": ("\x7f", "⟨U+007F⟩"),
    "a C1 control": ("\x9b", "⟨U+009B⟩"),
    "right to left override": ("\u202etxt.exe", "⟨U+202E⟩txt.exe"),
    "an isolate": ("\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"),
    "the Arabic letter mark": ("\u061c", "⟨U+061C⟩"),
    "zero width": ("a\u200b\u200c\u200d\ufeffb", "a⟨U+200B⟩⟨U+200C⟩⟨U+200D⟩⟨U+FEFF⟩b"),
    "a soft hyphen": ("a\u00adb", "a⟨U+00AD⟩b"),
    "separators": ("\u2028\u2029", "⟨U+2028⟩⟨U+2029⟩"),
    "a no-break space": ("a\u00a0b", "a⟨U+00A0⟩b"),
    "tags": ("\U000e0041", "⟨U+E0041⟩"),
    "a variation selector": ("\U000e0100", "⟨U+E0100⟩"),
    "Hangul fillers": ("\u3164\uffa0", "⟨U+3164⟩⟨U+FFA0⟩"),
    "braille blank": ("\u2800", "⟨U+2800⟩"),
    "private use": ("\ue000", "⟨U+E000⟩"),
    "unassigned": ("\U0003ffff", "⟨U+3FFFF⟩"),
}
SEEN = ["plain", "Grüße, мир, 世界", "עברית", "two\nlines\tand a tab", "❤️ 🎉", ""]


@pytest.mark.parametrize(("text", "expected"), HIDDEN.values(), ids=HIDDEN.keys())
def test_hidden_character_is_spelled_out(text: str, expected: str) -> None:
    assert visible(text) == expected


@pytest.mark.parametrize("text", SEEN)
def test_text_that_is_seen_stays(text: str) -> None:
    assert visible(text) == text


@given(value=JSON)
def test_visible_json_means_the_same(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        made = visible_json(text)
        assert json.loads(made) == value
        assert visible(made) == made


@given(value=JSON, indent=st.sampled_from([None, 0, 3]))
def test_layout_changes_white_space_only(value: object, indent: int | None) -> None:
    made = laid_out(json.dumps(value, indent=indent, ensure_ascii=False))
    expected = json.dumps(value, indent=2, ensure_ascii=False)
    assert made == expected


@pytest.mark.parametrize(
    "text",
    [
        "1.50",
        "-0",
        "1E+2",
        '"\\u00e9\\/"',
        "[]",
        "{}",
        "[\n  []\n]",
        '{\n  "]": "}",\n  "\\"": 10000000000000000000000\n}',
        "null",
    ],
)
def test_tokens_stay_as_they_were_published(text: str) -> None:
    assert laid_out(text) == text
    assert laid_out(text.replace("\n", "\r\n\t")) == text


@given(value=JSON)
def test_shown_content_is_text_and_spans(value: object) -> None:
    content = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    html = str(shown(content).html)
    without = re.sub(r'<span class="[a-z0-9]+">|</span>', "", html)
    assert "<" not in without
    assert json.loads(unescape(without)) == json.loads(content)


def test_hostile_content_is_escaped() -> None:
    content = b'{"</code></pre><script>alert(1)</script>":"&lt;\\u202e"}'
    html = str(shown(content).html)
    assert "<script" not in html
    assert "</code" not in html
    assert "&amp;lt;" in html


def test_very_large_content_is_cut() -> None:
    content = json.dumps("é" * LARGEST_SHOWN, ensure_ascii=False).encode()
    assert len(str(shown(content).html)) < LARGEST_SHOWN
    assert shown(content).note == "Only the beginning"


def test_large_content_is_plain_and_as_it_came() -> None:
    content = json.dumps(["<b>"] * LARGEST_HIGHLIGHTED).encode()
    assert str(shown(content).html) == content.decode().replace("<", "&lt;").replace(
        ">", "&gt;"
    ).replace('"', "&#34;")


@pytest.mark.parametrize(
    "content",
    [
        "[" * 64 + ",".join("1" for _ in range(30_000)) + "]" * 64,
        "[" + ",".join("{}" for _ in range(20_000)) + "]",
        '"' + "\\" * 60_000 + '"',
        json.dumps("\u202e" * 10_000, ensure_ascii=False),
        json.dumps("".join(map(chr, range(0x4E00, 0xD7FF))), ensure_ascii=False),
        "[" + "1," * 10_000 + "1]",
        "[" * 30_000,
        '"' * 60_001,
    ],
    ids=[
        "deep",
        "objects",
        "escapes",
        "hidden",
        "letters",
        "numbers",
        "unbalanced",
        "quotes",
    ],
)
def test_no_content_takes_long_or_grows_without_bounds(content: str) -> None:
    began = time.process_time()
    html = str(shown(content.encode()).html)
    assert time.process_time() - began < 2
    assert len(html) < 3_000_000
