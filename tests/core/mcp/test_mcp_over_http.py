"""A body calls tools if anybody might read it so, and then it is read strictly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.mcp.frames import MessageError
from redlane.contexts.mcp.over_http import calls_in

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
PLAIN = json.dumps(CALL).encode()

CALLS = {
    "by itself": PLAIN,
    "in a batch": b"[%b]" % PLAIN,
    "after others": b'[{"method":"ping"}, %b]' % PLAIN,
    "after white space": b"\r\n\t " + PLAIN,
    "with a solidus escaped": PLAIN.replace(b"s/c", rb"s\/c"),
    "with a letter escaped": PLAIN.replace(b"tools", rb"t\u006fols"),
    "with its field escaped": PLAIN.replace(b"method", rb"m\u0065thod"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_found(name: str) -> None:
    frame = calls_in([CALLS[name]])

    assert frame is not None
    assert any(each.method == "tools/call" for each in frame.messages)


NONE = {
    "nothing": b"",
    "text": b"method: tools/call",
    "a form": b'method="tools/call"&a=b',
    "another method": b'{"method":"tools/list"}',
    "a text about it": json.dumps({"text": PLAIN.decode()}).encode(),
    "a chat": json.dumps({"messages": [CALL]}).encode(),
    "a picture with a call in it": b"\x89PNG\0\0" + PLAIN,
    "an answer": b'{"id":1,"result":{"method":"tools/call"}}',
    "broken, and no call": b'{"a": tools/call}',
    "lines of logs": b'{"log":"tools/call"}\n{"method":"tools/call"}\n',
    "a number": b"[1, 2]",
    "a record of a call": b'{"method":"tools/call","count":5}',
    "a record of an answer": b'{"method":"tools/call","result":{}}',
    "nested deeply": b"[" * 100_000 + b'"tools/call"',
}


@pytest.mark.parametrize("name", NONE)
def test_what_nobody_reads_as_a_call_is_none(name: str) -> None:
    assert calls_in([NONE[name]]) is None


TWO_WAYS = {
    "a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "a field twice, the call first": PLAIN.replace(b"}}", b'},"method":"ping"}'),
    "a field twice, the call last": b'{"method":"ping",' + PLAIN[1:],
    "a field of another case": PLAIN.replace(b"method", b"METHOD"),
    "a method of another case": PLAIN.replace(b"tools/call", b"Tools/Call"),
    "a method with space around": PLAIN.replace(b"tools/call", b" tools/call\\n"),
    "a method with a solidus": PLAIN.replace(b"tools/call", b"/tools/call/"),
    "more behind it": PLAIN + b" {}",
    "its end missing": PLAIN[:-2],
    "a comma too many": PLAIN.replace(b"}}", b"},}"),
    "single quotes": PLAIN.replace(b'"', b"'"),
    "no number": PLAIN.replace(b'"id": 1', b'"id": NaN'),
    "no UTF-8": PLAIN.replace(b'"a"', b'"\xff"'),
    "a line break in a text": PLAIN.replace(b'"a"', b'"a\n"'),
    "a NUL before it": b"\0" + PLAIN,
    "a number without end": PLAIN.replace(b"1", b"1" * 5000).replace(b"m", b"\\u006d"),
    "a depth, and much space": b'{"method": %b "tools/call","a":' % (b" " * 99)
    + b"[" * 100_000,
    "a depth without end": rb'{"\u006dethod":"tools/call","a":' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", TWO_WAYS)
def test_what_some_read_as_a_call_and_others_not_is_refused(name: str) -> None:
    with pytest.raises(MessageError):
        calls_in([TWO_WAYS[name]])


TOLD = {
    "lines of messages": PLAIN + b"\n" + PLAIN,
    "a log": b"[2026-11-29] INFO method=tools/call",
    "a page": b'[![CI](a)](b)\n```{"jsonrpc": "2.0", "method": "tools/call"}```',
    "settings": b'[server]\nmethod = "tools/call"',
}


@pytest.mark.parametrize("name", TOLD)
def test_what_is_not_called_json_and_is_none_is_no_call(name: str) -> None:
    assert calls_in([TOLD[name]], is_json=False) is None


def test_what_is_not_called_json_and_is_a_call_is_one() -> None:
    assert calls_in([PLAIN + b"\n"], is_json=False) is not None


ODD = json.dumps({**CALL, "params": {"name": "Ácme"}}, ensure_ascii=False)
ELSEWHERE = {
    "no text": (b"?", PLAIN),
    "no call": (b"{}", PLAIN),
    "nothing": (b"", PLAIN),
    "another name": (ODD.replace("Á", "B").encode(), ODD.encode()),
    **{
        f"{codec}, unseen": (b"{}", ODD.encode(codec))
        for codec in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
    },
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_call_in_another_charset_than_is_declared_is_refused(name: str) -> None:
    with pytest.raises(MessageError):
        calls_in(ELSEWHERE[name])


def test_a_call_in_the_charset_that_is_declared_is_found() -> None:
    frame = calls_in([ODD.encode(), ODD.encode("utf-16-le")])

    assert frame is not None
    assert frame.messages[0].params == {"name": "Ácme"}


_KEYS = st.sampled_from(["method", "Method", "id", "params", "JSONRPC", "x"])
_VALUES = st.sampled_from(["tools/call", "ping", " tools/call", "TOOLS/CALL", 1, None])


@given(pairs=st.lists(st.tuples(_KEYS, _VALUES), max_size=6), listed=st.booleans())
def test_no_call_passes_for_none(
    pairs: list[tuple[str, object]], *, listed: bool
) -> None:
    fields = ",".join(f"{json.dumps(k)}:{json.dumps(v)}" for k, v in pairs)
    body = f"[{{{fields}}}]" if listed else f"{{{fields}}}"
    lenient = {
        str(value).strip().lower() for key, value in pairs if key.lower() == "method"
    }
    is_message = any(key.lower() in {"params", "jsonrpc"} for key, _ in pairs)
    try:
        found = calls_in([body.encode()])
    except MessageError:
        return
    assert (found is not None) == (is_message and "tools/call" in lenient)
