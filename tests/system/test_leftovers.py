"""What is left of a session whose supervisor was killed is ended, and has no rights."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home, wait_for

from redlane.membership.leftovers import bears_mark

pytestmark = needs_filters

LEFT = """\
import json, os, signal, socket, sys
def place(path, pid):
    link = socket.socket(socket.AF_UNIX)
    link.connect(path)
    link.sendall(f"GET /api/processes/{pid} HTTP/1.0\\r\\n\\r\\n".encode())
    return b"".join(iter(lambda: link.recv(65536), b"")).decode()
if os.fork():
    signal.pause()
os.setsid()
print(os.getpid(), flush=True)
for line in sys.stdin:
    print(json.dumps(place(line.strip(), os.getpid())), flush=True)
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    made.policies({"id": "p", "type": "Simple", "pattern": "x", "action": "Block"})
    made.role("bound", "p", writable=["@temporary"])
    assert made.start("--role", "bound").code == 0
    yield made
    made.stop()


class Leaving:
    """A session with a process that is left when its supervisor is killed."""

    def __init__(self, home: Home) -> None:
        """Start it; its process answers on standard output."""
        self.supervisor = subprocess.Popen(
            [REDLANE, "run", "--", sys.executable, "-c", LEFT],
            env=home.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.supervisor.stdout is not None
        self.left = int(self.supervisor.stdout.readline())
        self._descriptor = os.pidfd_open(self.left)

    def kill_supervisor(self) -> None:
        """By what nothing can be done against."""
        self.supervisor.send_signal(signal.SIGKILL)
        self.supervisor.wait()

    def ends(self, seconds: float = 30) -> bool:
        """Wait for the end of what is left."""
        return bool(select.select([self._descriptor], [], [], seconds)[0])

    def asks(self, socket: Path) -> str:
        """What a daemon tells what is left of where that stands."""
        process = self.supervisor
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{socket}\n")
        process.stdin.flush()
        return str(json.loads(process.stdout.readline()))

    def close(self) -> None:
        """Leave nothing."""
        self.supervisor.kill()
        self.supervisor.communicate()
        with_it = select.select([self._descriptor], [], [], 0)[0]
        if not with_it:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        os.close(self._descriptor)


@pytest.fixture
def session(home: Home) -> Iterator[Leaving]:
    made = Leaving(home)
    yield made
    made.close()


def kill_daemon(home: Home) -> None:
    os.kill(home.control.get("/api/status").json["pid"], signal.SIGKILL)


def test_daemon_ends_it_unasked(session: Leaving) -> None:
    session.kill_supervisor()

    assert session.ends()


def test_what_stands_still_is_ended_as_well(home: Home, session: Leaving) -> None:
    (found,) = (e for e in home.control.rows("/api/sessions") if e["root_pid"])
    assert home.run("session", "freeze", "--session", found["id"]).code == 0

    session.kill_supervisor()

    assert session.ends()


def test_next_daemon_ends_it(home: Home, session: Leaving) -> None:
    kill_daemon(home)
    session.kill_supervisor()

    wait_for(lambda: home.run("start").code == 0)

    assert session.ends()


def test_daemon_that_knows_nothing_of_it_gives_it_no_rights(
    home: Home, session: Leaving
) -> None:
    kill_daemon(home)
    session.kill_supervisor()
    for each in (home.dir / "run").glob("sessions*"):
        each.unlink()

    wait_for(lambda: home.run("start").code == 0)
    answer = session.asks(home.dir / "run" / "control.sock")

    assert " 403 " in answer
    assert "whose supervisor has gone" in answer


MARKS = """\
import ctypes, resource, signal, sys
libc, wanted = ctypes.CDLL(None), sys.argv[1].split()
if "limit" in wanted:
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
if "none" in wanted:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if "privileges" in wanted:
    libc.prctl(38, 1, 0, 0, 0)
if "filter" in wanted:
    allow = (ctypes.c_uint64 * 1)(0x7FFF0000 << 32 | 0x06)
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
    program = Program(1, ctypes.addressof(allow))
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
print("ready", flush=True)
signal.pause()
"""
MARKED = {
    "limit privileges filter": True,
    "limit privileges": False,
    "privileges filter": False,
    "none privileges filter": False,
    "limit": False,
    "": False,
}


@pytest.mark.parametrize(("wanted", "is_marked"), MARKED.items(), ids=MARKED.keys())
def test_mark_is_all_that_a_session_with_places_has(
    wanted: str, *, is_marked: bool
) -> None:
    words = [sys.executable, "-c", MARKS, wanted]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said, found = process.stdout.readline(), bears_mark(process.pid)
        process.kill()

    assert said == "ready\n"
    assert found is is_marked


def test_session_whose_end_was_cut_short_is_ended_by_the_next_daemon(
    home: Home, session: Leaving
) -> None:
    (found,) = (e for e in home.control.rows("/api/sessions") if e["root_pid"])
    assert home.run("session", "freeze", "--session", found["id"]).code == 0
    kill_daemon(home)
    file = home.dir / "run" / "sessions.json"
    file.write_text(file.read_text().replace('"running"', '"ended"'))

    wait_for(lambda: home.run("start").code == 0)

    assert session.ends()
    assert session.supervisor.wait(30)
