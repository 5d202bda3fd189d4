"""Calls of tools: what is judged of them, and how other arguments are put in."""

import json

import pytest

from redlane.contexts.mcp.calls import content_of, is_judged, rewritten
from redlane.contexts.mcp.content import ToolCallContent
from redlane.contexts.mcp.frames import read_frame
from redlane.errors import ContentError


def content(line: str) -> bytes:
    return content_of(read_frame(line.encode()).messages[0], "s")


@pytest.mark.parametrize(
    ("line", "judged"),
    [
        ('{"id":1,"method":"tools/call","params":{}}', True),
        ('{"method":"tools/call"}', True),
        ('{"id":1,"method":"tool\\u0073\\/call"}', True),
        ('{"id":1,"method":"tools/list"}', False),
        ('{"id":1,"result":{"method":"tools/call"}}', False),
    ],
)
def test_whatever_calls_a_tool_is_judged(line: str, judged: bool) -> None:  # noqa: FBT001
    assert is_judged(read_frame(line.encode()).messages[0]) is judged


@pytest.mark.parametrize(
    ("beside", "seen"),
    [
        ({"_meta": {"progressToken": "a-1"}}, False),
        ({"_meta": {"progressToken": "a" * 40}}, True),
        ({"_meta": {"progressToken": 1, "note": "a"}}, True),
        ({"_meta": {}, "server": "a"}, True),
    ],
)
def test_what_stands_beside_the_arguments_is_seen(
    beside: dict[str, object],
    seen: bool,  # noqa: FBT001
) -> None:
    params = {"name": "t", "arguments": {}, **beside}
    line = json.dumps({"id": 1, "method": "tools/call", "params": params})
    found = json.loads(content(line))
    assert (found["server"], found["tool"]) == ("s", "t")
    assert found.get("beside") == (beside if seen else None)


def test_the_content_is_that_of_the_contract() -> None:
    line = '{"id":1,"method":"tools/call","params":{"arguments":{"a":[1]},"name":"t"}}'

    assert json.loads(content(line)) == {
        "server": "s",
        "tool": "t",
        "arguments": {"a": [1]},
    }


@pytest.mark.parametrize(
    "params",
    ["{}", '{"name":1}', '{"name":""}', "[]", '"t"', '{"name":"t","arguments":[1]}'],
)
def test_what_is_no_call_is_for_the_judge_to_refuse(params: str) -> None:
    made = content(f'{{"id":1,"method":"tools/call","params":{params}}}')

    with pytest.raises(ContentError):
        ToolCallContent.from_json(made)


LINE = (
    '{"x":"a", "params": {"name":"t","arguments" :{"l":["a",{"a":"b"}],"n":1.0E5},'
    '"_meta":{"a":"a"}},"id":"a","method":"tools/call"}'
)


def test_strings_of_the_arguments_are_replaced_and_nothing_else() -> None:
    frame = read_frame(LINE.encode())
    made = (
        b'{"server":"s","tool":"t","arguments":{"l":["A",{"a":"\\"B"}],"n":100000.0}}'
    )

    line = rewritten(frame, [(frame.messages[0], made)])

    expected = LINE.replace('["a",{"a":"b"}]', '["A",{"a":"\\"B"}]')
    assert line.decode() == expected


def test_each_call_of_a_batch_gets_its_own() -> None:
    call = '{"id":%d,"method":"tools/call","params":{"name":"t","arguments":{"a":"b"}}}'
    frame = read_frame(f'[{call % 1} , {{"method":"m"}},{call % 2}]'.encode())
    made = b'{"arguments":{"a":"%d"}}'

    line = rewritten(
        frame, [(frame.messages[2], made % 3), (frame.messages[0], made % 1)]
    )

    found = json.loads(line)
    assert [found[at]["params"]["arguments"] for at in (0, 2)] == [
        {"a": "1"},
        {"a": "3"},
    ]


@pytest.mark.parametrize(
    "made",
    [b"{}", b"no json", b'{"arguments":{"l":["A"]}}', b'{"arguments":["a","a","b"]}'],
)
def test_another_form_is_refused(made: bytes) -> None:
    frame = read_frame(LINE.encode())

    with pytest.raises(ContentError):
        rewritten(frame, [(frame.messages[0], made)])


@pytest.mark.parametrize("params", ['{"name":"t"}', '{"name":"t","arguments":null}'])
def test_without_arguments_there_is_nothing_to_rewrite(params: str) -> None:
    line = f'{{"id":1,"method":"tools/call","params":{params}}}'
    frame = read_frame(line.encode())

    with pytest.raises(ContentError):
        rewritten(frame, [(frame.messages[0], b'{"arguments":{"a":"b"}}')])
