"""Each question has its answer, and one that nobody waits for has none."""

import asyncio
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from redlane.client.connection import QuestionConnection
from redlane.client.questions import PendingAnswer, Questions
from redlane.errors import DaemonError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.frames import HEAD_BYTES, Frame, body_length, pack, unpack
from redlane.wire.question import Question, QuestionKind

Reply = Callable[[Frame], list[bytes] | None]


class Daemon:
    """The other end: answers with what `reply` says; None hangs up."""

    def __init__(self) -> None:
        self.reply: Reply = lambda frame: Answer(
            Decision.MODIFY, contents=frame.blobs
        ).pieces()
        self.opened = 0
        self.hung_up = threading.Event()
        self._threads: list[threading.Thread] = []

    def connect(self) -> QuestionConnection:
        ours, theirs = socket.socketpair()
        self.opened += 1
        thread = threading.Thread(target=self._serve, args=(theirs,))
        thread.start()
        self._threads.append(thread)
        return QuestionConnection(ours)

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while head := stream.read(HEAD_BYTES):
                frame = unpack(head, stream.read(body_length(head)))
                pieces = self.reply(frame)
                if pieces is None:
                    return
                with suppress(BrokenPipeError):
                    connection.sendall(b"".join(pieces))
            self.hung_up.set()

    def join(self) -> None:
        for each in self._threads:
            each.join(20)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    made = Daemon()
    yield made
    made.join()


@pytest.fixture
def questions(daemon: Daemon) -> Iterator[Questions]:
    made = Questions(daemon.connect)
    yield made
    made.close()


def asked(*blobs: bytes) -> Question:
    return Question(QuestionKind.JUDGE, Context.NETWORK, blobs)


def waited(answer: Answer | PendingAnswer) -> Answer:
    """The answer, waited for as a loop of poll(2) does."""
    while isinstance(answer, PendingAnswer):
        poll = select.poll()
        poll.register(answer.fileno(), answer.events)
        assert poll.poll(20_000)
        answer = answer.advance() or answer
    return answer


def test_many_questions_have_their_own_answers(questions: Questions) -> None:
    async def ask() -> list[bytes | None]:
        pending = [questions.ask(asked(b"%d" % each)) for each in range(50)]
        return [
            (each if isinstance(each, Answer) else await each.later()).content
            for each in pending
        ]

    assert asyncio.run(ask()) == [b"%d" % each for each in range(50)]


def test_a_connection_is_used_again(daemon: Daemon, questions: Questions) -> None:
    for _ in range(10):
        waited(questions.ask(asked(b"a")))
    assert daemon.opened == 1


@pytest.mark.parametrize("how", ["poll", "asyncio"])
def test_large_questions_go_as_they_are_taken(questions: Questions, how: str) -> None:
    blob = bytes(range(256)) * 65_536

    async def later(pending: PendingAnswer) -> Answer:
        return await pending.later()

    answer = questions.ask(asked(blob))
    assert isinstance(answer, PendingAnswer)
    found = waited(answer) if how == "poll" else asyncio.run(later(answer))
    assert found.content == blob


REPLIES: dict[str, Reply] = {
    "hangs-up": lambda _: None,
    "garbage": lambda _: [b"\xff" * HEAD_BYTES],
    "half-an-answer": lambda _: pack({"verdict": "ALLOW"}),
    "unknown-verdict": lambda _: pack({"verdict": "PERHAPS", "reason": ""}),
    "nothing-rewritten": lambda _: pack({"verdict": "MODIFY", "reason": ""}),
    "no-text": lambda _: pack({"verdict": "ALLOW", "reason": "", "event": 3}),
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_daemon_that_does_not_answer_is_a_refusal(
    daemon: Daemon, questions: Questions, reply: Reply
) -> None:
    daemon.reply = reply
    answer = waited(questions.ask(asked(b"a")))
    assert (answer.blocked, answer.refused) == (True, WhyUnjudged.UNANSWERED)


def test_a_flag_that_comes_back_is_no_permission(
    daemon: Daemon, questions: Questions
) -> None:
    daemon.reply = lambda _: Answer(Decision.FLAG).pieces()
    answer = waited(questions.ask(asked(b"a")))
    assert (answer.blocked, answer.flagged) == (True, True)


def test_a_daemon_that_was_started_again_is_asked_again(
    daemon: Daemon, questions: Questions
) -> None:
    answers: list[Reply] = [daemon.reply, lambda _: None, daemon.reply]

    def next_reply(frame: Frame) -> list[bytes] | None:
        return answers.pop(0)(frame)

    daemon.reply = next_reply

    assert waited(questions.ask(asked(b"one"))).content == b"one"
    second = waited(questions.ask(asked(b"two")))

    # Where the end comes at once the question is put again; later it is a refusal.
    assert second.content == b"two" or second.refused


def test_without_a_daemon_everything_is_refused() -> None:
    def connect() -> QuestionConnection:
        raise DaemonError("none here")

    answer = waited(Questions(connect).ask(asked(b"a")))
    assert answer.refused is WhyUnjudged.UNANSWERED
    assert "none here" in answer.reason


def test_more_than_may_be_asked_at_once_is_refused(daemon: Daemon) -> None:
    over, allowed = threading.Event(), Answer(Decision.ALLOW).pieces()
    daemon.reply = lambda _: over.wait(20) and allowed
    questions = Questions(daemon.connect, most=2)
    held = [questions.ask(asked(b"a")) for _ in range(2)]

    assert waited(questions.ask(asked(b"a"))).refused is WhyUnjudged.UNANSWERED

    for each in held:
        assert isinstance(each, PendingAnswer)
        each.cancel()
    over.set()
    assert not waited(questions.ask(asked(b"a"))).blocked
    questions.close()


@pytest.mark.parametrize("how", ["cancel", "task"])
def test_what_nobody_waits_for_is_hung_up(
    daemon: Daemon, questions: Questions, how: str
) -> None:
    over = threading.Event()
    daemon.reply = lambda _: over.wait(20) and Answer(Decision.ALLOW).pieces()
    pending = questions.ask(asked(b"a"))
    assert isinstance(pending, PendingAnswer)

    async def give_up(pending: PendingAnswer) -> None:
        task = asyncio.ensure_future(pending.later())
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    if how == "cancel":
        pending.cancel()
    else:
        asyncio.run(give_up(pending))
    over.set()

    assert daemon.hung_up.wait(20)
