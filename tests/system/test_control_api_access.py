"""What a process inside a session may ask for, however it gets there."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from system.process_tree import Actor, request

CALLERS = ["self", "child", "orphan"]


class Inside:
    """A session with a supervisor, and requests from within it."""

    def __init__(self, home: Home, supervisor: Actor, session: dict[str, Any]) -> None:
        self.home = home
        self.supervisor = supervisor
        self.session = session

    def call(
        self, where: str, method: str, path: str, body: object = None
    ) -> tuple[int, Any]:
        status, text = self.supervisor.call(
            where,
            str(self.home.control.socket),
            method,
            path,
            "" if body is None else json.dumps(body),
        )
        return status, json.loads(text) if text else None


@pytest.fixture
def inside(daemon: Home, supervisor: Actor) -> Inside:
    made = Inside(daemon, supervisor, {})
    status, made.session = made.call(
        "self", "POST", "/api/sessions", {"root_pid": supervisor.pid}
    )
    assert status == 201, made.session
    return made


@pytest.mark.parametrize("where", CALLERS)
def test_process_in_a_session_gets_verdicts_of_that_session(
    inside: Inside, where: str
) -> None:
    for body, verdict in (
        ({"content": "rm -rf /", "context": "Shell"}, "BLOCK"),
        ({"content": "ls", "context": "Shell"}, "ALLOW"),
        (
            {"content": "ls", "context": "Shell", "session": inside.session["id"]},
            "ALLOW",
        ),
        ({"content": "ls", "context": "Shell", "role": "guard"}, "ALLOW"),
    ):
        status, answer = inside.call(where, "POST", "/api/analyze", body)
        assert (status, answer["verdict"]) == (200, verdict)
    events = inside.home.control.rows(f"/api/events?session={inside.session['id']}")
    assert len(events) == 4
    assert inside.call(where, "GET", "/health")[0] == 200


@pytest.mark.parametrize("where", CALLERS)
def test_process_in_a_session_may_not_choose_session_or_role(
    inside: Inside, where: str
) -> None:
    for extra in ({"session": "default"}, {"role": "other"}, {"session": "none"}):
        body = {"content": "ls", "context": "Shell", **extra}
        status, answer = inside.call(where, "POST", "/api/analyze", body)
        assert status == 403
        assert inside.session["id"] in answer["error"]


FORBIDDEN = [
    ("POST", "/api/policies/reload", {}),
    ("GET", "/api/status", None),
    ("GET", "/api/sessions", None),
    ("POST", "/api/sessions", {}),
    ("GET", "/api/sessions/default", None),
    ("PATCH", "/api/sessions/default", {"role": "other"}),
    ("DELETE", "/api/sessions/default", None),
    ("POST", "/api/sessions/default/freeze", {}),
    ("POST", "/api/sessions/default/unfreeze", {}),
    ("POST", "/api/sessions/default/kill", {}),
    ("PATCH", "/api/sessions/OWN", {"role": "other"}),
    ("POST", "/api/sessions/OWN/unfreeze", {}),
    ("POST", "/api/sessions/OWN/kill", {}),
    ("GET", "/api/events", None),
    ("GET", "/api/reviews", None),
    ("GET", "/api/reviews/x", None),
    ("POST", "/api/reviews/x", {"decision": "allow"}),
    ("GET", "/metrics", None),
    ("OPTIONS", "/api/sessions", None),
]


@pytest.mark.parametrize("where", CALLERS)
def test_process_in_a_session_may_do_nothing_else(inside: Inside, where: str) -> None:
    for method, path, body in FORBIDDEN:
        own = path.replace("OWN", inside.session["id"])
        status, answer = inside.call(where, method, own, body)
        assert status == 403, (method, own)
        assert "inside session" in answer["error"]
    sessions = {each["id"]: each for each in inside.home.control.rows("/api/sessions")}
    assert sessions[inside.session["id"]]["role"] == "guard"
    assert sessions["default"]["role"] == "guard"


def test_nobody_in_a_session_approves_what_it_holds(inside: Inside) -> None:
    home = inside.home
    program = (
        "import http.client, json, socket, sys\n"
        "c = http.client.HTTPConnection('x'); c.sock = socket.socket(socket.AF_UNIX)\n"
        f"c.sock.connect({str(home.control.socket)!r})\n"
        "body = json.dumps({'content': 'please', 'context': 'Shell'})\n"
        "kind = {'Content-Type': 'application/json'}\n"
        "c.request('POST', '/api/analyze', body, kind)\n"
        "c.getresponse().read()\n"
    )
    inside.supervisor.ask("run", program)
    review = wait_for(lambda: home.control.rows("/api/reviews"))[0]
    path = f"/api/reviews/{review['id']}"
    for where in CALLERS:
        assert inside.call(where, "POST", path, {"decision": "allow"})[0] == 403
    assert home.control.get(path).json["state"] == "waiting"


def test_only_the_supervisor_closes_its_session_and_only_when_it_is_empty(
    inside: Inside,
) -> None:
    path = f"/api/sessions/{inside.session['id']}"
    for where in ("child", "orphan"):
        assert inside.call(where, "DELETE", path)[0] == 403
    child = inside.supervisor.ask("fork")
    status, answer = inside.call("self", "DELETE", path)
    assert (status, "still run" in answer["error"]) == (409, True)
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: inside.call("self", "DELETE", path)[0] == 204)
    assert inside.home.control.get(path).json["state"] == "ended"


def test_process_that_others_made_a_root_does_not_end_its_session(
    daemon: Home, supervisor: Actor
) -> None:
    """It may be the agent itself, which would be free; a restart changes nothing."""
    answer = daemon.control.post("/api/sessions", {"root_pid": supervisor.pid})
    inside = Inside(daemon, supervisor, answer.json)
    path = f"/api/sessions/{inside.session['id']}"
    for _ in range(2):
        for method in ("DELETE", "GET"):
            assert inside.call("self", method, path)[0] == 403
        os.kill(daemon.control.get("/api/status").json["pid"], signal.SIGKILL)
        wait_for(lambda: daemon.run("start").code == 0)
    assert inside.call("self", "GET", "/api/sessions")[0] == 403
    assert daemon.control.get(path).json["state"] == "running"


def test_session_is_not_opened_inside_another(inside: Inside) -> None:
    control = inside.home.control
    child = inside.supervisor.ask("fork")
    for pid in (child, inside.supervisor.pid):
        answer = control.post("/api/sessions", {"root_pid": pid})
        assert answer.status == 409
        assert "in a session already" in answer.error


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"root_pid": 1}, 409),
        ({"root_pid": 2**22 + 1}, 409),
        ({"root_pid": "1"}, 400),
        ({"root_pid": True}, 400),
        ({"root_pid": -1}, 409),
        ({"root_pid": 10**30}, 409),
        ({"reaper_pid": 10**30}, 409),
        ({"role": "nobody"}, 422),
        ({"role": 1}, 400),
        ({"label": "a\nb"}, 400),
        ({"label": "x" * 201}, 400),
        ({"reaper_pid": "x"}, 400),
    ],
)
def test_bad_openings_are_refused(
    daemon: Home, supervisor: Actor, body: dict[str, object], status: int
) -> None:
    given = {"root_pid": supervisor.pid, **body}
    answer = daemon.control.post("/api/sessions", given)
    assert answer.status == status
    assert answer.error
    assert len(daemon.control.rows("/api/sessions")) == 1


def test_ancestor_of_the_daemon_cannot_be_a_root(daemon: Home) -> None:
    answer = daemon.control.post("/api/sessions", {"root_pid": 1})
    assert answer.status == 409
    assert daemon.control.get("/api/status").status == 200


def test_orphans_of_a_killed_supervisor_get_blocks_and_no_rights(
    inside: Inside,
) -> None:
    home, supervisor = inside.home, inside.supervisor
    program = (
        "import os, sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import process_tree\n"
        "if os.fork(): os._exit(0)\n"
        "top = os.getppid()\n"
        f"while os.path.exists('/proc/{supervisor.pid}/exe'): time.sleep(0.01)\n"
        "ask = process_tree.request\n"
        f"path = {str(home.control.socket)!r}\n"
        'body = \'{"content": "ls", "context": "Shell"}\'\n'
        "found = [ask(path, 'POST', '/api/analyze', body),\n"
        "         ask(path, 'POST', '/api/policies/reload', '{}'),\n"
        "         ask(path, 'DELETE', '/api/sessions/OWN', '')]\n"
        "import json; open('RESULT.new', 'w').write(json.dumps(found))\n"
        "os.rename('RESULT.new', 'RESULT')\n"
    )
    result = home.user / "result"
    program = program.replace("RESULT", str(result))
    supervisor.ask("run", program.replace("OWN", inside.session["id"]))
    descriptor = os.pidfd_open(supervisor.pid)
    os.kill(supervisor.pid, signal.SIGKILL)
    os.close(descriptor)
    supervisor.process.wait()
    wait_for(result.exists)
    (judged, verdict), (reload, why), (delete, _) = json.loads(result.read_text())
    assert (judged, json.loads(verdict)["verdict"]) == (200, "BLOCK")
    assert (reload, delete) == (403, 403)
    assert "supervisor was killed" in json.loads(why)["error"]
    path = f"/api/sessions/{inside.session['id']}"
    assert home.control.get(path).json["state"] == "lost"
    assert home.control.call("DELETE", path).status == 204
    assert home.control.get(path).json["state"] == "ended"


def test_session_survives_a_killed_daemon(inside: Inside) -> None:
    home = inside.home
    pid = home.control.get("/api/status").json["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: home.run("status").code == 3)
    home.start("--role", "guard")
    status, _ = inside.call("child", "POST", "/api/policies/reload", {})
    assert status == 403
    body = {"content": "rm -rf /", "context": "Shell"}
    assert inside.call("child", "POST", "/api/analyze", body)[0] == 200


def test_supervisor_unknown_to_the_daemon_gives_no_rights(
    daemon: Home, supervisor: Actor
) -> None:
    inside = Inside(daemon, supervisor, {})
    for where in ("child", "orphan"):
        status, answer = inside.call(where, "GET", "/api/status")
        assert status == 403
        assert "does not know" in answer["error"]
    opening = {"root_pid": supervisor.pid}
    assert inside.call("self", "POST", "/api/sessions", opening)[0] == 201


def test_kill_ends_the_session_and_all_that_runs_in_it(inside: Inside) -> None:
    pids = [inside.supervisor.ask("fork"), inside.supervisor.ask("detach")]
    path = f"/api/sessions/{inside.session['id']}"
    answer = inside.home.control.post(f"{path}/kill", {})
    assert (answer.status, answer.json["state"]) == (200, "ended")
    for pid in (*pids, inside.supervisor.pid):
        assert state_of(pid) in (None, "Z")


def test_frozen_session_is_stopped_and_blocked(inside: Inside) -> None:
    child = inside.supervisor.ask("fork")
    path = f"/api/sessions/{inside.session['id']}"
    control = inside.home.control
    assert control.post(f"{path}/freeze", {}).json["state"] == "frozen"
    assert state_of(child) == "T"
    body = {"content": "ls", "context": "Shell"}
    assert inside.call("self", "POST", "/api/analyze", body)[1]["verdict"] == "BLOCK"
    assert control.analyze("ls")["verdict"] == "ALLOW"
    assert control.post(f"{path}/unfreeze", {}).json["state"] == "running"
    wait_for(lambda: state_of(child) == "S")
    assert inside.call("self", "POST", "/api/analyze", body)[1]["verdict"] == "ALLOW"


def state_of(pid: int) -> str | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return None
    return line.rpartition(")")[2].split()[0]


def test_role_of_one_session_changes_alone(inside: Inside) -> None:
    path = f"/api/sessions/{inside.session['id']}"
    control = inside.home.control
    assert control.call("PATCH", path, {"role": "other"}).json["role"] == "other"
    body = {"content": "one beer", "context": "Shell"}
    assert inside.call("child", "POST", "/api/analyze", body)[1]["role"] == "other"
    assert control.analyze("beer")["verdict"] == "MODIFY"
    for wrong, status in (({"role": "none"}, 422), ({}, 400), ({"role": None}, 400)):
        assert control.call("PATCH", path, wrong).status == status


def test_default_session_does_not_end(daemon: Home) -> None:
    for method, path in (
        ("DELETE", "/api/sessions/default"),
        ("POST", "/api/sessions/default/kill"),
    ):
        answer = daemon.control.call(method, path)
        assert answer.status == 409
        assert "default" in answer.error


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
def test_other_users_are_refused(daemon: Home) -> None:
    socket_path = daemon.control.socket
    socket_path.parent.chmod(0o711)
    socket_path.chmod(0o666)
    for path in ("/health", "/api/status"):
        status, text = as_other_user(socket_path, path)
        assert status == 403
        assert "own user" in json.loads(text)["error"]


def as_other_user(socket_path: Path, path: str) -> tuple[int, str]:
    """A GET by a child of another user, which reaches the socket from beside it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.chdir(socket_path.parent)
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        answer = request(socket_path.name, "GET", path, "")
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        status, text = json.load(stream)
    os.waitpid(child, 0)
    return status, text
