"""A name is looked up once its request may go there: a look-up tells a stranger."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import named_proxy
import pytest
from proxy_process import ALLOW, ProxyProcess, authorization, exchange, proxy_process
from proxy_roads import CLOSE, Origin

from redlane.wire.frames import Frame

Names = Callable[[], list[str]]
HERE = b"127.0.0.1"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """The file that the proxy's look-ups are written to."""
    made = tmp_path / "names"
    made.touch()
    return made


@pytest.fixture
def names(told: Path) -> Names:
    return lambda: told.read_text().split()


@pytest.fixture
def proxy(told: Path) -> Iterator[ProxyProcess]:
    program = [str(Path(named_proxy.__file__)), str(told)]
    with proxy_process(program=program) as made:
        yield made


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Origin()
    made.answers(b"fine")
    yield made
    made.server.close()


def get(proxy: ProxyProcess, origin: Origin, host: str, path: str = "/x") -> bytes:
    place = f"{host}:{origin.port}"
    head = f"GET http://{place}{path} HTTP/1.1\r\nHost: {place}\r\n".encode()
    return bytes(
        exchange(proxy.port, head + authorization() + b"\r\n" + CLOSE + b"\r\n")
    )


def kinds(proxy: ProxyProcess) -> list[str]:
    """What was asked about requests, in order."""
    asked = [each.document for each in proxy.asked]
    return [each["kind"] for each in asked if each["context"] == "Network"]


Verdicts = Callable[[Frame], str]


def answering(proxy: ProxyProcess, verdict: Verdicts) -> None:
    def answer(frame: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
        if frame.document["context"] != "Network":
            return ALLOW, []
        return {**ALLOW, "verdict": verdict(frame), "reason": "so it is"}, []

    proxy.answer = answer


def has_address(frame: Frame) -> bool:
    return any(HERE in each for each in frame.blobs)


def test_name_of_what_is_blocked_is_told_nobody(
    proxy: ProxyProcess, origin: Origin, names: Names
) -> None:
    answer = get(proxy, origin, "secret.evil.test", "/forbidden")
    assert answer.startswith(b"HTTP/1.1 403 "), answer
    assert names() == []
    assert kinds(proxy) == ["preview", "judge"]


def test_tunnel_that_is_blocked_tells_no_name(
    proxy: ProxyProcess, names: Names
) -> None:
    head = b"CONNECT forbidden.evil.test:443 HTTP/1.1\r\n"
    head += b"Host: forbidden.evil.test:443\r\n" + authorization() + b"\r\n\r\n"
    answer = exchange(proxy.port, head, until=b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 403 "), answer
    assert names() == []


def test_name_is_looked_up_and_asked_for_once(
    proxy: ProxyProcess, origin: Origin, names: Names
) -> None:
    for _ in range(2):
        origin.received = b""
        assert get(proxy, origin, "good.test").endswith(b"fine")
    assert names() == ["good.test"]
    assert kinds(proxy) == ["preview", "judge", "judge"]
    judged = [each for each in proxy.asked if each.document["context"] == "Network"]
    assert [has_address(each) for each in judged] == [False, True, True]


def test_address_is_looked_up_nowhere(
    proxy: ProxyProcess, origin: Origin, names: Names
) -> None:
    assert get(proxy, origin, "127.0.0.1").endswith(b"fine")
    assert names() == []
    assert kinds(proxy) == ["judge"]


def test_what_is_held_is_looked_up_after_its_decision(
    proxy: ProxyProcess, origin: Origin, names: Names
) -> None:
    """Whoever decides has decided, unless an address forbids it."""
    known: list[list[str]] = []

    def verdict(frame: Frame) -> str:
        if frame.document["kind"] == "preview":
            return "FLAG"
        known.append(names())
        return "ALLOW"

    answering(proxy, verdict)
    assert get(proxy, origin, "held.test").endswith(b"fine")
    assert known == [[]]
    assert names() == ["held.test"]
    assert kinds(proxy) == ["preview", "judge", "preview"]


def test_address_that_is_blocked_ends_what_was_let_go(
    proxy: ProxyProcess, origin: Origin
) -> None:
    def verdict(frame: Frame) -> str:
        if has_address(frame):
            return "BLOCK"
        return "FLAG" if frame.document["kind"] == "preview" else "ALLOW"

    answering(proxy, verdict)
    answer = get(proxy, origin, "held.test")
    assert answer.startswith(b"HTTP/1.1 403 "), answer
    assert origin.received == b""
    assert kinds(proxy)[-1] == "judge"  # which is written down


def test_name_that_leads_to_the_proxy_leads_nowhere(
    proxy: ProxyProcess, names: Names
) -> None:
    place = f"own.test:{proxy.port}"
    head = f"GET http://{place}/ HTTP/1.1\r\nHost: {place}\r\n".encode()
    answer = exchange(proxy.port, head + authorization() + b"\r\n" + CLOSE + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 403 "), answer
    assert b"own" in answer
    assert names() == ["own.test"]


def test_stranger_has_nothing_looked_up(
    proxy: ProxyProcess, origin: Origin, names: Names
) -> None:
    refused = {**ALLOW, "verdict": "BLOCK", "refused": "credential"}
    proxy.answer = lambda _: (refused, [])
    assert get(proxy, origin, "secret.evil.test").startswith(b"HTTP/1.1 407 ")
    assert names() == []
    assert len(kinds(proxy)) == 1
