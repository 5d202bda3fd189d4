"""Lines of JSON-RPC: which are messages, which are refused, and how they are cut."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.mcp.frames import (
    Lines,
    MessageError,
    MessageKind,
    key_of,
    read_frame,
)

REFUSED = {
    "no-json": b"hello",
    "a-text": b'"hello"',
    "a-number": b"1",
    "two-on-a-line": b'{"id":1}{"id":2}',
    "key-twice": b'{"method":"ping","method":"tools/call"}',
    "key-twice-inside": b'{"method":"m","params":{"name":"a","name":"b"}}',
    "key-twice-by-escape": b'{"method":"ping","meth\\u006fd":"tools/call"}',
    "other-case": b'{"method":"ping","Method":"tools/call"}',
    "kelvin-sign": '{"method":"ping","params":{},"\u0130d":1,"re\u017fult":1}'.encode(),
    "call-in-another-case": b'{"method":"Tools/Call"}',
    "call-that-ends-early": b'{"method":"tools/call\\u0000x"}',
    "call-with-space": b'{"method":" tools/call\\t"}',
    "call-with-a-slash": b'{"method":"/tools/call/"}',
    "list-in-another-case": b'{"method":"tools/LIST"}',
    "other-case-in-a-call": b'{"method":"tools/call","params":{"name":"a","NAME":"b"}}',
    "nan": b'{"id":1,"params":[NaN]}',
    "infinity": b'{"id":1,"params":[1e999]}',
    "latin-1": b'{"id":1,"params":["\xe9"]}',
    "utf-16": '{"id":1}'.encode("utf-16"),
    "mark": b'\xef\xbb\xbf{"id":1}',
    "nul": b'{"id":1}\0',
    "deep": b'{"id":1,"params":' + b"[" * 70 + b"]" * 70 + b"}",
    "carriage-return": b'{"method":"m","params":\r{"method":"tools/call"}\r}',
    "nested-batch": b'[[{"id":1,"method":"m"}]]',
    "batch-of-other-things": b'[{"id":1,"method":"m"},1]',
    "long-batch": b"[" + b",".join([b"{}"] * 1001) + b"]",
    "id-is-true": b'{"id":true,"method":"m"}',
    "id-is-a-list": b'{"id":[1],"method":"m"}',
    "id-is-an-object": b'{"id":{},"method":"m"}',
    "method-is-a-number": b'{"id":1,"method":1}',
    "method-is-null": b'{"id":1,"method":null}',
    "call-and-answer": b'{"id":1,"method":"m","result":{}}',
    "call-and-error": b'{"id":1,"method":"m","error":{}}',
}


@pytest.mark.parametrize("line", REFUSED.values(), ids=REFUSED)
def test_what_two_readers_could_read_in_two_ways_is_refused(line: bytes) -> None:
    with pytest.raises(MessageError) as caught:
        read_frame(line)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b'{"id":1,"method":"m"}', MessageKind.REQUEST),
        (b'{"id":null,"method":"m"}', MessageKind.REQUEST),
        (b'{"method":"m","params":[1]}', MessageKind.NOTIFICATION),
        (b'{"id":1,"result":{}}', MessageKind.RESPONSE),
        (b'{"id":null,"error":{}}', MessageKind.RESPONSE),
    ],
)
def test_messages_are_told_apart(line: bytes, kind: MessageKind) -> None:
    frame = read_frame(line)

    assert [each.kind for each in frame.messages] == [kind]
    assert frame.line == line
    assert frame.is_ordered == (kind is MessageKind.NOTIFICATION)


def test_a_batch_has_a_place_for_each_message() -> None:
    frame = read_frame(b'[{"id":1,"method":"m"},{"method":"n"}]')

    assert [(each.place, each.method) for each in frame.messages] == [
        (0, "m"),
        (1, "n"),
    ]
    assert frame.is_batch
    assert not frame.is_ordered


@pytest.mark.parametrize(
    ("escaped", "passed"),
    [
        (r"\ud83d\ude00", r"\ud83d\ude00"),
        (r"\\ud83d", r"\\ud83d"),
        (r"\\\ud83d", r"\\\ufffd"),
        (r"\ud83d", r"\ufffd"),
        (r"\ude00\ud83d", r"\ufffd\ufffd"),
        (r"\uD83Dx", r"\ufffdx"),
        (r"\ud83d\ud83d\ude00", r"\ufffd\ud83d\ude00"),
    ],
)
def test_half_characters_are_replaced_and_whole_ones_stay(
    escaped: str, passed: str
) -> None:
    frame = read_frame(b'{"id":1,"result":"%b"}' % escaped.encode())

    assert frame.line == b'{"id":1,"result":"%b"}' % passed.encode()
    assert frame.messages[0].body == json.loads(frame.line)


def test_ids_of_different_kinds_are_different() -> None:
    assert key_of(1) != key_of("1")
    assert key_of(1) == key_of(1.0)
    assert key_of(None) != key_of("")


@given(st.lists(st.binary(max_size=20).map(lambda each: each.replace(b"\n", b""))))
def test_lines_are_the_same_however_they_come(lines: list[bytes]) -> None:
    data = b"".join(line + b"\n" for line in lines) + b"rest"
    found, cut = [], Lines()
    for start, end in pairwise([*range(0, len(data), 3), len(data)]):
        found += list(cut.feed(data[start:end]))

    assert found == [line.removesuffix(b"\r") for line in lines]
    assert cut.rest == b"rest"


@pytest.mark.parametrize("data", [b"123456", b"123456\n", b"1\n123456"])
def test_a_line_that_is_too_long_is_refused_whole_or_not(data: bytes) -> None:
    assert list(Lines(5).feed(b"12345\n")) == [b"12345"]
    with pytest.raises(MessageError, match="more than 5 bytes"):
        list(Lines(5).feed(data))


def test_many_pieces_of_one_line_are_searched_once() -> None:
    cut = Lines()
    for _ in range(20_000):
        assert not list(cut.feed(b"x" * 1000))
    assert len(cut.rest) == 20_000_000


@pytest.mark.parametrize("key", ["say this", "it's", 'a " b', "both ' \" of"])
def test_an_error_quotes_no_key(key: str) -> None:
    name = json.dumps(key)
    with pytest.raises(MessageError) as caught:
        read_frame(f"{{{name}:1,{name}:2}}".encode())

    assert str(caught.value).endswith(": the key is given twice in one object")
