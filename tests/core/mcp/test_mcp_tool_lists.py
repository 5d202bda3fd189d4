"""Answers that list tools, without some of them: all else stays byte for byte."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.mcp.frames import read_frame
from redlane.mcp.served import Served, started_by
from redlane.mcp.tool_lists import (
    has_more,
    is_listing,
    listed,
    odd_field,
    without,
)

LINES = {
    "compact": '{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}',
    "spaces": '{ "id" : 1.0 , "result" : { "x" : [1E5] , "tools" : [%s] , "n":"]"} }',
    "batch": '[{"id":2,"result":{}}, {"id":1,"result":{"tools":[%s],"_meta":{"a":1}}}]',
    "before": '{"result":{"a":{"tools":[{"name":"a"}]},"tools":[%s]},"id":1,"tools":1}',
}
TOOLS = ('{"name":"a"}', '{ "name" : "b]" , "x":[{}] }', '{"na\\u006de":"c,"}', "7")


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize(
    "dropped", [(), (0,), (1,), (3,), (0, 2), (1, 2, 3), (0, 1, 2, 3)]
)
def test_tools_are_cut_out_and_nothing_else(
    line: str, dropped: tuple[int, ...]
) -> None:
    frame = read_frame((line % ",".join(TOOLS)).encode())
    places = [len(frame.messages) - 1]
    tools = listed(frame, places)

    made = without(frame, [tools[each] for each in dropped])

    kept = [each for place, each in enumerate(TOOLS) if place not in dropped]
    assert made.line.decode() == line % ",".join(kept)
    assert [each.value for each in listed(made, places)] == [
        json.loads(each) for each in kept
    ]


def test_space_between_tools_stays_with_the_tool_behind_it() -> None:
    frame = read_frame(b'{"id":1,"result":{"tools":[ {"name":"a"} , {"name":"b"}\t]}}')
    first, second = listed(frame, [0])

    assert without(frame, [first]).line.endswith(b'"tools":[  {"name":"b"}\t]}}')
    assert without(frame, [second]).line.endswith(b'"tools":[ {"name":"a"}\t]}}')


@given(
    st.lists(st.dictionaries(st.text(), st.text(), max_size=3), max_size=8),
    st.sets(st.integers(0, 7)),
)
def test_what_is_left_is_the_tools_that_stay(
    tools: list[dict[str, str]], dropped: set[int]
) -> None:
    line = json.dumps({"id": 1, "result": {"a": tools, "tools": tools}}, indent=None)
    frame = read_frame(line.encode())
    found = listed(frame, [0])

    made = without(frame, [each for each in found if each.place in dropped])

    kept = [each for place, each in enumerate(tools) if place not in dropped]
    assert json.loads(made.line) == {"id": 1, "result": {"a": tools, "tools": kept}}


@pytest.mark.parametrize(
    ("asked", "lists"),
    [
        ("tools/list", True),
        ("tools/list cursor", True),
        ("tools/listen", False),
        ("tools/call tools/list", False),
        ("resources/read tools/list", False),
        ("", False),
    ],
)
def test_what_lists_tools(asked: str, lists: bool) -> None:  # noqa: FBT001
    assert is_listing(asked) is lists


@pytest.mark.parametrize(
    ("result", "more"),
    [
        ('{"tools":[],"nextCursor":"x"}', True),
        ('{"tools":[],"nextCursor":null}', False),
        ('{"tools":[]}', False),
        ("[]", False),
    ],
)
def test_pages(result: str, more: bool) -> None:  # noqa: FBT001
    frame = read_frame(f'{{"id":1,"result":{result}}}'.encode())
    assert has_more(frame, [0]) is more


def test_a_server_is_its_name_and_what_is_started() -> None:
    made = [
        Served("a", ("x", "y")),
        Served("b", ("x", "y")),
        Served("a", ("x", "z")),
        Served("a", ("x y",)),
        Served("a", ("x", "y", "")),
    ]
    assert len({each.key for each in made}) == len(made)
    assert Served("a", ("x", "y")).key == made[0].key


def test_a_program_by_a_path_is_known_by_the_whole_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir("/usr")
    assert started_by(["./bin/x", "./y"]) == ("/usr/bin/x", "./y")
    assert started_by(["npx", "-y"]) == ("npx", "-y")
    assert started_by(["npx", "\udcff"]) == ("npx", "\\xff")


@pytest.mark.parametrize("name", ["Tools", "TOOLS", "tool\u017f"])
def test_a_list_that_some_readers_only_find_is_refused(name: str) -> None:
    line = json.dumps({"id": 1, "result": {"tools": [], name: [{"name": "a"}]}})
    frame = read_frame(line.encode())

    assert odd_field(frame, [0]) == name
    assert odd_field(frame, []) == ""
    for other in (
        b'{"id":1,"result":{"tools":[],"toolset":1}}',
        b'{"id":1,"result":[]}',
    ):
        assert odd_field(read_frame(other), [0]) == ""
