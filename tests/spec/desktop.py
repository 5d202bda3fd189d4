"""A message bus of its own, and somebody on it who shows notifications."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from spec.redlane_home import REDLANE, Home

__all__ = ["Bus", "Notifications", "desktop_bus", "notifications", "notifying"]

SERVER = Path(__file__).with_name("notification_server.py")


class Bus(NamedTuple):
    """A message bus, where it is and its process."""

    address: str
    process: "subprocess.Popen[str]"


@contextmanager
def desktop_bus() -> Iterator[Bus]:
    """A bus that ends with the block."""
    if shutil.which("dbus-daemon") is None:
        pytest.skip("not installed: dbus-daemon")
    words = ("dbus-daemon", "--session", "--nofork", "--print-address")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as bus:
        assert bus.stdout is not None
        try:
            yield Bus(bus.stdout.readline().strip(), bus)
        finally:
            bus.terminate()


class Notifications:
    """A process that shows notifications, and does to them what a person would."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert self.next() == {"ready": True}

    def next(self) -> dict[str, Any]:
        """What it was called for next."""
        assert self._process.stdout is not None
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told

    def press(self, shown: dict[str, Any], button: str) -> None:
        """Press the button with these words."""
        self._say(f"press {shown['number']} {key_of(shown, button)}")

    def dismiss(self, shown: dict[str, Any]) -> None:
        """Send one away."""
        self._say(f"dismiss {shown['number']}")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


def key_of(shown: dict[str, Any], button: str) -> str:
    """What a button is called on the bus."""
    keys, words = shown["buttons"][::2], shown["buttons"][1::2]
    return str(keys[words.index(button)])


@contextmanager
def notifications(home: Home, bus: Bus, *before: str | Path) -> Iterator[Notifications]:
    """Somebody who shows notifications until the block ends; `before` starts it."""
    with subprocess.Popen(
        (*before, sys.executable, SERVER),
        env={**home.environment(), "DBUS_SESSION_BUS_ADDRESS": bus.address},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Notifications(process)
        finally:
            process.terminate()


@contextmanager
def notifying(home: Home, bus: Bus) -> Iterator["subprocess.Popen[str]"]:
    """`redlane review notify` until the block ends."""
    with subprocess.Popen(
        (REDLANE, "review", "notify"),
        env={**home.environment(), "DBUS_SESSION_BUS_ADDRESS": bus.address},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
