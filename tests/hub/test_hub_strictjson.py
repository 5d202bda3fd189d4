"""JSON that must be read, must be refused, and how little a refusal repeats."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.errors import InvalidInputError
from redlane_hub.wire.strictjson import DEEPEST, parse_json

READ: dict[str, tuple[bytes, Any]] = {
    "null": (b"null", None),
    "true": (b"true", True),
    "false": (b"false", False),
    "scalar string": (b'"a"', "a"),
    "empty string": (b'""', ""),
    "empty object": (b"{}", {}),
    "empty array": (b"[]", []),
    "white space around": (b" \t\r\n[ 1 ,\n2 ]\r\n ", [1, 2]),
    "zero": (b"0", 0),
    "minus zero": (b"-0", 0),
    "fraction": (b"-0.5", -0.5),
    "exponents": (b"[1e2, 1E+2, 1.5e-1]", [100.0, 100.0, 0.15]),
    "integer beyond 64 bits": (b"18446744073709551616", 2**64),
    "308 digits": (b"1" * 308, int("1" * 308)),
    "largest double": (b"1.7976931348623157e308", 1.7976931348623157e308),
    "underflow": (b"1e-999", 0.0),
    "simple escapes": (rb'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
    "escaped NUL": (rb'"\u0000"', "\0"),
    "escaped pair": (rb'"\ud83d\ude00"', "\U0001f600"),
    "capital hex digits": (rb'"\u00E9"', "é"),
    "raw UTF-8": ('"é\U0001f600"'.encode(), "é\U0001f600"),
    "DEL in a string": (b'"\x7f"', "\x7f"),
    "noncharacter": ('"\uffff"'.encode(), "\uffff"),
    "separator U+2028": ('"\u2028"'.encode(), "\u2028"),
    "BOM inside a string": ('"\ufeff"'.encode(), "\ufeff"),
    "empty key": (b'{"": 1}', {"": 1}),
    "keys that differ in case": (b'{"a": 1, "A": 2}', {"a": 1, "A": 2}),
    "keys that normalise alike": (
        '{"é": 1, "e\u0301": 2}'.encode(),
        {"é": 1, "e\u0301": 2},
    ),
    "same key at two depths": (b'{"a": {"a": 1}}', {"a": {"a": 1}}),
}

REFUSED: dict[str, bytes] = {
    "nothing": b"",
    "white space only": b" \n",
    "NaN": b"[NaN]",
    "Infinity": b"Infinity",
    "minus Infinity": b"-Infinity",
    "capital literal": b"True",
    "overflow": b"1e309",
    "minus overflow": b"-1e999",
    "309 digits": b"1" * 309,
    "plus sign": b"+1",
    "leading zero": b"01",
    "minus leading zero": b"-01",
    "minus alone": b"-",
    "no digit before the point": b".5",
    "no digit after the point": b"1.",
    "no digit in the exponent": b"1e",
    "hexadecimal": b"0x1",
    "underscore": b"1_0",
    "full-width digit": "\uff11".encode(),
    "trailing comma in array": b"[1,]",
    "trailing comma in object": b'{"a":1,}',
    "missing comma": b"[1 2]",
    "missing colon": b'{"a" 1}',
    "unquoted key": b"{a: 1}",
    "number as key": b"{1: 1}",
    "single quotes": b"['a']",
    "comment": b"[1] // no",
    "block comment": b"/* no */ 1",
    "two values": b"1 2",
    "bracket too many": b"[1]]",
    "unclosed array": b"[1",
    "unclosed object": b'{"a": 1',
    "unclosed string": b'"a',
    "wrong bracket": b"[1}",
    "raw tab in a string": b'"\t"',
    "raw newline in a string": b'"\n"',
    "raw NUL in a string": b'"\0"',
    "NUL after the value": b"1\0",
    "form feed as space": b"[\x0c1]",
    "no-break space": "[\u00a01]".encode(),
    "unknown escape": rb'"\x41"',
    "short escape": rb'"\u00e"',
    "escape with a sign": rb'"\u+0e9"',
    "escape with spaces": rb'"\u 0e9"',
    "BOM": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "UTF-16 without BOM": '{"a": 1}'.encode("utf-16-le"),
    "Latin-1": '"é"'.encode("latin-1"),
    "overlong NUL": b'"\xc0\x80"',
    "cut UTF-8": b'"\xe2\x82"',
    "encoded surrogate": b'"\xed\xa0\x80"',
    "beyond Unicode": b'"\xf4\x90\x80\x80"',
    "high surrogate alone": rb'"\ud83d"',
    "low surrogate alone": rb'"\ude00"',
    "surrogates the wrong way": rb'"\ude00\ud83d"',
    "surrogate in a key": rb'{"\ud800": 1}',
    "high surrogate and a letter": rb'"\ud83da"',
    "same key twice": b'{"a": 1, "a": 1}',
    "same key, once escaped": rb'{"a": 1, "\u0061": 2}',
    "same key deep inside": b'[{"b": [{"a": 1, "a": 2}]}]',
    "endless opening": b"[" * 100_000,
    "endless objects": b'{"a":' * 100_000,
}


@pytest.mark.parametrize(("data", "value"), READ.values(), ids=READ)
def test_json_is_read(data: bytes, value: object) -> None:
    assert parse_json(data) == value
    assert parse_json(data.decode()) == value


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInputError, match=r"^not valid JSON: "):
        parse_json(data)


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"]
)
def test_64_levels_are_read_and_65_are_not(opening: str, closing: str) -> None:
    parse_json(opening * DEEPEST + "1" + closing * DEEPEST)
    with pytest.raises(InvalidInputError, match="deeper than 64"):
        parse_json(opening * (DEEPEST + 1) + "1" + closing * (DEEPEST + 1))


def test_a_text_with_half_a_pair_is_refused_though_it_is_no_escape() -> None:
    with pytest.raises(InvalidInputError, match="half of a UTF-16 pair"):
        parse_json('"\ud800"')


def test_an_error_says_where() -> None:
    with pytest.raises(InvalidInputError, match="line 2 column 3"):
        parse_json(b"[1,\n  x]")


@pytest.mark.parametrize(
    "data",
    [b'{"%b": 1, "%b": 1}' % (b"k" * 9000, b"k" * 9000), b"1" * 9000 + b".0e9"],
    ids=["key", "number"],
)
def test_an_error_repeats_little_of_the_document(data: bytes) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_json(data)
    assert len(str(caught.value)) < 120


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abé\0"), inner),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_what_is_written_is_read_back(value: object, escaped: bool) -> None:  # noqa: FBT001  # generated
    text = json.dumps(value, ensure_ascii=escaped)
    assert parse_json(text.encode()) == value


@given(st.binary(max_size=40) | st.text('{}[]":,\\ue+-.01ntf ').map(str.encode))
def test_any_bytes_are_read_as_the_standard_library_does_or_refused(
    data: bytes,
) -> None:
    try:
        value = parse_json(data)
    except InvalidInputError:
        return
    assert value == json.loads(data.decode())
    assert not isinstance(value, float) or math.isfinite(value)
