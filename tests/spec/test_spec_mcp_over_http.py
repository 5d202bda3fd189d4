"""Calls of tools by HTTP meet the policies of context Mcp, whoever sends them."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from proxied import Agent, MakeLab, Outcome, Proxied
from spec.cases import modify, simple
from system.calls import in_background
from system.mcp_client import call, request
from system.mcp_front import Front

UPPER = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}
POLICIES = {
    "no-drop": {
        "type": "McpTool",
        "action": "Block",
        "context": "Mcp",
        "tool": "drop",
        "suggestion": "archive it",
    },
    "here": {
        "type": "McpTool",
        "action": "Block",
        "context": "Mcp",
        "server": "localhost",
    },
    "far": {"type": "McpTool", "action": "Block", "context": "Mcp", "server": "notes"},
    "no-secret": simple("Block", "secret", context="Mcp"),
    "raise": modify("low", UPPER, context="Mcp"),
    "ask": simple("Flag", "odd-call", context="Mcp"),
    "ask-all": simple("Flag", "odd-all"),
    "no-word": simple("Block", "network-word", context="Network"),
}
ROLES = {
    "calling": ["no-drop", "no-secret", "raise", "no-word"],
    "asking": ["ask", "ask-all"],
    "near": ["here"],
    "named": ["far"],
}
SETTINGS = {
    "tls": {"intercept": True},
    "review": {"timeout_seconds": 60},
    "proxy": {"mcp_servers": {"notes": "localhost", "others": "elsewhere.test"}},
}
BLOCKED = -32010
STREAMABLE = {"accept": "application/json, text/event-stream"}


def post(agent: Agent, url: str, message: object, **headers: str) -> Outcome:
    """POST a message as clients of streamable HTTP do."""
    sent = {"content-type": "application/json", **STREAMABLE, **headers}
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return agent.post(url, body, headers=list(sent.items()))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_allowed_call_passes_as_it_is(lab: Proxied, scheme: str) -> None:
    body = json.dumps(call(1, "keep", a="fine"), indent=3).encode()

    url = f"{getattr(lab, scheme)}/mirror?passes-by-{scheme}."
    answer = post(lab.agent("calling"), url, body)

    assert (answer.status, answer.body) == (200, body)
    host = urlsplit(url).hostname
    events = lab.events(f"passes-by-{scheme}.", "Mcp")
    assert {each["verdict"] for each in events} == {"ALLOW"}
    servers = {json.loads(each["content"])["server"] for each in events}
    assert {host, "localhost", "notes"} <= servers


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_blocked_call_is_answered_as_by_its_server(lab: Proxied, scheme: str) -> None:
    url = f"{getattr(lab, scheme)}/mirror?dropped-by-{scheme}."
    answer = post(lab.agent("calling"), url, call("x", "drop"))

    assert (answer.status, answer.json["id"]) == (200, "x")
    error = answer.json["error"]
    assert (error["code"], error["data"]["policy"]) == (BLOCKED, "no-drop")
    assert error["data"]["suggestion"] == "archive it"
    assert lab.event(f"dropped-by-{scheme}.", "Mcp")["id"] == error["data"]["event"]
    assert lab.origin.reached("dropped") == []


def test_who_takes_no_events_gets_an_error_of_http(lab: Proxied) -> None:
    url = f"{lab.http}/mirror?older"
    answer = post(lab.agent("calling"), url, call(1, "drop"), accept="*/*")

    assert (answer.status, answer.json["error"]["code"]) == (403, BLOCKED)


def test_a_blocked_notification_is_taken(lab: Proxied) -> None:
    message = {k: v for k, v in call(1, "drop").items() if k != "id"}

    answer = post(lab.agent("calling"), f"{lab.http}/mirror?silent", message)

    assert (answer.status, answer.body) == (202, b"")
    assert lab.origin.reached("silent") == []


def test_one_blocked_call_blocks_its_batch(lab: Proxied) -> None:
    batch = [call(1, "keep"), request(2, "ping"), call(3, "keep", a=["a secret"])]

    answer = post(lab.agent("calling"), f"{lab.http}/mirror?batch", batch)

    assert [each["id"] for each in answer.json] == [1, 2, 3]
    assert {each["error"]["data"]["policy"] for each in answer.json} == {"no-secret"}
    assert lab.origin.reached("batch") == []


def test_what_is_no_call_is_judged_as_a_request_alone(lab: Proxied) -> None:
    message = request(1, "resources/read", uri="a secret of tools/call")

    answer = post(lab.agent("calling"), f"{lab.http}/mirror?other", message)

    assert (answer.status, answer.json) == (200, message)
    assert lab.events("other", "Mcp") == []


def test_a_request_that_is_blocked_is_no_call_any_more(lab: Proxied) -> None:
    url = f"{lab.http}/mirror?first"
    answer = post(lab.agent("calling"), url, call(1, "drop", a="network-word"))

    assert answer.blocked_by == "no-word"
    assert lab.events("first", "Mcp") == []


def test_a_modify_rewrites_the_arguments_and_nothing_else(lab: Proxied) -> None:
    body = b'{ "method":"tools/call", "id":7,"params" : {"name":"low", "arguments":'
    url = f"{lab.http}/mirror?raised"

    answer = post(lab.agent("calling"), url, body + b'{"low":[ "so low"]}}}')

    assert answer.body == body + b'{"low":[ "so HIGH"]}}}'


def test_a_modify_never_leaves_the_old_argument_in_a_header(lab: Proxied) -> None:
    url = f"{lab.http}/mirror?repeated"
    answer = post(
        lab.agent("calling"), url, call(1, "keep", a="low"), **{"Mcp-Param-a": "low"}
    )

    assert "header repeats it" in answer.json["error"]["message"]
    assert lab.origin.reached("repeated") == []


@pytest.mark.parametrize("host", ["LocalHost", "127.0.0.1", "127.1", "2130706433"])
def test_policies_know_the_server_by_its_host_however_it_is_written(
    lab: Proxied, host: str
) -> None:
    url = lab.http.replace("127.0.0.1", host)
    answer = post(lab.agent("near"), f"{url}/mirror", call(1, "keep"))

    assert answer.json["error"]["data"]["policy"] == "here"


def test_policies_know_the_server_by_the_name_that_settings_give_it(
    lab: Proxied,
) -> None:
    answer = post(lab.agent("named"), f"{lab.https}/mirror", call(1, "keep"))

    assert answer.json["error"]["data"]["policy"] == "far"


UNREADABLE = {
    "given twice": b'{"method":"ping","method":"tools/call","jsonrpc":"2.0"}',
    "another case": b'{"Method":"tools/call","id":1,"params":{"name":"drop"}}',
    "something behind": b'{"method":"tools/call","id":1,"params":{"name":"a"}} {',
    "cut off": b'{"id":1, "method": "tools/call", "params":',
    "misspelt": b'{"method":"/Tools/Call","id":1,"params":{"name":"drop"}}',
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_call_that_servers_read_in_two_ways_never_leaves(
    lab: Proxied, name: str
) -> None:
    url = f"{lab.http}/mirror?unreadable"
    answer = post(lab.agent("calling"), url, UNREADABLE[name])

    assert (answer.status, answer.json["error"]["code"]) == (400, -32700)
    assert lab.origin.reached("unreadable") == []


DROP = json.dumps(call(1, "drop")).encode()
OTHERWISE = {
    "a coding that it has not": (DROP, {"content-encoding": "deflate"}),
    "a coding by accident": (b"{ \n " + DROP[1:], {"content-encoding": "deflate"}),
    "UTF-7": (
        DROP.replace(b'"tools', b'"+AHQ-ools'),
        {"content-type": "application/json; charset=utf-7"},
    ),
    "two charsets": (
        DROP.replace(b'"tools', b'"+AHQ-ools'),
        {"content-type": "application/json; xcharset=a; charset=utf-8; charset=utf-7"},
    ),
    "a form": (
        b"jsonrpc=2.0&id=1&method=tools%2Fcall&params%5Bname%5D=drop",
        {"content-type": 'application/x-www-form-urlencoded; x="application/json"'},
    ),
    "a charset that nobody knows": (
        DROP.replace(b'"tools', b'"&AHQ-ools'),
        {"content-type": "application/json; charset=utf-7-imap"},
    ),
    "UTF-16 that looks like none": (
        json.dumps(
            {"a": "\u4e00" * 5000, **call(1, "drop")}, ensure_ascii=False
        ).encode("utf-16-le"),
        {},
    ),
    "a length that is not judged": (b'{"a": "%b",' % (b"a" * 70_000) + DROP[1:], {}),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_call_that_servers_may_find_otherwise_never_leaves(
    make_lab: MakeLab, name: str
) -> None:
    body, headers = OTHERWISE[name]
    scan = {"max_buffer_bytes": "64KB"}
    lab = make_lab(POLICIES, ROLES, inbound_scan=scan)

    answer = post(lab.agent("calling"), f"{lab.http}/mirror?otherwise", body, **headers)

    assert lab.origin.reached("otherwise") == [], answer
    assert "error" in answer.json


def hold(lab: Proxied, send: Any, decision: str) -> Any:
    """Decide on the one thing that is held of what is sent."""
    thread, found = in_background(send)
    held = lab.held()
    lab.home.control.post(f"/api/reviews/{held['id']}", {"decision": decision})
    thread.join(30)
    return found[0]


@pytest.mark.parametrize("word", ["odd-call", "odd-all"])
def test_a_flagged_call_is_held_once(lab: Proxied, word: str) -> None:
    message, url = call(1, "keep", a=word), f"{lab.http}/text?held"

    answer = hold(lab, lambda: post(lab.agent("asking"), url, message), "allow")

    assert answer.body == b"hello from the origin\n"


def test_each_flagged_call_of_a_batch_is_held(lab: Proxied) -> None:
    batch = [call(1, "keep", a="odd-call"), call(2, "keep", a="odd-call")]
    url = f"{lab.http}/mirror?both"

    def send() -> Outcome:
        return post(lab.agent("asking"), url, batch)

    thread, found = in_background(send)
    lab.home.run("review", "allow", lab.held()["id"])
    lab.home.run("review", "block", lab.held()["id"])
    thread.join(30)

    assert all("error" in each for each in found[0].json)


def test_what_was_allowed_before_redlane_mcp_is_not_held_again(lab: Proxied) -> None:
    answered = {"jsonrpc": "2.0", "id": 1, "result": {}}
    path = lab.origin.serve("/mcp", json.dumps(answered).encode(), "application/json")
    message = call(1, "keep", a="odd-call")
    with Front(lab.home, f"{lab.http}{path}", inside="asking") as front:
        answer = hold(lab, lambda: front.ask(message), "allow")
        again = hold(lab, lambda: front.ask(call(2, "keep", a="odd-call")), "block")

    assert answer.json == answered
    assert again.json["error"]["code"] == BLOCKED


def test_messages_of_websockets_are_calls_too(lab: Proxied) -> None:
    agent = lab.agent("calling")
    url = f"{lab.http.replace('http', 'ws', 1)}/ws"
    sent = [json.dumps(call(1, "keep", a="low")).encode()]
    agent.send("websocket", url=url, messages=[{"text": each} for each in sent])
    passed = agent.receive()
    refused = json.dumps(call(1, "drop")).encode()
    agent.send("websocket", url=url, messages=[{"text": refused}])
    cut = agent.receive()

    assert len(passed["replies"]) == 1
    assert "HIGH" in str(lab.origin.messages)
    assert not any("drop" in str(each) for each in lab.origin.messages), cut
