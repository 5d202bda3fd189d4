"""Sessions, streams that are resumed, and HTTP+SSE through the front."""

import json
import threading
from collections.abc import Iterator
from http.client import HTTPResponse
from queue import Queue
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import in_background, wait_until_held
from system.mcp_client import call, request
from system.mcp_front import Front, Serving, event, serving

BLOCKED = -32010


def result(id_: object, **content: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": content}


def data_of(response: HTTPResponse) -> list[bytes]:
    """The next event, a line each."""
    lines: list[bytes] = []
    while line := response.readline().rstrip(b"\n"):
        lines.append(line)
    return lines


def message_of(response: HTTPResponse) -> Any:
    """The next message on a stream."""
    while True:
        for line in data_of(response):
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))


def one_session(it: Serving) -> None:
    """Answer as a server does that names sessions."""
    if it.command == "DELETE":
        it.say(200)
    elif it.message.get("method") == "initialize":
        it.json(result(it.message["id"]), Mcp_Session_Id=f"s-{len(it.server.requests)}")
    else:
        it.json(result(it.message["id"], of=it.headers["Mcp-Session-Id"]))


def test_each_client_has_its_own_session(shared: Home) -> None:
    with serving(one_session) as server, Front(shared, server.url) as front:
        first = front.ask(request(0, "initialize")).headers["Mcp-Session-Id"]
        second = front.ask(request(0, "initialize")).headers["Mcp-Session-Id"]
        answers = [
            front.ask(request(1, "x"), Mcp_Session_Id=each).json["result"]["of"]
            for each in (first, second)
        ]

    assert first != second
    assert answers == [first, second]


def test_like_ids_of_two_sessions_are_two(shared: Home) -> None:
    with serving(one_session) as server, Front(shared, server.url) as front:
        held = [
            in_background(
                lambda s=s: front.ask(call(1, "a", x="please"), Mcp_Session_Id=s)
            )
            for s in ("s", "t")
        ]
        wait_for(lambda: len(shared.control.rows("/api/reviews")) == 2)
        params = {"requestId": 1}
        cancel = {"method": "notifications/cancelled", "params": params}
        front.ask(cancel, Mcp_Session_Id="s")
        held[0][0].join()
        assert len(shared.control.rows("/api/reviews")) == 1
        review = wait_until_held(shared)
        shared.control.post(f"/api/reviews/{review['id']}", {"decision": "allow"})
        held[1][0].join()

    assert held[0][1][0].status == 202
    assert held[1][1][0].json["result"] == {"of": "t"}


def test_ending_a_session_takes_back_what_it_holds(shared: Home) -> None:
    with serving(one_session) as server, Front(shared, server.url) as front:
        thread, got = in_background(
            lambda: front.ask(call(1, "a", x="please"), Mcp_Session_Id="s")
        )
        wait_until_held(shared)
        ended = front.ask(None, "DELETE", Mcp_Session_Id="s")
        thread.join()

    assert (ended.status, ended.body) == (200, b"")
    assert got[0].status == 202
    assert shared.control.rows("/api/reviews") == []


@pytest.mark.parametrize("status", [400, 401, 404, 405, 406, 500])
def test_what_the_server_refuses_keeps_its_status(shared: Home, status: int) -> None:
    def answer(it: Serving) -> None:
        challenge = 'Bearer resource_metadata="https://x/y"'
        it.say(status, b"rm -rf", Content_Type="text/plain", WWW_Authenticate=challenge)

    with serving(answer) as server, Front(shared, server.url) as front:
        for method, message in [
            ("POST", request(1, "x")),
            ("GET", None),
            ("DELETE", None),
        ]:
            got = front.ask(message, method, Mcp_Session_Id="s")
            assert got.status == status
            assert got.headers["WWW-Authenticate"].startswith("Bearer ")
            assert b"rm -rf" not in got.body
            assert got.json["id"] == (1 if message else None)


def test_an_error_of_the_server_is_judged_and_keeps_its_status(shared: Home) -> None:
    error = {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32000, "message": "a beer"},
    }

    def answer(it: Serving) -> None:
        it.say(404, json.dumps(error).encode(), Content_Type="application/json")

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(request(1, "x"), Mcp_Session_Id="old")

    assert (got.status, got.json["error"]["message"]) == (404, "a tea")


def test_a_standing_stream_is_there_at_once_and_judged(shared: Home) -> None:
    go_on = threading.Event()

    def answer(it: Serving) -> None:
        if it.command == "POST":
            it.say(202)
            return
        it.begin()
        it.wfile.flush()
        assert go_on.wait(20)
        it.write(
            event({"method": "notifications/message", "params": {"data": "rm -rf"}})
        )
        it.write(
            event(
                {"id": 0, "method": "sampling/createMessage", "params": {"x": "rm -rf"}}
            )
        )
        it.write(event({"method": "notifications/tools/list_changed"}))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        with front.open(
            None, "GET", Mcp_Session_Id="s", Authorization="A b"
        ) as response:
            assert response.status == 200
            go_on.set()
            assert message_of(response)["method"] == "notifications/tools/list_changed"
            # A client that leaves takes with it what is still being judged.
            wait_for(lambda: len(server.requests) == 2)
        denied = server.requests[1]

    assert denied.message["id"] == 0
    assert denied.message["error"]["code"] == BLOCKED
    assert "rm" not in denied.body.decode()
    assert denied.headers["Mcp-Session-Id"] == "s"
    assert denied.headers["Authorization"] == "A b"


def test_a_stream_without_a_question_has_no_answers(shared: Home) -> None:
    def answer(it: Serving) -> None:
        it.begin()
        it.write(event(result(1, a="b")) + event({"method": "n"}))
        it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        got = front.ask(None, "GET", Mcp_Session_Id="s")
        again = front.ask(None, "GET", Mcp_Session_Id="s", Last_Event_ID="e")

    assert got.messages == [{"method": "n"}]
    # Events without ids may overtake one that is still being judged.
    wanted = [result(1, a="b"), {"method": "n"}]
    assert sorted(again.messages, key=str) == sorted(wanted, key=str)


def test_a_resumed_stream_is_judged_again(shared: Home) -> None:
    """The server hangs up behind a first event; the rest comes on another stream."""

    def answer(it: Serving) -> None:
        it.begin()
        if it.command == "POST":
            it.write(b"id: e-0\nretry: 10\ndata: \n\n")
            it.cut()
        else:
            assert it.headers["Last-Event-ID"] == "e-0"
            it.write(event(result(1, a="beer"), id="e-1"))
            it.write(event(result(2, a="rm -rf"), id="e-2"))
            it.end()

    with serving(answer) as server, Front(shared, server.url) as front:
        with front.open(request(1, "x"), Mcp_Session_Id="s") as response:
            assert data_of(response) == [b"id: e-0", b"retry: 10", b"data: "]
        got = front.ask(None, "GET", Mcp_Session_Id="s", Last_Event_ID="e-0")

    assert got.messages[0] == result(1, a="tea")
    assert got.messages[1]["error"]["code"] == BLOCKED
    assert [each["id"] for each in got.events] == ["e-1", "e-2"]


def test_a_list_of_tools_on_a_resumed_stream_is_no_way_round_its_pins(
    shared: Home,
) -> None:
    tools = [{"name": "a", "inputSchema": {}}, {"name": "b", "description": "rm -rf"}]

    def answer(it: Serving) -> None:
        it.begin()
        it.write(event(result(9, tools=tools), id="e-1"))
        it.end()

    with (
        serving(answer) as server,
        Front(shared, server.url, name="resumed") as front,
    ):
        got = front.ask(None, "GET", Mcp_Session_Id="s", Last_Event_ID="e-0")
        status, said = front.end()

    assert [each["name"] for each in got.messages[0]["result"]["tools"]] == ["a"]
    assert status == 0
    assert "left out tool 'b'" in said


class Stream:
    """A server of HTTP+SSE: what is posted is answered on the stream."""

    def __init__(self, endpoint: str = "/message?sessionId=7") -> None:
        self.endpoint = endpoint
        self.out: Queue[bytes | None] = Queue()

    def __call__(self, it: Serving) -> None:
        if it.command == "POST":
            it.say(202, b"Accepted")
            message = it.message
            if "id" in message and "method" in message:
                made = result(message["id"], path=it.path, got=message.get("params"))
                self.out.put(event(made, event="message"))
            return
        it.begin()
        it.write(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
        while (data := self.out.get()) is not None:
            it.write(data)
        it.end()


@pytest.fixture
def stream() -> Iterator[Stream]:
    made = Stream()
    yield made
    made.out.put(None)


def endpoint_of(response: HTTPResponse) -> str:
    name, data = data_of(response)
    assert name == b"event: endpoint"
    return data.removeprefix(b"data: ").decode()


def test_http_with_events_is_judged(shared: Home, stream: Stream) -> None:
    with (
        serving(stream) as server,
        Front(shared, server.url) as front,
        front.open(None, "GET") as response,
    ):
        path = endpoint_of(response)
        assert path.startswith("/messages/")
        good = front.ask(call(1, "a", x="beer"), path=path)
        answer = message_of(response)
        bad = front.ask(call(2, "a", x="rm -rf /"), path=path)
        refusal = message_of(response)
        elsewhere = front.ask(call(3, "a"), path="/messages/other")

    assert (good.status, good.body, bad.status) == (202, b"", 202)
    assert answer["result"]["path"] == "/message?sessionId=7"
    assert answer["result"]["got"]["arguments"] == {"x": "tea"}
    assert (refusal["id"], refusal["error"]["code"]) == (2, BLOCKED)
    assert elsewhere.status == 404
    assert len(server.requests) == 2


def test_a_held_call_of_http_with_events_goes_with_its_stream(
    shared: Home, stream: Stream
) -> None:
    with serving(stream) as server, Front(shared, server.url) as front:
        with front.open(None, "GET") as response:
            path = endpoint_of(response)
            thread, got = in_background(
                lambda: front.ask(call(1, "a", x="please"), path=path)
            )
            wait_until_held(shared)
        thread.join()
        wait_for(lambda: shared.control.rows("/api/reviews") == [])
        assert front.ask(call(1, "a"), path=path).status == 404

    assert got[0].status == 202


@pytest.mark.parametrize(
    "endpoint",
    ["http://evil.example/x", "//evil.example/x", "http://127.0.0.1:1/x", "ftp:x"],
)
def test_messages_go_to_no_other_server(shared: Home, endpoint: str) -> None:
    stream = Stream(endpoint)
    stream.out.put(None)
    with (
        serving(stream) as server,
        Front(shared, server.url) as front,
        front.open(None, "GET") as response,
    ):
        assert b"endpoint" not in response.fp.read()
        status, said = front.end()

    assert "another address than its own" in said
    assert status == 0


def test_where_messages_go_is_said_once(shared: Home) -> None:
    stream = Stream()
    stream.out.put(b"event: endpoint\ndata: /other\n\n")
    stream.out.put(event({"method": "n"}))
    stream.out.put(None)
    with (
        serving(stream) as server,
        Front(shared, server.url) as front,
        front.open(None, "GET") as response,
    ):
        assert endpoint_of(response)
        assert message_of(response) == {"method": "n"}


def test_the_query_of_the_server_is_its_own(shared: Home) -> None:
    with (
        serving(one_session) as server,
        Front(shared, f"{server.url}?key=x") as front,
    ):
        assert front.told.endswith("/mcp\n")
        front.ask(request(0, "initialize"))
        assert server.requests[0].path == "/mcp?key=x"


def modern(it: Serving) -> None:
    """Answer without sessions; a subscription is a stream."""
    if it.message["method"] == "subscriptions/listen":
        it.begin()
        it.write(event({"method": "notifications/x", "params": {"a": "beer"}}))
        it.write(event(result(it.message["id"])))
        it.end()
    else:
        it.json(result(it.message["id"], resultType="complete"))


def test_nothing_needs_a_session(shared: Home) -> None:
    with serving(modern) as server, Front(shared, server.url) as front:
        first = front.ask(request(1, "server/discover"))
        same = front.ask(request(1, "server/discover"))
        listened = front.ask(request(1, "subscriptions/listen"))

    assert first.json == same.json == result(1, resultType="complete")
    assert listened.messages[0]["params"] == {"a": "tea"}
    assert listened.messages[1] == result(1)


def test_servers_are_asked_again_on_the_same_connection(shared: Home) -> None:
    with serving() as server, Front(shared, server.url) as front:
        connection = front.connect()
        fields = {"Content-Type": "application/json"}
        for number in range(3):
            connection.request("POST", "/mcp", json.dumps(request(number, "x")), fields)
            assert json.loads(connection.getresponse().read())["id"] == number
        connection.close()

    assert len({each.client_address for each in server.requests}) == 1


def test_a_server_that_hung_up_meanwhile_is_asked_anew(shared: Home) -> None:
    def answer(it: Serving) -> None:
        it.json(result(it.message["id"]))
        it.close_connection = True

    with serving(answer) as server, Front(shared, server.url) as front:
        connection = front.connect()
        fields = {"Content-Type": "application/json"}
        for number in range(3):
            connection.request("POST", "/mcp", json.dumps(request(number, "x")), fields)
            assert json.loads(connection.getresponse().read())["id"] == number
        connection.close()
