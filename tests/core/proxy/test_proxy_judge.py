"""What the proxy tells the daemon of a content, and what it makes of the answer."""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from redlane.client.connection import QuestionConnection
from redlane.client.questions import Questions
from redlane.contexts.network.content import NetworkContent
from redlane.decoding.multipart import MOST_PARTS
from redlane.model.policy import Context
from redlane.proxy.judge import Judge
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.frames import (
    HEAD_BYTES,
    Frame,
    body_length,
    pack,
    unpack,
)
from redlane.wire.question import Origin

ASKER = Origin("abc:token", ("127.0.0.1", 43210), "c1")
ALLOW: Mapping[str, Any] = {"verdict": "ALLOW", "reason": "", "event": "e"}
REQUEST = b"POST http://a/ HTTP/1.1\n\nc2VjcmV0LXdvcmRzLWFyZS1oZXJl"


class Daemon:
    """The other end of the connections: keeps the questions, and answers all alike."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.asked: list[Frame] = []

    def connect(self) -> QuestionConnection:
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._run, args=(theirs,), daemon=True).start()
        return QuestionConnection(ours)

    def _run(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while head := stream.read(HEAD_BYTES):
                self.asked.append(unpack(head, stream.read(body_length(head))))
                connection.sendall(b"".join(pack(self.document)))


def judged(daemon: Daemon, make: Callable[[], NetworkContent]) -> Answer:
    async def ask() -> Answer:
        questions = Questions(daemon.connect)
        try:
            return await Judge(questions).judge(ASKER, Context.NETWORK, make, 1)
        finally:
            questions.close()

    return asyncio.run(ask())


def test_the_texts_go_along_with_the_content() -> None:
    daemon = Daemon(ALLOW)

    assert not judged(daemon, lambda: NetworkContent(REQUEST)).blocked

    (frame,) = daemon.asked
    assert frame.blobs[0] == REQUEST
    assert b"secret-words-are-here" in frame.blobs
    assert "problem" not in frame.document
    assert frame.document["credential"] == "abc:token"


def test_a_content_that_is_not_all_read_says_so() -> None:
    daemon = Daemon(ALLOW)
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    body = part * (MOST_PARTS + 1) + b"--x--\r\n"

    content = NetworkContent(
        b"POST http://a/ HTTP/1.1\n\n" + body,
        content_type="multipart/form-data; boundary=x",
    )
    judged(daemon, lambda: content)

    assert content.problem
    assert daemon.asked[0].document["problem"] == content.problem


@pytest.mark.parametrize("verdict", ["BLOCK", "FLAG", "PERHAPS", None])
def test_what_is_no_permission_is_a_refusal(verdict: str | None) -> None:
    daemon = Daemon({**ALLOW, "verdict": verdict})
    assert judged(daemon, lambda: NetworkContent(REQUEST)).blocked


def test_a_content_that_cannot_be_read_is_refused_unasked() -> None:
    daemon = Daemon(ALLOW)

    def broken() -> NetworkContent:
        raise ZeroDivisionError

    assert judged(daemon, broken).refused is WhyUnjudged.UNANSWERED
    assert not daemon.asked


def test_a_client_that_goes_is_asked_for_no_longer() -> None:
    asked, over = threading.Event(), threading.Event()

    class Slow(Daemon):
        def _run(self, connection: socket.socket) -> None:
            with connection:
                asked.set()
                over.wait(20)

    async def ask() -> Answer:
        judge = Judge(Questions(Slow(ALLOW).connect))
        asking = asyncio.ensure_future(
            judge.judge(ASKER, Context.NETWORK, lambda: NetworkContent(REQUEST), 0)
        )
        await asyncio.to_thread(asked.wait, 20)
        judge.gone(ASKER.connection)
        return await asking

    found = asyncio.run(ask())
    over.set()
    assert (found.blocked, found.refused) == (True, WhyUnjudged.UNANSWERED)
