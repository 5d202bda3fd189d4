"""Names lead where they led when they were judged, whatever is said later."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from redlane.proxy.resolving import Found, Resolver, addresses_of, connecting_for

Answers = list[str | None]


class Names:
    """A resolver whose name server gives one answer after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
        self.left = answers
        monkeypatch.setattr(socket, "getaddrinfo", self._answer)
        self.resolver = Resolver(asyncio.get_running_loop())
        self.resolver.install()

    def _answer(self, host: str, port: int, **_: object) -> list[tuple[Any, ...]]:
        address = self.left.pop(0)
        if address is None:
            raise socket.gaierror(socket.EAI_AGAIN, host)
        family, kind = socket.AF_INET, socket.SOCK_STREAM
        return [(family, kind, socket.IPPROTO_TCP, "", (address, port))]

    async def judged(self, connection: str) -> Found:
        found = await self.resolver.look_up("name.test", 80)
        self.resolver.allow(connection, "name.test", 80, found)
        return found

    async def reached(self, connection: str) -> tuple[str, ...]:
        connecting_for.set(connection)
        loop, kind = asyncio.get_running_loop(), socket.SOCK_STREAM
        found = await loop.getaddrinfo("name.test", 80, type=kind)
        return addresses_of(tuple(found))


Body = Callable[[Names], Awaitable[None]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answers, Body], None]:
    def run(answers: Answers, body: Body) -> None:
        async def main() -> None:
            await body(Names(monkeypatch, answers))

        asyncio.run(main())

    return run


Run = Callable[[Answers, Body], None]


def test_name_leads_where_it_was_judged_to_lead(run: Run) -> None:
    async def body(names: Names) -> None:
        await names.judged("one")
        assert await names.reached("one") == ("192.0.2.1",)

    run(["192.0.2.1", "169.254.169.254"], body)


def test_name_that_led_nowhere_leads_nowhere(run: Run) -> None:
    async def body(names: Names) -> None:
        assert await names.judged("one") == ()
        with pytest.raises(socket.gaierror):
            await names.reached("one")

    run([None, "169.254.169.254"], body)


def test_name_leads_nobody_where_another_was_told(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(names: Names) -> None:
        monkeypatch.setattr("redlane.proxy.resolving._KEPT_SECONDS", 0.0)
        await names.judged("held")
        assert await names.judged("another") != ()
        assert await names.reached("held") == ("192.0.2.1",)
        with pytest.raises(socket.gaierror):
            await names.reached("stranger")

    run(["192.0.2.1", "169.254.169.254"], body)


def test_many_names_crowd_none_of_another_out(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(names: Names) -> None:
        monkeypatch.setattr("redlane.proxy.resolving._MOST_KEPT", 4)
        await names.judged("held")
        for port in range(1, 9):
            await names.resolver.look_up("other.test", port)
        assert await names.reached("held") == ("192.0.2.1",)

    run(["192.0.2.1", *["169.254.169.254"] * 20], body)


def test_connection_that_has_ended_reaches_nothing(run: Run) -> None:
    async def body(names: Names) -> None:
        await names.judged("one")
        names.resolver.forget("one")
        with pytest.raises(socket.gaierror):
            await names.reached("one")

    run(["192.0.2.1"], body)
