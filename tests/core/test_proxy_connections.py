"""Connections: one question at a time, bounded by user, and what hanging up does."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from core.children import wait_until
from core.question_client import QuestionClient, question
from engine_samples import policy, rules
from gate_bench import Bench

from redlane.judging.metrics import Metrics
from redlane.judging.proxy_connections import ProxyConnections
from redlane.judging.proxy_service import ProxyService
from redlane.judging.service import JudgingService
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.model.content import TextContent
from redlane.state.review import Review
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.frames import pack

TOKENS = ProxyTokens(bytes(32))


class Station:
    """Connections whose policies block `worst`, hold `please` and rewrite `bad`."""

    def __init__(self, base: Path, stack: ExitStack) -> None:
        self.stack = stack
        self.bench = Bench(
            base,
            rules(
                policy("b", "Block", "worst"),
                policy("f", "Flag", "please"),
                policy("m", "Modify", "bad"),
            ),
        )
        self.session = self.bench.sessions.create(role="r")
        self.credential = TOKENS.credential(self.session.id)
        self.counted: Callable[[str], str | None] = lambda _: None
        service = ProxyService(
            JudgingService(self.bench.gate, Metrics()),
            self.bench.gate,
            self.bench.sessions,
            TOKENS,
            lambda context, data, *_: TextContent(context, data),
        )
        self.connections = ProxyConnections(
            service, self.bench.reviews.cancel, self._counted
        )

    def _counted(self, session: str) -> str | None:
        return self.counted(session)

    def connection(self) -> QuestionClient:
        """A new connection that is served."""
        client = QuestionClient()
        self.stack.callback(client.close)
        self.connections.serve(client.theirs)
        return client

    def held(self) -> tuple[Review, ...]:
        """What is held."""
        return self.bench.reviews.list()


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    with ExitStack() as stack:
        made = Station(tmp_path, stack)
        yield made
        made.bench.reviews.close()


def verdict(answer: Answer) -> str:
    return answer.decision.value


def threads() -> int:
    return sum(each.name == "questions" for each in threading.enumerate())


def test_questions_are_answered_one_after_the_other(station: Station) -> None:
    connection = station.connection()
    found = [
        verdict(connection.judge(station.credential, data))
        for data in (b"a", b"worst", b"")
    ]
    assert found == ["ALLOW", "BLOCK", "ALLOW"]


def test_lanes_are_answered_side_by_side(station: Station) -> None:
    waits, quick = station.connection(), station.connection()
    waits.send(question(station.credential, b"please"))
    wait_until(lambda: len(station.held()) == 1)

    assert verdict(quick.judge(station.credential)) == "ALLOW"

    station.bench.reviews.decide(station.held()[0].id, "allow", by="ann")
    assert verdict(waits.receive()) == "ALLOW"


def test_large_contents_come_and_go_whole(station: Station) -> None:
    data = b"bad" + bytes(range(128)) * 65_536
    answer = station.connection().judge(station.credential, data)
    assert answer.contents == (b"*" + data[3:],)


def test_a_connection_goes_on_after_a_credential_that_is_none(station: Station) -> None:
    connection = station.connection()
    for credential in (None, "x:y", station.credential + "a"):
        refused = connection.judge(credential, bytes(3_000_000))
        assert (refused.blocked, refused.refused) == (True, WhyUnjudged.CREDENTIAL)
    assert verdict(connection.judge(station.credential)) == "ALLOW"


def test_hanging_up_takes_a_review_back(station: Station) -> None:
    connection = station.connection()
    connection.send(question(station.credential, b"please"))
    wait_until(lambda: len(station.held()) == 1)

    connection.close()

    wait_until(lambda: not station.held())
    wait_until(lambda: not threads())
    assert [each.verdict for each in station.bench.events()] == ["FLAG", "BLOCK"]


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!IQ", 2, 1 << 40),
        struct.pack("!IQ", 1 << 30, 0),
        struct.pack("!IQ", 2, 0) + b"[]",
        struct.pack("!IQ", 2, 0) + b"\xff{",
        struct.pack("!IQ", 2, 0) + b"{}",
        b"".join(pack({"kind": "judge", "blobs": [5]}, [b"four"]))[:-1],
    ],
    ids=["http", "long", "long-object", "array", "no-json", "no-blobs", "cut"],
)
def test_what_is_no_frame_ends_the_connection_alone(
    station: Station, data: bytes
) -> None:
    connection, other = station.connection(), station.connection()
    connection.ours.sendall(data)
    connection.ours.shutdown(socket.SHUT_WR)
    if data.endswith(b"{}"):  # a frame, but no question
        assert connection.receive().blocked

    with pytest.raises((EOFError, ConnectionResetError)):
        connection.receive()

    assert verdict(other.judge(station.credential)) == "ALLOW"


def test_one_user_leaves_room_for_others(station: Station) -> None:
    other = station.bench.sessions.create(role="r")
    asked: list[str] = []

    def counted(session: str) -> str:
        asked.append(session)
        return session

    station.counted = counted
    waiting = [station.connection() for _ in range(64)]
    for each in waiting:  # what does not come in whole holds its place as well
        each.ours.sendall(question(station.credential, b"a" * 9).pieces()[0])
    # Thrice for each: whether it counts at all, its place, its bytes.
    wait_until(lambda: len(asked) == 3 * 64)
    one_more = station.connection()

    def refused() -> bool:
        reason = one_more.judge(station.credential).reason
        return "too many" in reason

    wait_until(refused)
    assert verdict(one_more.judge(TOKENS.credential(other.id))) == "ALLOW"
    for each in waiting:
        each.ours.sendall(b"a" * 9)
        assert verdict(each.receive()) == "ALLOW"
    assert verdict(one_more.judge(station.credential)) == "ALLOW"


def test_closing_hangs_every_connection_up(station: Station) -> None:
    idle, waits = station.connection(), station.connection()
    assert verdict(idle.judge(station.credential)) == "ALLOW"
    waits.send(question(station.credential, b"please"))
    wait_until(lambda: len(station.held()) == 1)

    station.connections.close()

    for each in (idle, waits, station.connection()):
        with pytest.raises((EOFError, ConnectionResetError, BrokenPipeError)):
            each.judge(station.credential)
    wait_until(lambda: not threads())
    assert not station.held()
