"""Credentials are worth something in their own session alone."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redlane.membership.tcp_clients import TcpClients
from redlane.processes import Process, read_process

HIDDEN = Path(__file__).with_name("hidden_clients.py")
CLIENT = """
import ctypes, json, socket, sys
host, port, hides = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "hides"
if hides:
    ctypes.CDLL(None).prctl(4, 0)
with socket.create_connection((host, port)) as own:
    print(json.dumps(own.getsockname()[:2]), flush=True)
    sys.stdin.read()
"""
PARENT = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


class Session:
    """A process with a client below it that has connected."""

    def __init__(self, host: str, port: int, *, hides: bool = False) -> None:
        words = [sys.executable, "-c", PARENT, sys.executable, "-c", CLIENT]
        self.process = subprocess.Popen(
            [*words, host, str(port), "hides" if hides else "shows"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self.process.stdout is not None
        self.server = host, port
        self.client: Any = json.loads(self.process.stdout.readline())

    @property
    def root(self) -> Process:
        found = read_process(self.process.pid)
        assert found is not None
        return found

    def end(self) -> None:
        self.process.communicate(timeout=20)


@pytest.fixture(params=["127.0.0.1", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in request.param else socket.AF_INET
    try:
        made = socket.create_server((request.param, 0), family=family)
    except OSError:
        pytest.skip(f"NOT TESTED: this machine has no {request.param}")
    with made:
        yield made


@pytest.fixture
def both(listener: socket.socket) -> Iterator[dict[str, Session]]:
    host, port = listener.getsockname()[:2]
    made = {"one": Session(host, port), "other": Session(host, port)}
    yield made
    for each in made.values():
        each.end()


def clients_of(sessions: dict[str, Session]) -> TcpClients:
    (server, *_) = {each.server for each in sessions.values()}
    return TcpClients(lambda name: sessions[name].root, lambda: server)


def test_client_is_in_the_session_below_which_it_runs(
    both: dict[str, Session],
) -> None:
    clients = clients_of(both)
    for name, session in both.items():
        assert clients.comes_from(name, session.client, f"of {name}")


def test_client_is_in_no_other_session(both: dict[str, Session]) -> None:
    clients = clients_of(both)
    assert not clients.comes_from("one", both["other"].client, "a")
    assert not clients.comes_from("other", both["one"].client, "b")


def test_connection_that_is_known_is_not_looked_up_again(
    both: dict[str, Session],
) -> None:
    clients = clients_of(both)
    assert clients.comes_from("one", both["one"].client, "a")
    assert clients.comes_from("one", ["127.0.0.1", 1], "a")
    assert not clients.comes_from("other", both["one"].client, "a")


@pytest.mark.parametrize(
    "client", [["127.0.0.1", 1], ["nowhere", 1], ["127.0.0.1"], None, "x", [1, "x"]]
)
def test_client_that_is_none_is_in_no_session(
    both: dict[str, Session], client: object
) -> None:
    assert not clients_of(both).comes_from("one", client, "a")


def test_process_outside_is_in_no_session(
    both: dict[str, Session], listener: socket.socket
) -> None:
    with socket.create_connection(listener.getsockname()[:2]) as own:
        client = list(own.getsockname()[:2])
        assert not clients_of(both).comes_from("one", client, "a")


def test_session_without_processes_has_its_credentials_alone() -> None:
    assert TcpClients(lambda _: None, lambda: None).comes_from("default", None, None)


NOBODY = 65534
OTHERS = {
    "as a user": ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
    "without rights to look": ["setpriv", "--bounding-set=-sys_ptrace"],
}


@pytest.mark.parametrize("case", ["itself", *OTHERS])
def test_client_that_is_not_seen_to_be_in_a_session_is_in_none(case: str) -> None:
    """A program that hides lends its session to nobody, and takes it from nobody."""
    if (case == "itself") is (os.geteuid() == 0):
        pytest.skip("NOT TESTED: root sees all, and nobody else looks as another")
    user = [str(NOBODY)] if case == "without rights to look" else []
    words = [*OTHERS.get(case, []), sys.executable, str(HIDDEN), *user]
    done = subprocess.run(words, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name for name, is_in in found.items() if is_in} == {
        "plain as plain",
        "agent as agent",
    }
