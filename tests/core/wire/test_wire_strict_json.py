"""Strict JSON: one value, or one error with its place."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.wire.strict_json import DEEPEST, JsonError, parse_json

# From 3.13 on, Python's own reader says so, and points at the comma.
TRAILING_COMMA = (
    (3, "trailing comma") if sys.version_info >= (3, 13) else (4, "expecting value")
)
REFUSED = {
    "empty": (b"", 1, 1, "expecting value"),
    "only-space": (b" \n ", 2, 2, "expecting value"),
    "trailing-garbage": (b"[1]\nx", 2, 1, "extra data"),
    "trailing-comma": (b"[1,]", 1, *TRAILING_COMMA),
    "comment": (b"// no\n{}", 1, 1, "expecting value"),
    "single-quotes": (b"{'a': 1}", 1, 2, "double quotes"),
    "raw-line-break": (b'"a\nb"', 1, 3, "control character"),
    "leading-zero": (b"01", 1, 2, "extra data"),
    "nan": (b"[1, NaN]", 1, 5, "NaN is not JSON"),
    "infinity": (b'{"a": Infinity}', 1, 7, "Infinity is not JSON"),
    "minus-infinity": (b"-Infinity", 1, 1, "-Infinity is not JSON"),
    "float-overflow": (b"[1e999]", 1, 2, "too large"),
    "huge-integer": (b"[" + b"9" * 5000 + b"]", 1, 2, "too large"),
    "negative-huge-integer": (b"-" + b"9" * 400, 1, 1, "too large"),
    "duplicate-key": (b'{"a": 1,\n "a": 2}', 2, 2, "the key 'a' is given twice"),
    "escaped-duplicate": (b'{"a": 1, "\\u0061": 2}', 1, 10, "given twice"),
    "nested-duplicate": (b'[{"x": {"k": 0, "k": 0}}]', 1, 17, "given twice"),
    "lone-high-surrogate": (b'["\\ud800"]', 1, 2, "lone surrogate"),
    "lone-low-surrogate": (b'["ok", "\\uDC00x"]', 1, 8, "lone surrogate"),
    "surrogate-key": (b'{"\\udfff": 1}', 1, 2, "lone surrogate"),
    "swapped-surrogates": (b'"\\udc00\\ud800"', 1, 1, "lone surrogate"),
    "invalid-utf8": (b'["ab\xff"]', 1, 5, "not valid UTF-8"),
    "overlong-utf8": (b'"\xc0\xaf"', 1, 2, "not valid UTF-8"),
    "utf8-surrogate": (b'"\xed\xa0\x80"', 1, 2, "not valid UTF-8"),
    "utf16-with-mark": ("{}".encode("utf-16"), 1, 1, "UTF-16"),
    "utf16-without-mark": ("{}".encode("utf-16-le"), 1, 1, "UTF-16 or UTF-32"),
    "utf32-with-mark": ("{}".encode("utf-32"), 1, 1, "UTF-32"),
    "utf32-without-mark": ("{}".encode("utf-32-be"), 1, 1, "UTF-16 or UTF-32"),
    "too-deep": (b"[" * 65 + b"]" * 65, 1, 65, "deeper than 64"),
    "deep-without-end": (b"[" * 100_000, 1, 65, "deeper than 64"),
    "deep-objects": (b'{"a":' * 70 + b"1" + b"}" * 70, 1, 321, "deeper than 64"),
    "first-of-two": (b'{"a": 1, "a": 2, "b" 3}', 1, 10, "given twice"),
    "syntax-before-rule": (b'{"b" 3, "a": NaN}', 1, 6, "expecting ':'"),
}


@pytest.mark.parametrize(
    ("data", "line", "column", "says"), REFUSED.values(), ids=REFUSED
)
def test_what_is_not_strict_json_is_one_error_with_its_place(
    data: bytes, line: int, column: int, says: str
) -> None:
    with pytest.raises(JsonError) as caught:
        parse_json(data)

    assert (caught.value.line, caught.value.column) == (line, column)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"line {line} column {column}: ")
    assert "\n" not in str(caught.value)


ACCEPTED = {
    "byte-order-mark": (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
    "surrogate-pair": (b'"\\ud83e\\udd8a"', "\U0001f98a"),
    "same-key-in-two-objects": (b'[{"a": 1}, {"a": 1}]', [{"a": 1}, {"a": 1}]),
    "key-equals-value": (b'{"a": "a", "b": ["a", "a"]}', {"a": "a", "b": ["a", "a"]}),
    "deepest": (b"[" * DEEPEST + b"]" * DEEPEST, None),
    "nul-escape": (b'"\\u0000"', "\0"),
    "large-number": (b"1e308", 1e308),
    "underflow": (b"1e-999", 0.0),
    "top-level-scalar": (b" null ", None),
}


@pytest.mark.parametrize(("data", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_strict_json_is_its_value(data: bytes, value: object) -> None:
    parsed = parse_json(data)

    assert value is None or parsed == value


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**300), 10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_what_json_writes_is_read_back(value: object, ascii_only: bool) -> None:  # noqa: FBT001  # drawn
    written = json.dumps(value, ensure_ascii=ascii_only).encode()

    assert parse_json(written) == value


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_value_or_a_json_error(data: bytes) -> None:
    try:
        value, place = parse_json(data), None
    except JsonError as error:
        value, place = None, (error.line, error.column)

    if place is None:
        assert value == json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    else:
        assert min(place) >= 1
