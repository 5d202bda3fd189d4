"""Connections that a supervisor has made for a process: who asks is that process.

Nobody else says so, and for none but a process of its session.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from spec.redlane_home import Home
from system.calls import read_all, shell_connection, shell_frame
from system.process_tree import Actor, request

TOLD = "cannot be told"
DECIDED = json.dumps({"content": "ls", "context": "Shell"})


@dataclass(frozen=True)
class Session:
    home: Home
    supervisor: Actor
    id: str
    member: int

    def call(
        self, where: str, method: str, path: str, begun: str, body: str = ""
    ) -> str:
        socket = str(self.home.control.socket)
        status, text = self.supervisor.call(where, socket, method, path, body, begun)
        return f"{status} {text}"


@pytest.fixture
def session(daemon: Home, supervisor: Actor) -> Session:
    opening = json.dumps({"root_pid": supervisor.pid})
    socket = str(daemon.control.socket)
    status, text = supervisor.call("self", socket, "POST", "/api/sessions", opening)
    assert status == 201, text
    return Session(daemon, supervisor, json.loads(text)["id"], supervisor.ask("fork"))


def test_supervisor_asks_for_a_process_with_that_ones_rights(session: Session) -> None:
    begun = f"REDLANE FOR {session.member}\n"
    path = f"/api/sessions/{session.id}"
    assert session.call("self", "DELETE", path, "").startswith("409 ")
    refused = session.call("self", "DELETE", path, begun)
    assert refused.startswith("403 ")
    assert "inside session" in refused
    assert session.call("self", "POST", "/api/analyze", begun, DECIDED)[:4] == "200 "


OTHERS: dict[str, Callable[[Session], int]] = {
    "a process outside": lambda _: os.getpid(),
    "the first process": lambda _: 1,
    "itself": lambda session: session.supervisor.pid,
    "nobody": lambda _: 999_999_999,
}


@pytest.mark.parametrize("whom", OTHERS)
def test_it_asks_for_none_but_a_process_of_its_session(
    session: Session, whom: str
) -> None:
    begun = f"REDLANE FOR {OTHERS[whom](session)}\n"
    for body, path in (("", "/api/policies/reload"), (DECIDED, "/api/analyze")):
        refused = session.call("self", "POST", path, begun, body)
        assert refused.startswith("403 "), refused
        assert TOLD in refused


@pytest.mark.parametrize("where", ["child", "orphan"])
def test_no_other_process_of_a_session_says_so(session: Session, where: str) -> None:
    for pid in (session.member, session.supervisor.pid, os.getpid()):
        begun = f"REDLANE FOR {pid}\n"
        refused = session.call(where, "POST", "/api/analyze", begun, DECIDED)
        assert refused.startswith("403 "), refused


def test_nobody_outside_says_so(session: Session) -> None:
    begun = f"REDLANE FOR {session.member}\n"
    socket = str(session.home.control.socket)
    status, text = request(socket, "POST", "/api/policies/reload", "", begun)
    assert (status, TOLD in str(text)) == (403, True)
    connection = shell_connection(session.home)
    connection.sendall(begun.encode() + shell_frame(b"ls"))
    answer = read_all(connection)
    assert answer.startswith(b"BLOCK "), answer
    assert TOLD.encode() in answer


@pytest.mark.parametrize("line", ["REDLANE FOR {0}\n" * 2, "REDLANE FOR 9999999999\n"])
def test_it_is_said_once_and_of_a_process_id(session: Session, line: str) -> None:
    begun = line.format(session.member)
    refused = session.call("self", "POST", "/api/analyze", begun, DECIDED)
    assert refused.startswith("400 "), refused


AT_WORK = """
import ctypes, http.client, socket, sys
ctypes.CDLL(None).prctl(15, b"redlane-run", 0, 0, 0)
c = http.client.HTTPConnection("x"); c.sock = socket.socket(socket.AF_UNIX)
c.sock.connect(sys.argv[1]); c.request("GET", "/api/status"); answer = c.getresponse()
print(answer.status, answer.read())
"""


def test_supervisor_of_another_daemons_session_has_no_rights(daemon: Home) -> None:
    """It connects for its session, to whatever listens."""
    socket = str(daemon.control.socket)
    words = ["redlane-run", "-c", AT_WORK, socket]
    done = subprocess.run(
        words, executable=sys.executable, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("403 ")
    assert "does not know" in done.stdout
