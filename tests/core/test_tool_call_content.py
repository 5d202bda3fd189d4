"""An MCP call as content: how it is read, what policies see, how it is rewritten."""

import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.mcp.content import MOST_CHECKED, ToolCallContent
from redlane.contexts.parse import parse_content, parse_contents
from redlane.errors import ContentError
from redlane.model.content import Reader, ToolCall
from redlane.model.policy import Action, Context


def call(**arguments: object) -> ToolCallContent:
    return ToolCallContent(ToolCall("files", "read", MappingProxyType(arguments)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"server": "s"}',
        b'{"tool": "t"}',
        b'{"server": "", "tool": "t"}',
        b'{"server": 1, "tool": "t"}',
        b'{"server": "s", "tool": "t", "arguments": []}',
        b'{"server": "s", "tool": "t", "arguments": "x"}',
        b'{"server": "s", "tool": "t", "tool": "u"}',
        b'{"server": "s", "tool": "t", "arguments": {"a": "\\ud800"}}',
        b'{"server": "s", "tool": "t", "arguments": {"a": NaN}}',
        b'{"server": "s", "tool": "t", "arguments": '
        + b'{"a":' * 100
        + b"1"
        + b"}" * 101,
        b'{"server": "s", "tool": "t"} x',
        b"\xff",
    ],
)
def test_what_is_no_tool_call_is_an_error(data: bytes) -> None:
    with pytest.raises(ContentError):
        parse_content(Context.MCP, data)


@pytest.mark.parametrize("rest", [b"", b', "arguments": null', b', "arguments": {}'])
def test_arguments_may_be_left_out(rest: bytes) -> None:
    content = parse_content(Context.MCP, b'{"server": "s", "tool": "t"' + rest + b"}")
    assert content.call is not None
    assert (content.call.server, content.call.tool) == ("s", "t")
    assert content.call.arguments == {}


def test_data_is_what_came() -> None:
    data = b' {"tool" : "t", "server": "s"} '
    assert parse_content(Context.MCP, data).data == data


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("reader", list(Reader))
def test_every_policy_sees_the_json_and_each_string(
    action: Action, reader: Reader
) -> None:
    data = (
        b'{"server": "s", "tool": "t", "arguments": {"a": "r\\u006d -rf\\n", '
        b'"b": ["x", {"c": "\\u00e9"}], "n": 1}}'
    )
    views = parse_content(Context.MCP, data).views(action, reader)
    compact = (
        '{"server":"s","tool":"t","arguments":'
        '{"a":"rm -rf\\n","b":["x",{"c":"é"}],"n":1}}'
    )
    assert views[:4] == (compact.encode(), b"rm -rf\n", b"x", "é".encode())


def test_blocks_and_flags_see_keys_too() -> None:
    content = call(key={"inner": 1})
    for action in Action:
        seen = b"inner" in content.views(action, Reader.PATTERN)
        assert seen is (action in (Action.BLOCK, Action.FLAG))


def test_more_texts_than_can_be_checked_are_an_error() -> None:
    content = call(a=[str(number) for number in range(MOST_CHECKED)])
    assert len(content.views(Action.BLOCK, Reader.PATTERN)) > MOST_CHECKED
    with pytest.raises(ContentError, match=str(MOST_CHECKED)):
        content.views(Action.BLOCK, Reader.CHECKER)


def test_same_texts_are_checked_once() -> None:
    content = call(a=["same"] * 1_000)
    assert len(content.views(Action.BLOCK, Reader.CHECKER)) == 2


def test_string_values_of_arguments_are_rewritten() -> None:
    content = call(a="bad", b=["bad", {"bad": "bad", "n": 1, "z": None}], c=True)
    rewritten = content.rewritten(lambda text: text.replace(b"bad", b"good"))
    assert rewritten.data == (
        b'{"server":"files","tool":"read","arguments":{"a":"good",'
        b'"b":["good",{"bad":"good","n":1,"z":null}],"c":true}}'
    )
    assert rewritten.call.arguments["a"] == "good"
    assert content.call.arguments["a"] == "bad"


def test_rewriting_to_something_else_than_text_is_an_error() -> None:
    with pytest.raises(ContentError, match="UTF-8"):
        call(a="x").rewritten(lambda _: b"\xff")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda child: (
        st.lists(child, max_size=3)
        | st.dictionaries(st.text(max_size=5), child, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_rewriting_nothing_changes_nothing(arguments: dict[str, object]) -> None:
    content = ToolCallContent(ToolCall("s", "t", arguments))
    again = content.rewritten(lambda text: text)
    assert again.data == content.data
    assert json.loads(again.data)["arguments"] == arguments
    read = parse_content(Context.MCP, content.data)
    assert read.views(Action.BLOCK, Reader.PATTERN) == content.views(
        Action.BLOCK, Reader.PATTERN
    )


def test_context_all_is_the_text_contexts() -> None:
    contents = parse_contents(Context.ALL, b"ls")
    assert [each.context for each in contents] == [
        Context.SHELL,
        Context.NETWORK,
        Context.INBOUND,
    ]
    with pytest.raises(ContentError):
        parse_content(Context.ALL, b"ls")


def test_one_context_is_one_content() -> None:
    (content,) = parse_contents(Context.NETWORK, b"\xff")
    assert (content.context, content.data) == (Context.NETWORK, b"\xff")
