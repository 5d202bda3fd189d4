"""The public client, both kinds, against a daemon that runs."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for

from redlane.client import (
    AsyncClient,
    Client,
    EventFollower,
    NotRunningError,
    Operation,
    RefusedError,
    ReviewFollower,
    operations,
)

Send = Callable[[Operation], Any]
SOON = 20


def socket_of(home: Home) -> Path:
    return Path(home.control.socket)


@pytest.fixture(params=["sync", "asyncio"])
def send(request: pytest.FixtureRequest, shared: Home) -> Send:
    socket = socket_of(shared)
    if request.param == "sync":
        return Client(socket).send
    return lambda operation: asyncio.run(AsyncClient(socket).send(operation))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def first(follow: Iterator[Mapping[str, Any]], count: int) -> list[Mapping[str, Any]]:
    return list(islice(follow, count))


async def first_async(client: AsyncClient, follower: Any, count: int) -> list[Any]:
    found: list[Any] = []
    async for each in client.follow(follower):
        found.append(each)
        if len(found) == count:
            break
    return found


def test_a_verdict_is_asked_for(send: Send) -> None:
    answer = send(operations.verdict("rm -rf /"))
    assert (answer["verdict"], answer["lane"]) == ("BLOCK", "RED")
    assert send(operations.verdict("ls"))["verdict"] == "ALLOW"


def test_what_is_flagged_is_answered_at_once_without_hold(send: Send) -> None:
    answer = send(operations.verdict("please do", hold=False))
    assert answer["verdict"] == "FLAG"


def test_large_contents_go_whole(send: Send) -> None:
    answer = send(operations.verdict("x" * 3_000_000 + " rm -rf /"))
    assert answer["verdict"] == "BLOCK"


def test_sessions_are_opened_changed_and_ended(send: Send) -> None:
    made = send(operations.open_session(label="ours"))["id"]
    assert made in {each["id"] for each in send(operations.sessions())["sessions"]}
    assert send(operations.freeze(made))["state"] == "frozen"
    assert send(operations.verdict("ls", session=made))["verdict"] == "BLOCK"
    assert send(operations.unfreeze(made))["state"] == "running"
    send(operations.end_session(made))
    assert send(operations.session(made))["state"] == "ended"


def test_errors_carry_what_was_answered(send: Send) -> None:
    with pytest.raises(RefusedError) as caught:
        send(operations.session("nobody's"))
    assert caught.value.status == 404
    assert "nobody's" in str(caught.value)


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_without_a_daemon_one_line_says_how_to_start_it(
    tmp_path: Path, kind: str
) -> None:
    socket = tmp_path / "control.sock"

    def ask() -> object:
        wanted = operations.status()
        if kind == "sync":
            return Client(socket).send(wanted)
        return asyncio.run(AsyncClient(socket).send(wanted))

    with pytest.raises(NotRunningError, match="redlane start"):
        ask()


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_events_are_followed(shared: Home, pool: ThreadPoolExecutor, kind: str) -> None:
    socket = socket_of(shared)
    client = Client(socket)
    last = client.send(operations.events(limit=1))["last"]
    follower = EventFollower(last, verdict="BLOCK")
    if kind == "sync":
        waiting = pool.submit(first, client.follow(follower), 2)
    else:
        waiting = pool.submit(
            asyncio.run, first_async(AsyncClient(socket), follower, 2)
        )
    for content in ("rm -rf /", "ls", "rm -rf /"):
        client.send(operations.verdict(content))
    assert [each["content"] for each in waiting.result(SOON)] == ["rm -rf /"] * 2


def held(answer: Mapping[str, Any]) -> list[str]:
    return [each["content"] for each in answer["reviews"]]


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_reviews_are_followed_and_decided(
    shared: Home, pool: ThreadPoolExecutor, kind: str
) -> None:
    socket = socket_of(shared)
    client = Client(socket)
    asked = pool.submit(client.send, operations.verdict(f"please {kind}"))
    found: list[Mapping[str, Any]] = []

    def is_ours(answer: Mapping[str, Any]) -> bool:
        found.extend(e for e in answer["reviews"] if e["content"] == f"please {kind}")
        return bool(found)

    async def wait_async() -> None:
        async for answer in AsyncClient(socket).follow(ReviewFollower()):
            if is_ours(answer):
                return

    if kind == "sync":
        assert any(map(is_ours, client.follow(ReviewFollower())))
    else:
        asyncio.run(wait_async())
    client.send(operations.decide(found[0]["id"], "allow", "seen"))
    assert asked.result(SOON)["verdict"] == "ALLOW"


def test_a_list_of_reviews_is_told_when_it_changes_and_not_before(
    shared: Home, pool: ThreadPoolExecutor
) -> None:
    client = Client(socket_of(shared))
    wait_for(lambda: not client.send(operations.reviews())["reviews"])
    before = client.send(operations.reviews())["revision"]
    same = client.send(operations.reviews(after=before, wait_seconds=0))
    assert same["revision"] == before

    waiting = pool.submit(
        client.send, operations.reviews(after=before, wait_seconds=SOON)
    )
    asked = pool.submit(client.send, operations.verdict("please wait"))

    (review,) = waiting.result(SOON)["reviews"]
    assert review["content"] == "please wait"
    client.send(operations.decide(review["id"], "block"))
    assert asked.result(SOON)["verdict"] == "BLOCK"


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_following_goes_on_after_the_daemon_was_away(
    home: Home, pool: ThreadPoolExecutor, kind: str
) -> None:
    home.start()
    socket = socket_of(home)
    client = Client(socket)
    client.send(operations.verdict("before"))
    last = client.send(operations.events())["last"]
    follower = EventFollower(last)
    if kind == "sync":
        waiting = pool.submit(first, client.follow(follower), 1)
    else:
        waiting = pool.submit(
            asyncio.run, first_async(AsyncClient(socket), follower, 1)
        )
    assert home.run("restart").code == 0
    client.send(operations.verdict("after it"))
    assert waiting.result(SOON)[0]["content"] == "after it"
