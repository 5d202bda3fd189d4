"""Lanes: each question has its answer, and one that nobody waits for has none."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from redlane.control.proxy_frames import HEAD_BYTES, body_length, pack, unpack
from redlane.model.policy import Context
from redlane.proxy.judge import Asker, Judge
from redlane.proxy.lanes import Lanes

ASKER = Asker("session:token", ("127.0.0.1", 1), "connection")
ANSWER: dict[str, Any] = {
    "verdict": "ALLOW",
    "policy": None,
    "reason": "",
    "suggestion": None,
    "event": "e",
    "modified_by": None,
    "refused": None,
}


class Daemon:
    """The other end: answers with what `answer` says; None hangs up."""

    def __init__(self, answer: Callable[[Any], list[bytes] | None]) -> None:
        self.answer = answer
        self.lanes = 0
        self.hung_up = threading.Event()
        self._threads: list[threading.Thread] = []

    def take(self, lane: socket.socket) -> None:
        self.lanes += 1
        own = lane.dup()
        thread = threading.Thread(target=self._serve, args=(own,))
        thread.start()
        self._threads.append(thread)

    def _serve(self, lane: socket.socket) -> None:
        with lane, lane.makefile("rb") as stream:
            while head := stream.read(HEAD_BYTES):
                frame = unpack(head, stream.read(body_length(head)))
                pieces = self.answer(frame)
                if pieces is None:
                    return
                with suppress(BrokenPipeError):
                    lane.sendall(b"".join(pieces))
            self.hung_up.set()

    def join(self) -> None:
        for each in self._threads:
            each.join(10)


class Content:
    data = b"GET / HTTP/1.1\n\n"
    texts = (b"more",)
    problem = None


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    made = Daemon(lambda _: pack(ANSWER))
    yield made
    made.join()


def test_many_questions_have_their_own_answers(daemon: Daemon) -> None:
    daemon.answer = lambda frame: pack(ANSWER, [frame.blobs[0]])
    lanes = Lanes(daemon.take)

    async def ask() -> list[bytes]:
        asked = [lanes.ask({}, [b"%d" % each]) for each in range(50)]
        answers = await asyncio.gather(*(each.later() for each in asked))
        lanes.close()
        return [each.blobs[0] for each in answers]

    assert asyncio.run(ask()) == [b"%d" % each for each in range(50)]


def test_lane_is_used_again(daemon: Daemon) -> None:
    lanes = Lanes(daemon.take)

    async def ask() -> None:
        for _ in range(10):
            await lanes.ask({}).later()
        lanes.close()

    asyncio.run(ask())
    assert daemon.lanes == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: None,
        lambda _: [b"no frame at all"],
        lambda _: pack({"verdict": "ALLOW"}),
        lambda _: pack({**ANSWER, "verdict": "PERHAPS"}),
    ],
    ids=["hangs up", "garbage", "half an answer", "unknown verdict"],
)
def test_daemon_that_does_not_answer_is_a_refusal(
    daemon: Daemon, answer: Callable[[Any], list[bytes] | None]
) -> None:
    daemon.answer = answer
    lanes = Lanes(daemon.take)

    async def ask() -> Any:
        judge = Judge(lanes)
        found = await judge.judge(ASKER, Context.NETWORK, Content, 0)
        lanes.close()
        return found

    if answer(None) == [b"no frame at all"]:
        daemon.answer = lambda _: [b"\xff" * HEAD_BYTES]
    found = asyncio.run(ask())
    assert (found.blocked, found.failed) == (True, True)


def test_flag_that_comes_back_is_no_permission(daemon: Daemon) -> None:
    daemon.answer = lambda _: pack({**ANSWER, "verdict": "FLAG"})
    lanes = Lanes(daemon.take)

    async def ask() -> Any:
        found = await Judge(lanes).judge(ASKER, Context.NETWORK, Content, 0)
        lanes.close()
        return found

    assert asyncio.run(ask()).blocked


def test_content_that_cannot_be_made_is_a_refusal(daemon: Daemon) -> None:
    def broken() -> Content:
        raise RecursionError

    async def ask() -> Any:
        return await Judge(Lanes(daemon.take)).judge(
            ASKER, Context.NETWORK, broken, 1_000_000
        )

    found = asyncio.run(ask())
    assert (found.blocked, found.failed, daemon.lanes) == (True, True, 0)


def test_client_that_goes_hangs_up(daemon: Daemon) -> None:
    asked, over = threading.Event(), threading.Event()

    def never(_: object) -> list[bytes]:
        asked.set()
        over.wait(20)
        return pack(ANSWER)

    daemon.answer = never
    judge = Judge(Lanes(daemon.take))

    async def ask() -> Any:
        asking = asyncio.ensure_future(judge.judge(ASKER, Context.NETWORK, Content, 0))
        await asyncio.to_thread(asked.wait, 20)
        judge.gone(ASKER.connection)
        return await asking

    found = asyncio.run(ask())
    over.set()
    assert (found.blocked, found.failed) == (True, True)
    assert daemon.hung_up.wait(20)
