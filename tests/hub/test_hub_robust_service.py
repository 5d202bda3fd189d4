"""A hub under those who are slow, greedy or in the way serves the others."""

import json
import resource
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_witness import Member, expect, member, prepared_hub, talk_to
from spec.hub_client import client_of

ARTIFACTS = "/api/v1/artifacts"
SEARCH = f"{ARTIFACTS}/search"


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

    def seconds(self, count: int = 20) -> list[float]:
        """How long reads take, each on a connection of its own; all must succeed."""
        found = []
        for _ in range(count):
            began = time.monotonic()
            with talk_to(self.hub) as talk:
                expect(talk.ask("GET", SEARCH), 200)
            found.append(time.monotonic() - began)
        return found

    def push(self, who: Member, **fields: object) -> int:
        body = {"name": f"of-{who.id}", "version": "1", "content": "{}"} | fields
        with talk_to(self.hub, who) as talk:
            return talk.ask("POST", ARTIFACTS, body).status


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("stage"))
    yield made
    assert made.hub.stop() == 0


@contextmanager
def meanwhile(count: int, work: Callable[[int], None]) -> Iterator[None]:
    """Have so many threads work over and over until the block ends."""
    ends = threading.Event()

    def over_and_over(number: int) -> None:
        while not ends.is_set():
            work(number)

    threads = [
        threading.Thread(target=over_and_over, args=(number,))
        for number in range(count)
    ]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ends.set()
        for each in threads:
            each.join(60)


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
        found = stage.seconds(10)
    assert statistics.median(found) < 1


def test_logins_do_not_keep_readers_waiting(stage: Stage) -> None:
    def log_in(_: int) -> None:
        body = {"email": "nobody@example.com", "password": "wrong password"}
        # Each time from another address: no rate limit stops them.
        assert client_of(stage.hub).post("/api/v1/login", body).status in {401, 429}

    with meanwhile(16, log_in):
        found = stage.seconds(40)
    assert statistics.median(found) < 0.25


SCHEMAS: dict[str, tuple[object, object]] = {
    "a pattern without end": (
        {"type": "string", "pattern": "^(a+)+$"},
        "a" * 60 + "b",
    ),
    "huge memory": (
        {"type": "string", "pattern": "(((a{1,250}){1,250}){1,250}){1,250}"},
        "a" * 1000,
    ),
    "many branches": (
        {
            "$ref": "#/$defs/a",
            "$defs": {"a": {"anyOf": [{"items": {"$ref": "#/$defs/a"}}] * 40}},
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

    def push(number: int) -> None:
        status = stage.push(who[number], schema=schema, content=json.dumps(content))
        assert status in {201, 400, 409, 429}

    with meanwhile(len(who), push):
        found = stage.seconds(40)
    assert statistics.median(found) < 0.25


def test_deep_content_does_not_keep_readers_waiting(stage: Stage) -> None:
    who = [stage.member() for _ in range(8)]
    half = 131_072

    def push(number: int) -> None:
        content = "[" * half + "]" * half
        assert stage.push(who[number], content=content) == 400

    with meanwhile(8, push):
        found = stage.seconds(40)
    assert statistics.median(found) < 0.25


def test_flood_of_one_client_is_limited_and_another_is_served(stage: Stage) -> None:
    asked = b"GET /api/v1/artifacts/search HTTP/1.1\r\nHost: hub\r\n\r\n"
    with stage.connect("127.0.3.1") as flood:
        answers = b""
        for turn in range(1, 17):
            flood.sendall(asked * 100)
            while answers.count(b"HTTP/1.1 ") < 100 * turn:
                answers += flood.recv(1 << 20)
        found = stage.seconds(10)
    assert answers.count(b"HTTP/1.1 200") >= 1000
    assert answers.count(b"HTTP/1.1 429") >= 400
    assert statistics.median(found) < 0.25


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
        before = kilobytes(pid), descriptors(pid)
        ask_many(stage, "small", count)
        after = kilobytes(pid), descriptors(pid)
    finally:
        stage.hub.stop()
    assert after[0] - before[0] < 6 * 1024
    assert abs(after[1] - before[1]) <= 4
