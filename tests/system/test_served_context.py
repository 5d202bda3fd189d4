"""A context of a third party, served by a real daemon: the kernel says who asks."""

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import make_redlane
from spec.redlane_home import Home

ASK = """
import socket, sys
with socket.socket(socket.AF_UNIX) as way:
    way.connect(sys.argv[1])
    way.sendall(sys.argv[2].encode())
    way.shutdown(socket.SHUT_WR)
    print("verdict", way.recv(100).decode())
"""


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_redlane(tmp_path_factory.mktemp("v") / "venv")


@pytest.fixture
def served(tmp_path: Path, redlane: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    home.policies({"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm"})
    home.role("free")
    home.role("guard", "no-rm")
    ran = home.run("start", "--role", "free", program=redlane)
    assert ran.code == 0, ran
    yield home
    home.stop()


def errands(home: Home) -> Path:
    return home.dir / "run" / "errands.sock"


def ask(home: Home, words: str) -> str:
    with socket.socket(socket.AF_UNIX) as way:
        way.connect(str(errands(home)))
        way.sendall(words.encode())
        way.shutdown(socket.SHUT_WR)
        return way.recv(100).decode()


def test_context_of_a_plugin_is_served_judges_and_is_shown(
    served: Home, redlane: Path
) -> None:
    assert ask(served, "rm x") == "ALLOW"
    inside = served.run(
        *("run", "--role", "guard", "--", sys.executable, "-c", ASK),
        *(errands(served), "bash -c 'rm x'"),
        program=redlane,
    )
    assert "verdict BLOCK" in inside.out, inside
    event = served.control.rows("/api/events")[-1]
    assert (event["policy"], event["role"]) == ("no-rm", "guard")

    status = served.control.get("/api/status").json
    assert status["contexts"] == {"Errands": "serving"}
    assert "Errands serving" in served.run("status").out
    listed = served.run("plugins", "list", program=redlane).out
    assert "context Syscall, context Errands" in listed


def test_context_of_a_plugin_ends_with_the_daemon(served: Home) -> None:
    assert errands(served).exists()
    assert served.run("stop").code == 0
    assert not errands(served).exists()
