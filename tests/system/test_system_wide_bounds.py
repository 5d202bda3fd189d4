"""Nobody uses up what others need, or takes their rights, on the machine's daemon."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import REDLANE_SH, wait_for
from system.whole_machine import (
    ALICE,
    BOB,
    NAMELESS,
    Machine,
    Person,
    User,
    guarded,
)


def test_sessions_of_one_user_leave_room_for_others(bob: Person, alice: Person) -> None:
    opened = []
    while (found := bob.api("POST", "/api/sessions", {}))[0] == 201:
        opened.append(found[1]["id"])
    assert len(opened) == 64
    assert (found[0], "64 sessions" in found[1]["error"]) == (429, True)
    assert alice.api("POST", "/api/sessions", {})[0] == 201
    assert bob.api("DELETE", f"/api/sessions/{opened.pop()}")[0] == 204
    assert bob.api("POST", "/api/sessions", {})[0] == 201
    for each in bob.api("GET", "/api/sessions")[1]["sessions"]:
        bob.api("DELETE", f"/api/sessions/{each['id']}")


def test_users_without_a_name_share_one_bound(whole: Machine) -> None:
    with whole.actor(User(62001)) as one, whole.actor(User(62002)) as other:
        opened = []
        while (found := one.api("POST", "/api/sessions", {}))[0] == 201:
            opened.append(found[1]["id"])
        assert other.api("POST", "/api/sessions", {})[0] == 429
        for each in opened:
            assert one.api("DELETE", f"/api/sessions/{each}")[0] == 204
        assert other.api("GET", "/api/sessions")[0] == 200


def test_lost_session_takes_rights_from_its_owner_alone(whole: Machine) -> None:
    """Who kills their own supervisor must not lock others out, nor gain by it."""
    control = whole.control
    for each in control.rows("/api/sessions"):  # those of agents that are gone by now
        if each["state"] == "lost":
            control.call("DELETE", f"/api/sessions/{each['id']}")
    with whole.actor(ALICE) as agent:
        agent.ask("reap")
        agent.ask("name", "redlane-run")
        session = guarded(agent)
        os.kill(agent.pid, signal.SIGKILL)
        agent.process.wait()
        path = f"/api/sessions/{session}"
        wait_for(lambda: control.get(path).json["state"] == "lost")
        assert orphan_of_init(whole, ALICE, "/api/sessions")[0] == 403
        assert orphan_of_init(whole, NAMELESS, "/api/sessions")[0] == 403
        assert orphan_of_init(whole, BOB, "/api/sessions")[0] == 200
        assert orphan_of_init(whole, None, "/metrics")[0] == 200
        assert orphan_of_init(whole, ALICE, "/api/sessions")[0] == 403
        assert control.call("DELETE", path).status == 204
        assert orphan_of_init(whole, ALICE, "/api/sessions")[0] == 200


def orphan_of_init(whole: Machine, user: User | None, path: str) -> tuple[int, Any]:
    """A GET by a process that the first process has adopted."""
    program = (
        "import os, sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import process_tree\n"
        "parent = os.getpid()\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "while os.getppid() == parent: time.sleep(0.001)\n"
        f"print(process_tree.request('/run/redlane/control.sock', 'GET', {path!r}, "
        "''), flush=True)\n"
    )
    done = subprocess.run(
        [*whole.words(user), sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stdout.startswith("["), done
    return int(done.stdout[1:4]), done.stdout


def test_user_kills_no_process_that_is_not_theirs(
    whole: Machine, alice: Person, admin: Person, agent: Person
) -> None:
    """What runs in a session as root was let do so by root; it stays in the session."""
    own = guarded(agent)
    mine = agent.ask("fork")
    become = whole.path("run/become")
    shutil.copyfile("/usr/bin/setpriv", become)
    become.chmod(0o4755)
    words = ["/run/become", "--reuid=0", "--regid=0", "--clear-groups", "sleep", "300"]
    roots = agent.ask("run", f"import os; os.execv({words[0]!r}, {words!r})")
    wait_for(lambda: real_user(roots) == 0)
    assert alice.api("POST", f"/api/sessions/{own}/freeze", {})[0] == 200
    wait_for(lambda: state_of(mine) == "T")
    assert alice.api("POST", f"/api/sessions/{own}/unfreeze", {})[0] == 200
    wait_for(lambda: state_of(mine) == "S")
    status, answer = alice.api("POST", f"/api/sessions/{own}/kill", {})
    assert (status, "could not be killed" in answer["error"]) == (409, True)
    assert state_of(mine) in (None, "Z")
    assert state_of(roots) == "S"
    assert admin.api("GET", f"/api/sessions/{own}")[1]["state"] == "ended"
    assert admin.api("POST", f"/api/sessions/{own}/kill", {})[0] == 200
    assert state_of(roots) in (None, "Z")


def real_user(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("\nUid:\t")[2].split()[0])


def state_of(pid: int) -> str | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None
    return line.rpartition(")")[2].split()[0]


def connections(socket: str, count: int, refused: int) -> str:
    """A program that keeps connections open; it tells when so many are refused."""
    return (
        "import select, socket, sys\n"
        f"links = [socket.socket(socket.AF_UNIX) for _ in range({count})]\n"
        f"for link in links: link.connect('/run/redlane/{socket}')\n"
        f"while len(select.select(links, [], [])[0]) < {refused}: pass\n"
        "print('refused', flush=True)\n"
        "sys.stdin.read()\n"
    )


@pytest.mark.parametrize(("socket", "most"), [("shell.sock", 64), ("control.sock", 48)])
def test_connections_of_one_user_leave_room_for_others(
    whole: Machine, bob: Person, socket: str, most: int
) -> None:
    """Who connects and says nothing is kept waiting alone."""
    program = connections(socket, most + 10, refused=10)
    process = whole.spawn(ALICE, sys.executable, "-c", program)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "refused\n"
        assert bob.analyze("ls")["verdict"] == "ALLOW"
        ran = whole.run(BOB, "-c", "echo heard", program=REDLANE_SH)
        assert ran.out == "heard\n", ran
    finally:
        process.kill()
        process.communicate()


LARGE = """\
import contextlib, json, select, socket, sys
body = json.dumps({{"content": "please" + "x" * (9 << 20), "context": "Shell"}})
head = "POST /api/analyze HTTP/1.1\\r\\nHost: x\\r\\n"
head += f"Content-Length: {{len(body)}}\\r\\n"
head += "Content-Type: application/json\\r\\n\\r\\n"
is_shell = {socket!r} == "shell.sock"
question = f"REDLANE 1 0 0 {{9 << 20}}\\n" if is_shell else head + body
links = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for link in links:
    link.connect("/run/redlane/{socket}")
    with contextlib.suppress(OSError):  # it may be refused before all is sent
        link.sendall(question.encode())
refused = select.select(links, [], [])[0][0]  # whichever was heard later
print(refused.recv(1000).decode().splitlines()[0], flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("socket", "refusal"),
    [("shell.sock", "BLOCK 28"), ("control.sock", "HTTP/1.1 429 Too Many Requests")],
)
def test_large_questions_of_one_user_leave_memory_to_others(
    whole: Machine, bob: Person, socket: str, refusal: str
) -> None:
    """What one user has sent and waits for is bounded, whatever it is once read."""
    process = whole.spawn(ALICE, sys.executable, "-c", LARGE.format(socket=socket))
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{refusal}\n"
        assert bob.analyze("x" * (9 << 20))["verdict"] in ("ALLOW", "BLOCK")
        ran = whole.run(BOB, "-c", "echo heard", program=REDLANE_SH)
        assert ran.out == "heard\n", ran
    finally:
        process.kill()
        process.communicate()


TRACED = """\
import ctypes, os, signal, tempfile
if os.fork() == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
fifo = tempfile.mkdtemp() + "/fifo"
os.mkfifo(fifo)
waits = (os.POSIX_SPAWN_OPEN, 3, fifo, os.O_RDONLY, 0)
os.posix_spawn("/bin/true", ["true"], {}, file_actions=[waits])
"""
"""A process that is traced by one which waits in the kernel, for as long as can be."""

FREEZES = """\
import select, socket, sys
links = [socket.socket(socket.AF_UNIX) for _ in range(20)]
for link in links:
    link.connect("/run/redlane/control.sock")
    link.sendall(b"POST /api/sessions/{session}/freeze HTTP/1.1\\r\\n\\r\\n")
while len(select.select(links, [], [])[0]) < 16: pass
print({{link.recv(12) for link in select.select(links, [], [])[0]}}, flush=True)
sys.stdin.read()
"""


def test_trees_of_one_user_that_do_not_stop_leave_threads_to_others(
    whole: Machine, bob: Person, agent: Person
) -> None:
    """Nobody can tell that some processes stand still, until five seconds end."""
    session = guarded(agent)
    agent.ask("run", TRACED)
    wait_for(lambda: "t" in {state_of(each) for each in below(agent.pid)})
    program = FREEZES.format(session=session)
    process = whole.spawn(ALICE, sys.executable, "-c", program)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "{b'HTTP/1.1 429'}\n"
        assert bob.api("GET", "/api/status")[0] == 200
    finally:
        process.kill()
        process.communicate()
        for each in below(agent.pid):
            os.kill(each, signal.SIGKILL)


def below(pid: int) -> list[int]:
    """The processes below one, its children first."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found[1:]


def test_answers_to_users_are_bounded(alice: Person, admin: Person) -> None:
    assert alice.api("GET", "/api/events?limit=1000")[0] == 200
    assert alice.api("GET", "/api/events?limit=1001")[0] == 400
    assert admin.api("GET", "/api/events?limit=10000")[0] == 200
