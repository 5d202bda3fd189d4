"""A loop goes on while its client waits, whatever for."""

import asyncio
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from redlane.client import AsyncClient, operations
from redlane.errors import DaemonError


def test_a_full_queue_stops_the_question_alone(tmp_path: Path) -> None:
    path = tmp_path / "control.sock"
    order: list[str] = []

    async def ask() -> None:
        with pytest.raises(DaemonError):
            await AsyncClient(path, timeout=1).send(operations.health())
        order.append("question")

    async def tick() -> None:
        for _ in range(3):
            await asyncio.sleep(0.01)
        order.append("loop")

    async def both() -> None:
        await asyncio.gather(ask(), tick())

    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        listener.listen(0)
        while True:
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)  # noqa: FBT003  # positional only
            try:
                waiting.connect(str(path))
            except BlockingIOError:
                break
        asyncio.run(both())
    assert order == ["loop", "question"]
