"""`redlane-sh` is bash for what is allowed, and nothing for what is not (contract)."""

import os
import pty
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from spec.bash_twin import run_bash, same_as_bash
from spec.cases import modify, regex, simple
from spec.redlane_home import REDLANE_SH, Home

REWRITE = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("shell"))
    home.policies(
        {"id": "forbid", **simple("Block", "forbidden")},
        {"id": "permit", **regex("Allow", "^: permit;")},
        {"id": "rewrite", **modify("echo low", REWRITE)},
    )
    home.role("agent", "forbid", "permit", "rewrite")
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


SCRIPT = 'echo "script $0 $# $1 $2"\nexit 4\n'
FORMS: dict[str, tuple[tuple[str, ...], str]] = {
    "c": (("-c", "echo hello"), ""),
    "c-name": (("-c", 'echo "$0"', "name"), ""),
    "c-name-and-arguments": (("-c", 'echo "$0 $# $1-$2"', "name", "a b", "c"), ""),
    "c-empty-argument": (("-c", 'echo "$# [$1]"', "name", ""), ""),
    "c-argument-like-an-option": (("-c", 'echo "$1"', "name", "-x"), ""),
    "c-newline-in-argument": (("-c", 'echo "$1"', "name", "a\nb"), ""),
    "c-empty": (("-c", ""), ""),
    "c-lines": (("-c", "echo one\necho two\n"), ""),
    "ec": (("-ec", "false; echo no"), ""),
    "ce": (("-ce", "false; echo no"), ""),
    "e-c": (("-e", "-c", "false; echo no"), ""),
    "c-e": (("-c", "-e", "false; echo no"), ""),
    "euc": (("-euc", "echo $undefined_name"), ""),
    "euo-pipefail-c": (("-euo", "pipefail", "-c", "false | true; echo no"), ""),
    "o-pipefail-c": (("-o", "pipefail", "-c", "false | true"), ""),
    "plus-e-c": (("+e", "-c", "false; echo yes"), ""),
    "xc": (("-xc", "echo traced"), ""),
    "lc": (("-lc", "echo login"), ""),
    "l-c": (("-l", "-c", "echo login"), ""),
    "login-c": (("--login", "-c", "echo login"), ""),
    "norc-c": (("--norc", "-c", "echo hello"), ""),
    "noprofile-norc-c": (("--noprofile", "--norc", "-c", "echo hello"), ""),
    "posix-c": (("--posix", "-c", "set -o | grep posix"), ""),
    "O-extglob-c": (("-O", "extglob", "-c", "shopt extglob"), ""),
    "nc": (("-nc", "echo no"), ""),
    "c-dashes": (("-c", "--", "echo hello"), ""),
    "c-missing": (("-c",), ""),
    "stdin": ((), "echo one\necho two\nexit 6\n"),
    "stdin-without-newline": ((), "echo one"),
    "stdin-empty": ((), ""),
    "stdin-heredoc": ((), "cat <<E\nhello\nE\n"),
    "s": (("-s",), "echo one; exit 6"),
    "s-arguments": (("-s", "a", "b"), 'echo "$# $1 $2"'),
    "es": (("-es",), "false\necho no\n"),
    "e-stdin": (("-e",), "false\necho no\n"),
    "script": (("script.sh",), ""),
    "script-arguments": (("script.sh", "a b", "c"), ""),
    "script-path": (("./script.sh", "a"), ""),
    "script-options": (("-e", "script.sh", "a"), ""),
    "script-dashes": (("--", "script.sh", "-x"), ""),
    "script-missing": (("missing.sh",), ""),
    "script-reads-stdin": (("reads.sh",), "line one\nline two\n"),
    "version": (("--version",), ""),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_every_way_to_call_it_is_as_with_bash(
    running: Home, form: tuple[tuple[str, ...], str]
) -> None:
    (running.user / "script.sh").write_text(SCRIPT)
    (running.user / "reads.sh").write_text('read a; read b; echo "$b $a"\n')
    args, stdin = form

    same_as_bash(running, *args, stdin=stdin)


COMMANDS = {
    "true": "true",
    "false": "false",
    "exit-3": "exit 3",
    "exit-255": "exit 255",
    "exit-256": "exit 256",
    "status-of-the-last": "true; (exit 9)",
    "killed-by-term": "kill -TERM $$",
    "killed-by-kill": "kill -KILL $$",
    "killed-by-hup": "kill -HUP $$",
    "child-killed": "sh -c 'kill -TERM $$'; echo $?",
    "command-not-found": "no-such-command-anywhere",
    "not-executable": "/etc/passwd",
    "syntax-error": "if true; then",
    "unclosed-quote": "echo 'abc",
    "exec": "exec sh -c 'exit 7'",
    "both-streams": "echo out; echo err >&2",
    "no-newline": "printf abc",
    "binary-output": r"printf '\377\000\001'",
    "unicode": "echo 'naïve 🔑'",
    "large-output": "seq 100000",
    "heredoc": "cat <<E\nhello $((1+1))\nE",
    "pipeline": "printf 'b\\na\\n' | sort | tr a-z A-Z",
    "substitution": 'echo "$(echo inner)"',
    "process-substitution": "cat <(echo one) <(echo two)",
    "array": 'a=(x "y z"); echo "${#a[@]} ${a[1]}"',
    "function": "f() { echo in $1; }; f x",
    "trap-exit": "trap 'echo bye' EXIT; echo hi",
    "background": "sleep 0 & wait; echo done",
    "flags": "echo $-",
    "execution-string": 'echo "$BASH_EXECUTION_STRING"',
    "own-pid-is-the-shell": '[ "$$" = "$BASHPID" ] && echo same',
    "directory": "pwd",
    "umask": "umask",
    "limits": "ulimit -n; ulimit -c",
    "home-and-path": 'echo "$HOME $PATH"',
    "environment": "env | grep -v -e ^_= -e ^REDLANE | sort",
    "glob": "echo /etc/pass*",
    "comment-only": "# nothing",
    "many-commands": "; ".join(f"echo {n}" for n in range(300)),
    "long-argument": f"echo {'x' * 60_000} | wc -c",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_exit_status_and_streams_are_as_with_bash(running: Home, command: str) -> None:
    same_as_bash(running, "-c", command)


@pytest.mark.parametrize(
    "stdin", [b"", b"two\nlines\n", b"\xff\x00\x01", b"x" * 300_000],
    ids=["empty", "lines", "binary", "large"],
)  # fmt: skip
def test_standard_input_reaches_the_command(running: Home, stdin: bytes) -> None:
    assert same_as_bash(running, "-c", "cat", stdin=stdin).code == 0


def test_a_command_that_is_no_utf8_is_passed_on_exactly(running: Home) -> None:
    same_as_bash(running, "-c", b"printf %s '\xff\xc3' | od -An -tx1")


def test_the_working_directory_is_kept(running: Home, tmp_path: Path) -> None:
    assert same_as_bash(running, "-c", "pwd", cwd=tmp_path).out == f"{tmp_path}\n"


def test_open_files_are_inherited(running: Home) -> None:
    read, write = os.pipe()
    try:
        subprocess.run(
            [REDLANE_SH, "-c", f"echo hello >&{write}"],
            env=running.environment(),
            pass_fds=[write],
            timeout=30,
            check=True,
        )
        assert os.read(read, 100) == b"hello\n"
    finally:
        os.close(read)
        os.close(write)


def test_the_parent_is_the_caller(running: Home) -> None:
    assert running.shell("-c", "echo $PPID").out == f"{os.getpid()}\n"


# Refused.


def _refused(ran_code: int, out: str, err: str, canary: Path) -> None:
    assert ran_code == 126, err
    assert out == ""
    assert "Traceback" not in err
    assert err.startswith("redlane: ")
    assert not canary.exists()


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
    running: Home, canary: Path, form: tuple[tuple[str, ...], str]
) -> None:
    script = f"touch {canary}\n: forbidden\n"
    (running.user / "forbidden.sh").write_text(script)
    (running.user / "plain-name.sh").write_text(script)
    args = [each.replace("CANARY", str(canary)) for each in form[0]]

    ran = running.shell(*args, stdin=form[1].replace("CANARY", str(canary)))

    _refused(ran.code, ran.out, ran.err, canary)


def test_a_refusal_names_the_policy(running: Home) -> None:
    assert "forbid" in running.shell("-c", "echo forbidden").refusal


def test_an_allow_permits_what_a_block_matches(running: Home) -> None:
    ran = running.shell("-c", ": permit; echo forbidden")

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
    running: Home, args: tuple[str, ...], stdin: str, out: str
) -> None:
    assert running.shell(*args, stdin=stdin).out == out


def test_a_rewritten_command_keeps_its_exit_status(running: Home) -> None:
    assert running.shell("-c", "echo low; exit 3").code == 3


# Nothing is run unless the daemon says so.


def test_without_a_daemon_nothing_is_run(home: Home, canary: Path) -> None:
    ran = home.shell("-c", f"touch {canary}")

    _refused(ran.code, ran.out, ran.err, canary)


@pytest.mark.parametrize("kind", ["missing", "file", "stale", "directory"])
def test_a_socket_that_does_not_answer_runs_nothing(
    home: Home, canary: Path, kind: str
) -> None:
    path = home.user / "s"
    if kind == "file":
        path.write_text("ALLOW\n")
    elif kind == "directory":
        path.mkdir()
    elif kind == "stale":
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(path))

    ran = home.shell("-c", f"touch {canary}", env={"REDLANE_SOCKET": str(path)})

    _refused(ran.code, ran.out, ran.err, canary)


ANSWERS: dict[str, bytes | None] = {
    "nothing": b"",
    "no-http": b"ALLOW\n",
    "error-500": b"HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\nALLOW\n",
    "other-word": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nSURE\n",
    "cut-short": b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\nMODIFY 50\necho",
    "empty-body": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    "silence": None,
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_daemon_that_makes_no_sense_runs_nothing(
    home: Home, canary: Path, answer: bytes | None
) -> None:
    path = home.user / "s"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        done = threading.Event()
        thread = threading.Thread(target=_answer, args=(server, answer, done))
        thread.start()
        try:
            ran = home.shell("-c", f"touch {canary}", env={"REDLANE_SOCKET": str(path)})
        finally:
            done.set()
            thread.join(30)

    _refused(ran.code, ran.out, ran.err, canary)


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

    _refused(ran.code, ran.out, ran.err, canary)


def test_a_session_without_a_role_runs_nothing(home: Home, canary: Path) -> None:
    home.start()

    ran = home.shell("-c", f"touch {canary}")

    _refused(ran.code, ran.out, ran.err, canary)


# What the environment can make a shell do is judged or taken out.


@pytest.fixture
def trap(running: Home, canary: Path) -> str:
    """A file with a forbidden command."""
    path = running.user / "trap.sh"
    path.write_text(f"touch {canary}; : forbidden\n")
    return str(path)


ENVIRONMENTS = {
    "bash-env": ({"BASH_ENV": "TRAP"}, ("-c", "true")),
    "bash-env-substitution": (
        {"BASH_ENV": "$(touch CANARY; : forbidden)"},
        ("-c", "true"),
    ),
    "env-posix": ({"ENV": "TRAP", "POSIXLY_CORRECT": "1"}, ("-ic", "true")),
    "exported-function": (
        {"BASH_FUNC_true%%": "() { touch CANARY; : forbidden; }"},
        ("-c", "true"),
    ),
    "exported-function-of-a-command": (
        {"BASH_FUNC_ls%%": "() { touch CANARY; : forbidden; }"},
        ("-c", "ls"),
    ),
    "xtrace-ps4": (
        {"SHELLOPTS": "xtrace", "PS4": "$(touch CANARY; : forbidden)"},
        ("-c", "true"),
    ),
    "ps4-with-x": ({"PS4": "$(touch CANARY; : forbidden)"}, ("-xc", "true")),
    "prompt-command": (
        {"PROMPT_COMMAND": "touch CANARY; : forbidden"},
        ("-i",),
    ),
    "ps1": ({"PS1": "$(touch CANARY; : forbidden)"}, ("-i",)),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment_runs_nothing_forbidden(
    running: Home, canary: Path, trap: str, name: str
) -> None:
    variables, args = ENVIRONMENTS[name]
    env: dict[str, str | None] = {
        key: value.replace("CANARY", str(canary)).replace("TRAP", trap)
        for key, value in variables.items()
    }

    running.shell(*args, env=env, stdin="true\n")

    assert not canary.exists()


@pytest.mark.parametrize("shape", ["directory-in-path", "shell-variable"])
def test_the_environment_cannot_name_another_bash(
    running: Home, canary: Path, shape: str
) -> None:
    fake = running.user / "bin" / "bash"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(f"#!/bin/sh\ntouch {canary}\n")
    fake.chmod(0o755)
    env: dict[str, str | None] = (
        {"PATH": f"{fake.parent}:{running.env['PATH']}"}
        if shape == "directory-in-path"
        else {"SHELL": str(fake), "BASH": str(fake)}
    )

    ran = running.shell("-c", "echo hello", env=env)

    assert ran.out == "hello\n"
    assert not canary.exists()


# Interactive.


def _talk(home: Home, *lines: str) -> tuple[int, str]:
    """Type lines into an interactive wrapper; its exit status and all it printed."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        [REDLANE_SH],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**home.environment(), "TERM": "dumb"},
        cwd=home.user,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, "".join(f"{line}\n" for line in lines).encode())
        printed = _drain(master)
        return shell.wait(20), printed
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def _drain(master: int) -> str:
    deadline = time.monotonic() + 30
    printed = b""
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            printed += data
    return printed.decode(errors="replace")


def test_an_interactive_shell_runs_what_is_allowed(running: Home) -> None:
    code, printed = _talk(running, "echo $((40 + 2))-answer", "exit 7")

    assert "42-answer" in printed
    assert code == 7


def test_an_interactive_shell_keeps_its_state(running: Home) -> None:
    _, printed = _talk(running, "cd /usr", "word=kept", 'echo "[$word:$PWD]"', "exit")

    assert "[kept:/usr]" in printed


def test_an_interactive_shell_refuses_and_goes_on(running: Home, canary: Path) -> None:
    code, printed = _talk(
        running, f"touch {canary}; : forbidden", "echo $((40 + 2))-after", "exit 7"
    )

    assert not canary.exists()
    assert "redlane: " in printed
    assert "42-after" in printed
    assert code == 7


def test_bash_itself_would_have_run_it(running: Home, canary: Path) -> None:
    run_bash(running, "-c", f"touch {canary}; : forbidden")

    assert canary.exists()
