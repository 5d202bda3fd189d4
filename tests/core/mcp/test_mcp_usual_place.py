"""A user's daemon is found by those whom nobody tells where it is."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from redlane.mcp.usual_place import usual_place
from redlane.paths import SYSTEM_RUN


@pytest.fixture
def base() -> Iterator[Path]:
    """A directory whose path is short enough for a socket's."""
    if (SYSTEM_RUN / "control.sock").is_socket():
        pytest.skip("NOT TESTED: the machine's own daemon runs here")
    with tempfile.TemporaryDirectory(prefix="r-") as made:
        yield Path(made)


def listen(path: Path) -> bytes:
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    return os.fsencode(path)


def usual(base: Path) -> Path:
    return base / "user" / str(os.geteuid()) / "redlane" / "control.sock"


def test_the_usual_place_is_found(base: Path) -> None:
    there = listen(usual(base))

    assert usual_place({"HOME": str(base)}, base / "user") == there


@pytest.mark.parametrize("name", ["REDLANE_SOCKET", "REDLANE_HOME", "XDG_RUNTIME_DIR"])
def test_who_is_told_looks_nowhere_else(base: Path, name: str) -> None:
    listen(usual(base))

    assert usual_place({"HOME": str(base), name: "/nowhere"}, base / "user") == b""


def test_a_daemon_in_the_home_goes_before(base: Path) -> None:
    listen(usual(base))
    listen(base / ".redlane" / "run" / "control.sock")

    assert usual_place({"HOME": str(base)}, base / "user") == b""


def test_what_is_no_socket_is_not_asked(base: Path) -> None:
    path = usual(base)
    assert usual_place({"HOME": str(base)}, base / "user") == b""
    path.parent.mkdir(parents=True)
    path.touch()
    assert usual_place({"HOME": str(base)}, base / "user") == b""


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_place_of_somebody_elses_is_not_asked(base: Path, above: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: only root has files of others")
    path = usual(base)
    listen(path)
    os.chown([path, *path.parents][above], 12345, -1)

    assert usual_place({"HOME": str(base)}, base / "user") == b""
