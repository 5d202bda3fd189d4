"""What a client of `redlane mcp --url` is asked while a call of its own is held."""

from http.client import HTTPResponse
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.calls import in_background, wait_until_held
from system.mcp.test_mcp_front_sessions import (
    BLOCKED,
    Stream,
    endpoint_of,
    message_of,
    result,
    stream,
)
from system.mcp_client import call, request
from system.mcp_front import Front, Serving, serving

__all__ = ["stream"]

HELD = call(1, "echo", l="please")


def named(it: Serving) -> None:
    """Answer as a server does that names its sessions."""
    message = it.message
    if "method" not in message:
        it.say(202)
    else:
        it.json(result(message["id"]), Mcp_Session_Id=f"s-{len(it.server.requests)}")


def introduced(front: Front, elicitation: object) -> str:
    """Begin as a client that shows questions, or as one that does not."""
    capabilities = {} if elicitation is None else {"elicitation": elicitation}
    begins = request(0, "initialize", capabilities=capabilities)
    return front.ask(begins).headers["Mcp-Session-Id"]


def decide(home: Home, decision: str) -> None:
    review = wait_until_held(home)["id"]
    home.control.post(f"/api/reviews/{review}", {"decision": decision})


def given_up(asked: Any) -> dict[str, Any]:
    return result(asked["id"], action="accept", content={"answer": "give up"})


def asked_on(response: HTTPResponse) -> Any:
    asked = message_of(response)
    assert asked["method"] == "elicitation/create"
    return asked


def test_the_question_comes_before_the_answer_and_is_taken_back(shared: Home) -> None:
    with serving(named) as server, Front(shared, server.url) as front:
        session = introduced(front, {})
        with front.open(HELD, Mcp_Session_Id=session) as response:
            asked = asked_on(response)
            decide(shared, "allow")
            over, answer = message_of(response), message_of(response)

    assert "the call of echo" in asked["params"]["message"]
    assert over["method"] == "notifications/cancelled"
    assert over["params"]["requestId"] == asked["id"]
    assert answer == result(1)


def test_who_gives_the_call_up_is_refused_it(shared: Home) -> None:
    with serving(named) as server, Front(shared, server.url) as front:
        session = introduced(front, {"form": {}})
        with front.open(HELD, Mcp_Session_Id=session) as response:
            told = front.ask(given_up(asked_on(response)), Mcp_Session_Id=session)
            refused = message_of(response)

        wait_for(lambda: shared.control.rows("/api/reviews") == [])
        assert (told.status, told.body) == (202, b"")
        assert (refused["id"], refused["error"]["code"]) == (1, BLOCKED)
        assert len(server.requests) == 1


def test_another_session_gives_nothing_up(shared: Home) -> None:
    with serving(named) as server, Front(shared, server.url) as front:
        session, other = (introduced(front, {}) for _ in range(2))
        with front.open(HELD, Mcp_Session_Id=session) as response:
            front.ask(given_up(asked_on(response)), Mcp_Session_Id=other)
            decide(shared, "block")
            assert message_of(response)["method"] == "notifications/cancelled"


@pytest.mark.parametrize(
    ("elicitation", "accept"),
    [(None, "text/event-stream"), ({"url": {}}, "text/event-stream"), ({}, "")],
)
def test_who_shows_no_questions_or_takes_no_stream_is_not_asked(
    shared: Home, elicitation: object, accept: str
) -> None:
    with serving(named) as server, Front(shared, server.url) as front:
        fields = {"Mcp_Session_Id": introduced(front, elicitation)}
        fields["Accept"] = f"application/json, {accept}"
        thread, got = in_background(lambda: front.ask(HELD, **fields))
        decide(shared, "allow")
        thread.join()

    assert got[0].json == result(1)


def test_by_http_with_events_the_question_comes_on_the_stream(
    shared: Home, stream: Stream
) -> None:
    begins = request(0, "initialize", capabilities={"elicitation": {}})
    with (
        serving(stream) as server,
        Front(shared, server.url) as front,
        front.open(None, "GET") as response,
    ):
        path = endpoint_of(response)
        front.ask(begins, path=path)
        message_of(response)
        thread, got = in_background(lambda: front.ask(HELD, path=path))
        front.ask(given_up(asked_on(response)), path=path)
        assert message_of(response)["error"]["code"] == BLOCKED
        thread.join()

    assert got[0].status == 202
