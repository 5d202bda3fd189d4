"""A process inside a session may ask for verdicts on its own session, no more."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.cases import regex, simple
from spec.control_client import peer_pid
from spec.redlane_home import REDLANE, REDLANE_SH, Home, Ran, wait_for

INSIDER = Path(__file__).with_name("insider.py")
MODES = ("plain", "cleared", "forged", "orphan")
"""What a process may do to look like another; insider.py tells."""

Asker = Callable[..., list[tuple[int, str]]]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("confined"))
    home.policies(
        {"id": "forbid", **simple("Block", "forbidden")},
        {"id": "flag", **simple("Flag", "odd")},
        {"id": "everything", **regex("Allow", "(?s).*")},
    )
    home.role("agent", "forbid", "flag")
    home.role("open", "everything")
    home.settings(review={"timeout_seconds": 20})
    try:
        home.start("--role", "agent")
        # What a reload would bring, had anybody the right to ask for it.
        home.role("agent", "everything")
        yield home
    finally:
        home.stop()


@pytest.fixture(scope="module")
def other(running: Home) -> Iterator[str]:
    """A session that the agent has nothing to do with."""
    with running.opened_session("open") as session:
        running.control.analyze("other-sessions-secret", session=session["id"])
        yield str(session["id"])


@pytest.fixture
def inside(running: Home, other: str, tmp_path: Path) -> Asker:
    """Sends requests from inside a new session, and gives their answers."""

    def ask(mode: str, *requests: tuple[str, str, Any]) -> list[tuple[int, str]]:
        asked, result = tmp_path / "requests.json", tmp_path / "result.json"
        asked.write_text(json.dumps(requests))
        ran = running.run(*_insider(running, mode, asked, result, other))
        assert result.exists(), ran
        return _answers(result)

    return ask


def _insider(home: Home, mode: str, *args: Path | str) -> tuple[str | Path, ...]:
    """The words that run the insider in a new session."""
    socket = home.control.socket
    return ("run", "--", sys.executable, INSIDER, mode, socket, *args)


def _answers(result: Path) -> list[tuple[int, str]]:
    return [(status, text) for status, text in json.loads(result.read_text())]


def _unchanged(home: Home, other: str) -> None:
    """Nothing that the agent asked for has happened."""
    assert home.control.analyze("forbidden", hold=False)["verdict"] == "BLOCK"
    assert home.control.analyze("plain", hold=False)["verdict"] == "ALLOW"
    sessions = {each["id"]: each["role"] for each in home.control.rows("/api/sessions")}
    assert sessions[other] == "open"
    verdict = home.control.analyze("forbidden", session=other, hold=False)
    assert verdict["verdict"] == "ALLOW"


@pytest.mark.parametrize("mode", MODES)
def test_it_may_ask_for_verdicts_on_its_own_session(inside: Asker, mode: str) -> None:
    answers = inside(
        mode,
        ("POST", "/api/analyze", {"content": "forbidden", "context": "Shell"}),
        ("POST", "/api/analyze", {"content": "plain", "context": "Shell"}),
    )

    assert [status for status, _ in answers] == [200, 200]
    verdicts = [json.loads(text) for _, text in answers]
    assert [each["verdict"] for each in verdicts] == ["BLOCK", "ALLOW"]
    assert [each["role"] for each in verdicts] == ["agent", "agent"]


FORBIDDEN: dict[str, tuple[str, str, Any]] = {
    "reload": ("POST", "/api/policies/reload", {}),
    "set-own-role": ("PATCH", "/api/sessions/OWN", {"role": "open"}),
    "set-other-role": ("PATCH", "/api/sessions/OTHER", {"role": "agent"}),
    "create": ("POST", "/api/sessions", {"role": "open"}),
    "list-sessions": ("GET", "/api/sessions", None),
    "show-other": ("GET", "/api/sessions/OTHER", None),
    "delete-own": ("DELETE", "/api/sessions/OWN", None),
    "delete-other": ("DELETE", "/api/sessions/OTHER", None),
    "freeze-other": ("POST", "/api/sessions/OTHER/freeze", {}),
    "unfreeze-own": ("POST", "/api/sessions/OWN/unfreeze", {}),
    "kill-other": ("POST", "/api/sessions/OTHER/kill", {}),
    "events": ("GET", "/api/events", None),
    "reviews": ("GET", "/api/reviews", None),
    "status": ("GET", "/api/status", None),
    "decide": ("POST", "/api/reviews/1", {"decision": "allow"}),
    "other-method": ("PUT", "/api/policies/reload", {}),
    "doubled-slash": ("POST", "//api/policies/reload", {}),
    "trailing-slash": ("POST", "/api/policies/reload/", {}),
    "encoded": ("POST", "/api/%70olicies/reload", {}),
    "dot-segments": ("POST", "/api/analyze/../policies/reload", {}),
}


@pytest.mark.parametrize("mode", [*MODES, "ghost"])
def test_everything_else_is_refused(
    running: Home, other: str, inside: Asker, mode: str
) -> None:
    answers = inside(mode, *_forbidden(other))

    _all_refused(answers)
    _unchanged(running, other)


def _all_refused(answers: list[tuple[int, str]]) -> None:
    """No request of FORBIDDEN was answered; a status of 0 is a closed connection."""
    got = {name: status for name, (status, _) in zip(FORBIDDEN, answers, strict=True)}
    refused = {
        name for name, status in got.items() if not status or 400 <= status < 500
    }
    assert refused == FORBIDDEN.keys(), got
    assert not any("other-sessions-secret" in text for _, text in answers)


@pytest.mark.parametrize("name", ["reload", "set-own-role", "create", "events"])
def test_a_refusal_is_403_with_a_reason(inside: Asker, name: str) -> None:
    ((status, text),) = inside("plain", FORBIDDEN[name])

    assert status == 403
    assert json.loads(text)["error"]


@pytest.mark.parametrize("mode", [*MODES, "ghost"])
def test_it_cannot_be_judged_as_somebody_else(
    other: str, inside: Asker, mode: str
) -> None:
    ask = {"content": "forbidden", "context": "Shell", "hold": False}

    answers = inside(
        mode,
        ("POST", "/api/analyze", {**ask, "session": other}),
        ("POST", "/api/analyze", {**ask, "role": "open"}),
        ("POST", "/api/analyze", {**ask, "session": other, "role": "open"}),
    )

    for status, text in answers:
        assert status != 200 or '"BLOCK"' in text, text


def _forbidden(other: str) -> list[tuple[str, str, Any]]:
    return [
        (method, path.replace("OTHER", other), body)
        for method, path, body in FORBIDDEN.values()
    ]


@pytest.mark.parametrize("mode", ["survivor", "abandoned"])
def test_a_process_that_outlives_its_agent_gains_nothing(
    running: Home, other: str, tmp_path: Path, mode: str
) -> None:
    asked, result = tmp_path / "requests.json", tmp_path / "result.json"
    asked.write_text(json.dumps(_forbidden(other)))

    ran = running.run(*_insider(running, mode, asked, result))

    survivor = Path("/proc") / ran.out.strip()
    wait_for(lambda: result.exists() or not survivor.exists())
    if result.exists():
        _all_refused(_answers(result))
    _unchanged(running, other)


@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_a_session_that_outlives_its_daemon_gains_nothing(
    home: Home, tmp_path: Path, how: str
) -> None:
    home.policies({"id": "forbid", **simple("Block", "forbidden")})
    home.role("agent", "forbid")
    home.start("--role", "agent")
    asked, result = tmp_path / "requests.json", tmp_path / "result.json"
    asked.write_text(json.dumps(_forbidden("default")))
    agent = home.spawn(*_insider(home, "waiting", asked, result), stdin=subprocess.PIPE)
    assert agent.stdout is not None
    assert agent.stdout.readline() == "ready\n"

    if how == "killed":
        daemon = peer_pid(home.control.socket)
        assert daemon is not None
        os.kill(daemon, signal.SIGKILL)
        wait_for(lambda: peer_pid(home.control.socket) is None)
        home.start("--role", "agent")
    else:
        home.run("restart", "--role", "agent")
    agent.communicate("go\n", timeout=30)

    if result.exists():
        _all_refused(_answers(result))
    assert home.run("status").code == 0
    assert home.control.analyze("forbidden")["verdict"] == "BLOCK"


HELD = """
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from control_client import Control
control = Control(Path(sys.argv[2]))
shell = subprocess.Popen(["bash", "-c", "touch " + sys.argv[3] + "; : odd"])
review = sys.stdin.readline().strip()
answer = control.post("/api/reviews/" + review, {"decision": "allow"})
cli = subprocess.run([sys.argv[4], "review", "allow", review])
print(answer.status, cli.returncode, flush=True)
sys.exit(shell.wait())
"""


def test_it_cannot_approve_what_is_held(running: Home, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    agent = running.spawn(
        "run", "--", sys.executable, "-c", HELD, INSIDER.parent,
        running.control.socket, canary, REDLANE, stdin=subprocess.PIPE,
    )  # fmt: skip
    (review,) = wait_for(lambda: running.control.rows("/api/reviews"))

    assert agent.stdin is not None
    assert agent.stdout is not None
    agent.stdin.write(f"{review['id']}\n")
    agent.stdin.flush()
    api, cli = agent.stdout.readline().split()

    assert api == "403"
    assert cli != "0"
    assert not canary.exists()
    running.run("review", "block", str(review["id"]))
    agent.communicate(timeout=20)
    assert agent.returncode == 126
    assert not canary.exists()


VERBS = (
    ("session", "reload"),
    ("session", "set-role", "open"),
    ("session", "unfreeze"),
    ("session", "list"),
    ("events",),
    ("review", "list"),
    ("stop",),
    ("restart",),
)


def _redlane_inside(home: Home, *args: str, env: bool = True) -> Ran:
    prefix = [] if env else ["/usr/bin/env", "-i", f"HOME={home.user}"]
    return home.run("run", "--", *prefix, str(REDLANE), *args)


@pytest.mark.parametrize("cleared", [False, True], ids=["plain", "cleared"])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_the_command_line_inside_is_refused(
    running: Home, other: str, verb: tuple[str, ...], *, cleared: bool
) -> None:
    ran = _redlane_inside(running, *verb, env=not cleared)

    assert ran.code != 0
    assert ran.refusal
    assert "other-sessions-secret" not in ran.said
    assert running.run("status").code == 0
    _unchanged(running, other)


@pytest.mark.parametrize(
    "command", ["{} stop", "{} session reload", "env -i HOME=$HOME {} stop"]
)
def test_the_command_line_in_a_wrapped_shell_is_refused(
    running: Home, other: str, command: str
) -> None:
    ran = running.run("run", "--", str(REDLANE_SH), "-c", command.format(REDLANE))

    assert ran.code != 0
    assert running.run("status").code == 0
    _unchanged(running, other)
