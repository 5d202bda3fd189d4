"""Servers of a configuration go through Redlane; nothing else in it changes."""

import json

import pytest
from mcp_configurations import CONFIGURATIONS, PROGRAM, Configuration

from redlane.mcp_clients.clients import CLIENTS
from redlane.mcp_clients.rewriting import Rewritten, give_back, put_through
from redlane.mcp_clients.tree import UnreadableError


def ours(command: str) -> bool:
    return command in {"redlane", PROGRAM}


def through(text: str, client: str) -> Rewritten:
    return put_through(text, CLIENTS[client], PROGRAM, ours)


def back(text: str, client: str, done: Rewritten) -> str:
    return give_back(text, CLIENTS[client], done.wrapped, ours).text


def states(done: Rewritten) -> dict[str, str]:
    return {each.name: each.state for each in done.told}


@pytest.mark.parametrize("sample", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_only_commands_of_servers_change(sample: Configuration) -> None:
    done = through(sample.before.decode(), sample.client)

    assert done.text.encode() == sample.after
    left = {name for name, state in states(done).items() if state == "left"}
    assert left == set(sample.left)


@pytest.mark.parametrize("sample", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_a_second_time_changes_nothing(sample: Configuration) -> None:
    done = through(sample.after.decode(), sample.client)

    assert (done.text.encode(), done.wrapped) == (sample.after, ())


@pytest.mark.parametrize("sample", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_giving_back_gives_the_same_bytes(sample: Configuration) -> None:
    done = through(sample.before.decode(), sample.client)

    assert back(done.text, sample.client, done).encode() == sample.before


SERVER = '{"mcpServers":{"a":%s}}'
LEFT = {
    "no-object": "7",
    "null": "null",
    "no-command": '{"args":["a"]}',
    "command-is-an-array": '{"command":["a"]}',
    "command-is-a-number": '{"command":7}',
    "arguments-are-no-array": '{"command":"a","args":"b"}',
    "an-argument-is-a-number": '{"command":"a","args":["b",7]}',
    "url": '{"url":"http://a"}',
    "url-besides-a-command": '{"command":"a","url":"http://a"}',
    "http-url-besides-a-command": '{"command":"a","httpUrl":"http://a"}',
    "of-another-type": '{"type":"sse","command":"a"}',
}


@pytest.mark.parametrize("server", LEFT.values(), ids=LEFT)
def test_a_server_that_no_command_starts_is_left(server: str) -> None:
    text = SERVER % server
    done = through(text, "claude")

    assert done.text == text
    assert [each.state for each in done.told] == ["left"]
    assert done.told[0].why


@pytest.mark.parametrize("name", ["", "a\\nb", "\\u200b", "${X}", "{env:X}", "\\ud800"])
def test_a_name_that_cannot_be_given_is_left(name: str) -> None:
    text = f'{{"mcpServers":{{"{name}":{{"command":"a"}}}}}}'

    assert through(text, "claude").text == text


def test_a_name_that_begins_like_an_option_is_one_word() -> None:
    done = through('{"mcpServers":{"--":{"command":"a"}}}', "claude")

    entry = json.loads(done.text)["mcpServers"]["--"]
    assert entry["args"] == ["mcp", "--name=--", "--", "a"]


@pytest.mark.parametrize(
    "server",
    [
        '{"command":"/usr/bin/redlane","args":["mcp","--","a"]}',
        '{"command":"redlane","args":["mcp","--name","b","--","a"]}',
    ],
)
def test_a_server_that_goes_through_redlane_stays(server: str) -> None:
    assert states(through(SERVER % server, "claude")) == {"a": "already"}


@pytest.mark.parametrize(
    "server",
    [
        '{"command":"/tmp/redlane","args":["mcp","--","a"]}',
        '{"command":"redlane","args":["hub"]}',
        '{"command":"mcp","args":["redlane","mcp"]}',
        '{"command":"redlane"}',
    ],
)
def test_what_only_looks_like_redlane_does_not(server: str) -> None:
    assert states(through(SERVER % server, "claude")) == {"a": "wrapped"}


MALFORMED = {
    "claude": [
        "{",
        "[1,]x",
        '{"a" 1}',
        '{"a":}',
        '{"a":1 "b":2}',
        '{"a":NaN}',
        "{'a':1}",
    ],
    "codex": ["a", "a = ", "[a\n", "a = 1\na = 2", '[mcp_servers]\na = "'],
}


@pytest.mark.parametrize(
    ("client", "text"), [(name, text) for name in MALFORMED for text in MALFORMED[name]]
)
def test_a_malformed_file_is_refused(client: str, text: str) -> None:
    with pytest.raises(UnreadableError) as told:
        through(text, client)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers":{"a":{"command":"b"},"a":{"command":"c"}}}',
        '{"mcpServers":{"a":{"command":"b","command":"c"}}}',
        '{"mcpServers":{},"mcpServers":{"a":{"command":"c"}}}',
        '{"mcpServers":{"a":{"command":"b","args":[],"args":[]}}}',
    ],
)
def test_what_readers_could_take_for_two_things_is_refused(text: str) -> None:
    with pytest.raises(UnreadableError, match="given twice"):
        through(text, "claude")


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// nothing\n", "[]", "null"])
def test_a_file_without_servers_stays(text: str) -> None:
    assert through(text, "vscode") == Rewritten(text, ())


def test_nesting_without_end_is_refused() -> None:
    for text, client in (("[" * 100_000, "claude"), ("a = " + "[" * 5000, "codex")):
        with pytest.raises(UnreadableError):
            through(text, client)


def test_what_the_user_added_since_stays() -> None:
    done = through(SERVER % '{"command":"a"}', "claude")
    since = json.loads(done.text)
    since["mcpServers"]["a"]["args"].append("more")
    since["mcpServers"]["a"]["env"] = {"A": "b"}
    since["mcpServers"]["b"] = {"command": "b"}

    restored = json.loads(back(json.dumps(since, indent=3), "claude", done))

    first = {"command": "a", "args": ["more"], "env": {"A": "b"}}
    assert restored == {"mcpServers": {"a": first, "b": {"command": "b"}}}


def test_a_file_that_was_laid_out_anew_is_given_back() -> None:
    text = SERVER % '{"command":"a","type":"stdio"}'
    done = through(text, "claude")
    for layout in (None, 0, 4):
        since = json.dumps(json.loads(done.text), indent=layout)
        assert json.loads(back(since, "claude", done)) == json.loads(text)


def test_an_array_that_got_a_trailing_comma_is_given_back() -> None:
    done = through('{"servers":{"a":{"command":"b","args":[]}}}', "vscode")
    since = done.text.replace('"b"]', '"b",]')

    assert '"args":[]' in back(since, "vscode", done)


def test_a_server_that_is_gone_is_told() -> None:
    done = through(SERVER % '{"command":"a"}', "claude")

    for since in ("{}", SERVER % '{"command":"z"}', SERVER % '{"url":"b"}'):
        given = give_back(since, CLIENTS["claude"], done.wrapped, ours)
        assert given.text == since
        assert states(given) == {"a": "gone"}


def test_another_way_through_redlane_is_not_taken_back() -> None:
    done = through(SERVER % '{"command":"a"}', "claude")
    since = done.text.replace('"--name", "a"', '"--name", "other"')

    with pytest.raises(UnreadableError, match="was changed since"):
        give_back(since, CLIENTS["claude"], done.wrapped, ours)
