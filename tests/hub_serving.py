"""A hub's process as its operator and its clients see it."""

import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from hub_process import HUB, HubProcess, hub_environment
from hub_web import read_all, statuses

__all__ = ["HEALTH", "SECONDS", "connect", "health", "run", "until"]

SECONDS = 20.0
"""How long anything may take before a test gives up."""

HEALTH = b"GET /health HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"


def connect(hub: HubProcess) -> socket.socket:
    return socket.create_connection((hub.host, hub.port), timeout=SECONDS)


def health(hub: HubProcess) -> int:
    with connect(hub) as connection:
        connection.sendall(HEALTH)
        return statuses(read_all(connection))[0]


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HUB, "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=hub_environment({}),
        timeout=SECONDS,
    )
