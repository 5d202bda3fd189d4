"""`redlane-sh` runs nothing that is refused or not judged (contract)."""

import socket
import threading
from pathlib import Path

import pytest
from spec.agent_home import assert_refused
from spec.redlane_home import Home

BLOCKED_FORMS: dict[str, tuple[tuple[str, ...], str]] = {
    "c": (("-c", "touch CANARY; : forbidden"), ""),
    "c-name-and-arguments": (("-c", "touch CANARY; : forbidden", "x", "y"), ""),
    "ec": (("-ec", "touch CANARY; : forbidden"), ""),
    "c-e": (("-c", "-e", "touch CANARY; : forbidden"), ""),
    "lc": (("-lc", "touch CANARY; : forbidden"), ""),
    "o-c": (("-o", "pipefail", "-c", "touch CANARY; : forbidden"), ""),
    "O-c": (("-O", "extglob", "-c", "touch CANARY; : forbidden"), ""),
    "norc-c": (("--norc", "-c", "touch CANARY; : forbidden"), ""),
    "c-dashes": (("-c", "--", "touch CANARY; : forbidden"), ""),
    "stdin": ((), "touch CANARY\n: forbidden\n"),
    "s": (("-s",), "touch CANARY\n: forbidden\n"),
    "s-arguments": (("-s", "a"), "touch CANARY\n: forbidden\n"),
    "script": (("forbidden.sh",), ""),
    "script-options": (("-e", "forbidden.sh"), ""),
    "script-by-content": (("plain-name.sh", "a"), ""),
    "argument-that-is-evaluated": (
        ("-c", 'touch CANARY; eval "$1"', "x", "echo forbidden"),
        "",
    ),
    "rcfile": (("--rcfile", "plain-name.sh", "-ic", "true"), ""),
    "init-file": (("--init-file", "plain-name.sh", "-ic", "true"), ""),
}


@pytest.mark.parametrize("form", BLOCKED_FORMS.values(), ids=BLOCKED_FORMS.keys())
def test_a_blocked_command_is_not_run(
    agent: Home, canary: Path, form: tuple[tuple[str, ...], str]
) -> None:
    script = f"touch {canary}\n: forbidden\n"
    (agent.user / "forbidden.sh").write_text(script)
    (agent.user / "plain-name.sh").write_text(script)
    args = [each.replace("CANARY", str(canary)) for each in form[0]]

    ran = agent.shell(*args, stdin=form[1].replace("CANARY", str(canary)))

    assert_refused(ran.code, ran.out, ran.err, canary)


def test_a_refusal_names_the_policy(agent: Home) -> None:
    assert "forbid" in agent.shell("-c", "echo forbidden").refusal


def test_an_allow_permits_what_a_block_matches(agent: Home) -> None:
    ran = agent.shell("-c", ": permit; echo forbidden")

    assert (ran.code, ran.out) == (0, "forbidden\n")


@pytest.mark.parametrize(
    ("args", "stdin", "out"),
    [
        (("-c", "echo low; exit 3"), "", "HIGH\n"),
        (("-c", 'echo low "$1"', "n", "a b"), "", "HIGH a b\n"),
        (("-ec", "echo low; false; echo no"), "", "HIGH\n"),
        ((), "echo low\n", "HIGH\n"),
    ],
    ids=["c", "c-arguments", "ec", "stdin"],
)
def test_a_modify_runs_the_rewritten_command(
    agent: Home, args: tuple[str, ...], stdin: str, out: str
) -> None:
    assert agent.shell(*args, stdin=stdin).out == out


def test_a_modify_says_so_in_one_line(agent: Home) -> None:
    said = agent.shell("-c", "echo low").err
    assert said.startswith("redlane: rewritten: policy 'rewrite'"), said
    assert said.count("\n") == 1


def test_a_rewritten_command_keeps_its_exit_status(agent: Home) -> None:
    assert agent.shell("-c", "echo low; exit 3").code == 3


# Nothing is run unless the daemon says so.


def test_without_a_daemon_nothing_is_run(home: Home, canary: Path) -> None:
    ran = home.shell("-c", f"touch {canary}")

    assert_refused(ran.code, ran.out, ran.err, canary)


@pytest.mark.parametrize("kind", ["missing", "file", "stale", "directory"])
def test_a_socket_that_does_not_answer_runs_nothing(
    home: Home, canary: Path, kind: str
) -> None:
    path = home.user / "shell.sock"
    if kind == "file":
        path.write_text("ALLOW\n")
    elif kind == "directory":
        path.mkdir()
    elif kind == "stale":
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))

    ran = home.shell("-c", f"touch {canary}", env=_beside(path))

    assert_refused(ran.code, ran.out, ran.err, canary)


def _beside(path: Path) -> dict[str, str]:
    """The variable that names the control socket in the directory of `path`."""
    return {"REDLANE_SOCKET": str(path.with_name("control.sock"))}


ANSWERS: dict[str, bytes | None] = {
    "nothing": b"",
    "garbage": b"\x00\xff\n",
    "http": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nALLOW\n",
    "other-word": b"SURE\n",
    "cut-short": b"MODIFY 50\necho",
    "silence": None,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_daemon_that_makes_no_sense_runs_nothing(
    home: Home, canary: Path, answer: bytes | None
) -> None:
    path = home.user / "shell.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        done = threading.Event()
        thread = threading.Thread(target=_answer, args=(server, answer, done))
        thread.start()
        try:
            ran = home.shell("-c", f"touch {canary}", env=_beside(path))
        finally:
            done.set()
            thread.join(30)

    assert_refused(ran.code, ran.out, ran.err, canary)


def _answer(server: socket.socket, answer: bytes | None, done: threading.Event) -> None:
    server.settimeout(20)
    connection, _ = server.accept()
    with connection:
        if answer is None:
            done.wait(30)
            return
        connection.recv(65536)
        connection.sendall(answer)


def test_a_frozen_session_runs_nothing(home: Home, canary: Path) -> None:
    home.role("agent")
    home.start("--role", "agent")
    home.run("session", "freeze")

    ran = home.shell("-c", f"touch {canary}")

    assert_refused(ran.code, ran.out, ran.err, canary)


def test_a_session_without_a_role_runs_nothing(home: Home, canary: Path) -> None:
    home.start()

    ran = home.shell("-c", f"touch {canary}")

    assert_refused(ran.code, ran.out, ran.err, canary)
