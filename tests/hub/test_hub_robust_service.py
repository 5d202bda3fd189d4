"""A hub under those who are slow, greedy or in the way serves the others."""

import itertools
import json
import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_witness import Member, Talk, expect, member, prepared_hub, talk_to

ARTIFACTS = "/api/v1/artifacts"
SEARCH = f"{ARTIFACTS}/search"

ATTEMPTS = 10
"""On a busy machine who came earlier may be done before readers have come at all."""

ROUNDS = 4


class Stage:
    """A hub with a big artifact, and an account that owns it."""

    def __init__(self, directory: Path) -> None:
        self.hub = HubProcess(directory)
        self.tokens = prepared_hub(self.hub)
        self.owner = self.member()
        self.hub.start()
        with talk_to(self.hub, self.owner) as talk:
            body = {"name": "big", "version": "1", "content": json.dumps("x" * 250_000)}
            expect(talk.ask("POST", ARTIFACTS, body), 201)

    def member(self) -> Member:
        return member(self.hub, self.tokens)

    def connect(self, source: str = "127.0.0.2") -> socket.socket:
        """A connection from an address that the hub does not trust."""
        return socket.create_connection(
            (self.hub.host, self.hub.port), timeout=20, source_address=(source, 0)
        )

    def read(self, count: int = 5) -> None:
        """Read, on a connection of its own each time; all must succeed."""
        for _ in range(count):
            with talk_to(self.hub) as talk:
                expect(talk.ask("GET", SEARCH), 200)

    def serves_readers_first(self, asked: list[Talk]) -> bool:
        """Whether readers have their answers before the last of those who came earlier.

        More than one of them: answers that go out together say nothing of an order.
        """
        self.read()
        return not all(each.is_answered for each in asked)

    def push(self, who: Member, **fields: object) -> int:
        with talk_to(self.hub, who) as talk:
            return talk.ask("POST", ARTIFACTS, body_of(who, **fields)).status


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    assert made.hub.stop() == 0


def body_of(who: Member, **fields: object) -> dict[str, object]:
    return {"name": f"of-{who.id}", "version": "1", "content": "{}"} | fields


STARTS = {
    "nothing": b"",
    "half a head": b"GET /health HTTP/1.1\r\nHost: hub\r\nX: ",
    "half a body": (
        b"POST /api/v1/login HTTP/1.1\r\nHost: hub\r\n"
        b"Content-Type: application/json\r\nContent-Length: 900000\r\n\r\n{"
    ),
    "an answer not read": (
        b"GET /api/v1/artifacts/big/1 HTTP/1.1\r\nHost: hub\r\n\r\n" * 4
    ),
}


def is_held(hub: HubProcess, opened: socket.socket) -> bool:
    """Whether the hub's end of a connection is open."""
    ends = [f"{port:04X}" for port in (hub.port, opened.getsockname()[1])]
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    established = "01"
    return [*ends, established] in [
        [row[1].rpartition(":")[2], row[2].rpartition(":")[2], row[3]] for row in rows
    ]


@pytest.mark.parametrize("count", [120, 900])
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_connections_that_get_nowhere_keep_nobody_waiting(
    stage: Stage, count: int, start: bytes
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    with ExitStack() as stack:
        for number in range(count):
            opened = stack.enter_context(stage.connect(f"127.0.2.{number // 250 + 1}"))
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.sendall(start)
        stage.read()
        # Nobody had to be dropped for it.
        assert is_held(stage.hub, opened)


def test_logins_do_not_keep_readers_waiting(stage: Stage) -> None:
    body = {"email": "nobody@example.com", "password": "wrong password"}

    def readers_are_first() -> bool:
        with ExitStack() as stack:
            # Each time from another address: no rate limit stops them.
            asked = [stack.enter_context(talk_to(stage.hub)) for _ in range(16)]
            for each in asked:
                each.send("POST", "/api/v1/login", body)
            found = stage.serves_readers_first(asked)
            assert {each.answer().status for each in asked} <= {401, 429}
        return found

    assert any(readers_are_first() for _ in range(ATTEMPTS))


SCHEMAS: dict[str, tuple[object, object]] = {
    "a pattern without end": ({"pattern": "^(a+)+$"}, "a" * 60 + "b"),
    "huge memory": ({"pattern": "(a?){50000}" * 50}, "a"),
    "many branches": (
        {
            "$ref": "#/$defs/a",
            "$defs": {
                "a": {
                    "type": "array",
                    "anyOf": [{"items": {"$ref": "#/$defs/a"}}] * 40,
                }
            },
        },
        [[[[[[1]]]]]],
    ),
}


@pytest.mark.parametrize(("schema", "content"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas_that_cost_much_do_not_keep_readers_waiting(
    stage: Stage, schema: object, content: object
) -> None:
    # As many as are checked at once.
    who = [stage.member() for _ in range(2)]

    def readers_are_first() -> bool:
        with ExitStack() as stack:
            asked = [stack.enter_context(talk_to(stage.hub, each)) for each in who]
            for owner, each in zip(who, asked, strict=True):
                body = body_of(owner, schema=schema, content=json.dumps(content))
                each.send("POST", ARTIFACTS, body)
            found = stage.serves_readers_first(asked)
            assert {each.answer().status for each in asked} == {400}
        return found

    assert any(readers_are_first() for _ in range(ATTEMPTS))


def processor_seconds(pid: int) -> float:
    """What a process has had of the processor, in all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_deep_content_costs_no_more_than_other_content(stage: Stage) -> None:
    half = 131_072

    def cost(content: str) -> float:
        before = processor_seconds(stage.hub.pid)
        for _ in range(40):
            assert stage.push(stage.owner, content=content) == 400
        return processor_seconds(stage.hub.pid) - before

    assert cost("[" * half + "]" * half) <= cost("[" + "1," * (half - 1) + "x")


def test_flood_of_one_client_is_limited_and_another_is_served(stage: Stage) -> None:
    asked = b"GET /api/v1/artifacts/search HTTP/1.1\r\nHost: hub\r\n\r\n"
    began = time.monotonic()
    with stage.connect("127.0.3.1") as flood:
        answers = b""
        while answers.count(b"HTTP/1.1 429") < 400:
            expected = answers.count(b"HTTP/1.1 ") + 100
            flood.sendall(asked * 100)
            while answers.count(b"HTTP/1.1 ") < expected:
                answers += flood.recv(1 << 20)
        seconds = time.monotonic() - began
        stage.read()
    assert 1000 <= answers.count(b"HTTP/1.1 200") <= 1000 + 17 * seconds + 1


def kilobytes(pid: int) -> int:
    """What a process has in memory."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0])


def ask_many(stage: Stage, name: str, count: int) -> None:
    """Requests of all kinds, pipelined, each from another address."""
    paths = [
        f"{ARTIFACTS}/{name}/1",
        SEARCH,
        f"{SEARCH}?q=b",
        "/nowhere",
        "/health",
        f"{ARTIFACTS}/{name}/1/resolve",
        f"{ARTIFACTS}/absent/1",
        "/api/v1/me",
    ]
    host = (stage.hub.host, stage.hub.port)
    with socket.create_connection(host, timeout=30) as connection:
        for first in range(0, count, 100):
            connection.sendall(
                b"".join(
                    request(paths[number % len(paths)], number)
                    for number in range(first, first + 100)
                )
            )
            read_answers(connection, 100)


def request(path: str, number: int) -> bytes:
    source = f"10.{number >> 16 & 255}.{number >> 8 & 255}.1"
    head = f"GET {path} HTTP/1.1\r\nHost: hub\r\nX-Forwarded-For: {source}\r\n\r\n"
    return head.encode()


def read_answers(connection: socket.socket, count: int) -> None:
    """Read so many answers; their ends may come in any piece."""
    data = b""
    while count:
        head, found, rest = data.partition(b"\r\n\r\n")
        length = int(
            head.lower().partition(b"content-length: ")[2].split(b"\r")[0] or 0
        )
        if found and len(rest) >= length:
            data, count = rest[length:], count - 1
        else:
            part = connection.recv(1 << 20)
            assert part
            data += part


def descriptors(pid: int) -> int:
    """How many files a process has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.parametrize(
    "count",
    [
        20_000,
        pytest.param(200_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
def test_memory_and_descriptors_stay_as_they_are(tmp_path: Path, count: int) -> None:
    stage = Stage(tmp_path)
    try:
        with talk_to(stage.hub, stage.owner) as talk:
            body = {"name": "small", "version": "1", "content": "{}"}
            expect(talk.ask("POST", ARTIFACTS, body), 201)
        pid = stage.hub.pid
        ask_many(stage, "small", 4000)
        found = [(kilobytes(pid), descriptors(pid))]
        for _ in range(ROUNDS):
            ask_many(stage, "small", count // ROUNDS)
            found.append((kilobytes(pid), descriptors(pid)))
    finally:
        stage.hub.stop()
    # What leaks grows in each round; what a busy machine makes grow, in some.
    grown = [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(found)]
    assert min(memory for memory, _ in grown) < 6 * 1024 / ROUNDS
    assert min(files for _, files in grown) <= 4 / ROUNDS
