"""`redlane mcp --url`: calls and answers by streamable HTTP are judged as ever."""

import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import in_background, wait_until_held
from system.mcp_client import call, request
from system.mcp_front import Front, Server, Serving, event, serving

BLOCKED, NOT_JUDGED = -32010, -32011
PLEASE = {"a": "please"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture
def front(shared: Home, server: Server) -> Iterator[Front]:
    with Front(shared, server.url) as made:
        yield made


def result(id_: object, **content: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": content}


def decide(home: Home, decision: str) -> dict[str, Any]:
    review = wait_until_held(home)
    home.control.post(f"/api/reviews/{review['id']}", {"decision": decision})
    return review


def test_it_says_where_it_listens_and_ends_by_a_signal(front: Front) -> None:
    assert front.told == f"listening on http://127.0.0.1:{front.port}/mcp\n"
    assert front.end() == (0, "")


def test_it_says_so_as_json(shared: Home, server: Server) -> None:
    with Front(shared, server.url, options=("--json",)) as front:
        assert json.loads(front.told) == {
            "listening": f"http://127.0.0.1:{front.port}/mcp",
            "server": "notes",
            "url": server.url,
        }


def test_an_allowed_call_is_answered(front: Front) -> None:
    answer = front.ask(call(1, "echo", a="b"))

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json["result"]["structuredContent"] == {"a": "b"}


def test_a_blocked_call_never_leaves(front: Front, server: Server) -> None:
    answer = front.ask(call("x", "echo", a="rm -rf /"))

    assert answer.status == 200
    assert answer.json["id"] == "x"
    assert answer.json["error"]["code"] == BLOCKED
    assert answer.json["error"]["data"]["policy"] == "no-rm"
    assert server.bodies == []


def test_policies_know_the_server_by_its_given_name(
    shared: Home, server: Server
) -> None:
    with Front(shared, server.url, name="files") as front:
        assert front.ask(call(1, "echo")).json["error"]["data"]["policy"] == "files"


@pytest.mark.parametrize(
    "body",
    [
        b'{ "id" : 1 ,"jsonrpc":"2.0",\r\n "method":"m\\u0065", "params" : { } }\n',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"z":[1E5,-0.0]},"q":1}',
        b'{"id":1,"method":"tools/call","params":{"name":"n","arguments":{"n":1.50}}}',
        b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}',
    ],
)
def test_what_is_not_rewritten_stays_byte_for_byte(
    front: Front, server: Server, body: bytes
) -> None:
    assert front.ask(body).json["id"] == 1
    assert server.bodies == [body]


def test_what_the_server_answers_stays_byte_for_byte(shared: Home) -> None:
    body = b'{"id":1 ,\r\n"result":{"n":1E5, "t":"\\u0061b"},\n "z" : null}'
    with (
        serving(lambda it: it.json(body)) as server,
        Front(shared, server.url) as front,
    ):
        assert front.ask(request(1, "x")).body == body


def test_a_rewritten_call_keeps_all_but_the_strings(
    front: Front, server: Server
) -> None:
    body = (
        b'{"id":1, "params":{"arguments" : {"a":"beer"},"name":"echo"},'
        b'"method":"tools/call"}'
    )
    front.ask(body)

    assert server.bodies == [body.replace(b"beer", b"tea")]


def test_a_rewritten_answer_is_alike_as_text_and_structured(shared: Home) -> None:
    content = [{"type": "text", "text": '{"drink": "beer"}'}]
    made = result(1, content=content, structuredContent={"drink": "beer"})
    with (
        serving(lambda it: it.json(made)) as server,
        Front(shared, server.url) as front,
    ):
        got = front.ask(request(1, "x")).json["result"]

    assert json.loads(got["content"][0]["text"]) == {"drink": "tea"}
    assert got["structuredContent"] == {"drink": "tea"}


def test_a_blocked_answer_is_an_error(shared: Home) -> None:
    made = result(1, text="rm -rf")
    with (
        serving(lambda it: it.json(made)) as server,
        Front(shared, server.url) as front,
    ):
        got = front.ask(request(1, "x"))

    assert (got.status, got.json["error"]["code"]) == (200, BLOCKED)
    assert b"text" not in got.body


def test_a_batch_with_one_bad_element_does_not_pass(
    front: Front, server: Server
) -> None:
    got = front.ask([request(1, "ping"), call(2, "echo", a="rm -rf /")])

    assert [(e["id"], e["error"]["code"]) for e in got.json] == [
        (1, BLOCKED),
        (2, BLOCKED),
    ]
    assert server.bodies == []


def test_a_good_batch_passes_whole(front: Front) -> None:
    got = front.ask([call(1, "echo", a="beer"), request(2, "ping")])

    assert got.json[0]["result"]["structuredContent"] == {"a": "tea"}
    assert got.json[1] == result(2)


def test_a_notification_is_taken(front: Front, server: Server) -> None:
    sent = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    got = front.ask(sent)

    assert (got.status, got.body) == (202, b"")
    assert list(map(json.loads, server.bodies)) == [sent]


def test_a_blocked_notification_is_taken_and_goes_nowhere(
    front: Front, server: Server
) -> None:
    bad = call(1, "echo", a="rm -rf /")
    del bad["id"]
    got = front.ask(bad)

    assert (got.status, got.body) == (202, b"")
    assert server.bodies == []


def test_events_come_one_by_one_and_in_order(shared: Home) -> None:
    go_on = threading.Event()
    progress = {
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": 1, "message": "beer"},
    }

    def answer(it: Serving) -> None:
        it.begin(Mcp_Session_Id="s-1", X_Else="kept")
        it.write(event(progress, id="e1"))
        assert go_on.wait(20)
        it.write(event(result(1, a="beer"), event="message", id="e2"))
        it.end()

    with (
        serving(answer) as server,
        Front(shared, server.url) as front,
        front.open(call(1, "echo")) as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["Mcp-Session-Id"] == "s-1"
        assert response.headers["X-Else"] == "kept"
        first = response.readline(), response.readline(), response.readline()
        go_on.set()
        rest = response.read().split(b"\n")

    assert first[0] == b"id: e1\n"
    assert json.loads(first[1].removeprefix(b"data: "))["params"]["message"] == "tea"
    assert rest[:2] == [b"id: e2", b"event: message"]
    assert json.loads(rest[2].removeprefix(b"data: ")) == result(1, a="tea")
    assert rest[3:] == [b"", b""]


def test_a_client_that_follows_a_held_call_is_told_that_it_waits(
    shared: Home, front: Front
) -> None:
    asked = call(1, "echo", **PLEASE)
    asked["params"]["_meta"] = {"progressToken": "t"}
    with front.open(asked) as response:
        lines = iter(response.readline, b"")
        told = json.loads(next(e for e in lines if b"{" in e).partition(b": ")[2])
        decide(shared, "block")
        refused = json.loads(next(e for e in lines if b"{" in e).partition(b": ")[2])

    assert told["method"] == "notifications/progress"
    assert told["params"]["progressToken"] == "t"
    assert "redlane review" in told["params"]["message"]
    assert refused["error"]["code"] == BLOCKED


def test_comments_and_unknown_fields_of_a_stream_do_not_pass(shared: Home) -> None:
    def answer(it: Serving) -> None:
        it.begin()
        it.write(b": rm -rf\nnote: rm -rf\n\n" + event("x", event="rm -rf"))
        it.write(event(result(1)))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(request(1, "x"))

    assert got.messages == [result(1)]
    assert b"rm" not in got.body


def test_a_held_call_waits_and_goes_on(
    shared: Home, front: Front, server: Server
) -> None:
    thread, got = in_background(front.ask, call(1, "echo", **PLEASE))
    review = decide(shared, "allow")
    decide(shared, "allow")  # its result says please as well
    thread.join()

    server_told, place_told = review["details"]
    assert server_told == "MCP server: notes"
    assert place_told == f"reached at {urlsplit(server.url).netloc}"
    assert got[0].json["result"]["structuredContent"] == PLEASE
    assert len(server.bodies) == 1


def test_a_held_call_that_is_blocked_is_an_error(
    shared: Home, front: Front, server: Server
) -> None:
    thread, got = in_background(front.ask, call(1, "echo", **PLEASE))
    decide(shared, "block")
    thread.join()

    assert got[0].json["error"]["data"]["policy"] == "ask"
    assert server.bodies == []


def test_others_pass_a_held_call(shared: Home, front: Front) -> None:
    thread, got = in_background(front.ask, call(1, "echo", **PLEASE))
    wait_until_held(shared)

    assert front.ask(call(2, "echo", a="b")).json["id"] == 2
    decide(shared, "block")
    thread.join()
    assert got[0].json["id"] == 1


def test_a_client_that_goes_away_takes_its_call_back(
    shared: Home, front: Front, server: Server
) -> None:
    connection = front.connect()
    body = json.dumps(call(1, "echo", **PLEASE))
    connection.request("POST", "/mcp", body, {"Content-Type": "application/json"})
    wait_until_held(shared)

    connection.close()

    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    assert server.bodies == []


def test_a_client_that_goes_away_takes_its_stream_with_it(shared: Home) -> None:
    gone = threading.Event()

    def answer(it: Serving) -> None:
        it.begin()
        while not gone.wait(0.01):
            try:
                it.write(b":\n\n")
            except OSError:
                gone.set()
                raise

    with serving(answer) as server, Front(shared, server.url) as front:
        with front.open(call(1, "echo")) as response:
            response.readline()
        assert gone.wait(20)


def test_cancelling_takes_a_held_call_back(
    shared: Home, front: Front, server: Server
) -> None:
    thread, got = in_background(
        lambda: front.ask(call(5, "echo", **PLEASE), Mcp_Session_Id="s")
    )
    wait_until_held(shared)
    params = {"requestId": 5, "reason": "no longer"}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    assert front.ask(cancel, Mcp_Session_Id="s").status == 202
    thread.join()

    assert shared.control.rows("/api/reviews") == []
    assert (got[0].status, got[0].body) == (202, b"")
    assert server.bodies == []  # neither the call nor that it was cancelled


def test_a_held_event_keeps_its_place_among_those_with_ids(shared: Home) -> None:
    def answer(it: Serving) -> None:
        it.begin()
        it.write(event(result(1, **PLEASE), id="1") + event({"method": "n"}, id="2"))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        thread, got = in_background(front.ask, request(1, "x"))
        decide(shared, "allow")
        thread.join()

    assert [each["id"] for each in got[0].events] == ["1", "2"]


def test_without_a_daemon_every_call_says_why(home: Home, server: Server) -> None:
    with Front(home, server.url) as front:
        answer = front.ask(call(1, "echo", a="b"))
        other = front.ask(request(2, "ping"))

    assert answer.json["error"]["code"] == NOT_JUDGED
    assert "redlane start" in answer.json["error"]["message"]
    assert other.json == result(2)


def test_inside_a_session_its_role_judges(shared: Home, server: Server) -> None:
    with Front(shared, server.url, name="files", inside="other") as front:
        assert "result" in front.ask(call(1, "echo")).json
        assert "error" in front.ask(call(2, "echo", a="rm -rf /")).json


def test_a_megabyte_passes_in_both_directions(front: Front) -> None:
    text = "x" * 1_000_000
    answer = front.ask(call(1, "echo", a=text))

    assert answer.json["result"]["structuredContent"] == {"a": text}


def test_an_event_of_megabytes_passes(shared: Home) -> None:
    text = "x" * 5_000_000

    def answer(it: Serving) -> None:
        it.begin()
        it.write(event(result(1, text=text)))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        assert front.ask(request(1, "x")).messages == [result(1, text=text)]


def test_many_clients_at_once_are_all_answered(front: Front) -> None:
    asked = [in_background(front.ask, call(1, "echo", a=f"n {n}")) for n in range(30)]
    found = []
    for thread, got in asked:
        thread.join()
        found.append(got[0].json["result"]["structuredContent"]["a"])

    assert found == [f"n {n}" for n in range(30)]
