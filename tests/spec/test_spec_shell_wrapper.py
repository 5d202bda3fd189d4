"""`redlane-sh` is bash for what is allowed (contract)."""

import os
import subprocess
from pathlib import Path

import pytest
from spec.bash_twin import same_as_bash
from spec.redlane_home import REDLANE_SH, Home

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
    agent: Home, form: tuple[tuple[str, ...], str]
) -> None:
    (agent.user / "script.sh").write_text(SCRIPT)
    (agent.user / "reads.sh").write_text('read a; read b; echo "$b $a"\n')
    args, stdin = form

    same_as_bash(agent, *args, stdin=stdin)


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
def test_exit_status_and_streams_are_as_with_bash(agent: Home, command: str) -> None:
    same_as_bash(agent, "-c", command)


@pytest.mark.parametrize(
    "stdin", [b"", b"two\nlines\n", b"\xff\x00\x01", b"x" * 300_000],
    ids=["empty", "lines", "binary", "large"],
)  # fmt: skip
def test_standard_input_reaches_the_command(agent: Home, stdin: bytes) -> None:
    assert same_as_bash(agent, "-c", "cat", stdin=stdin).code == 0


def test_a_command_that_is_no_utf8_is_passed_on_exactly(agent: Home) -> None:
    same_as_bash(agent, "-c", b"printf %s '\xff\xc3' | od -An -tx1")


def test_the_working_directory_is_kept(agent: Home, tmp_path: Path) -> None:
    assert same_as_bash(agent, "-c", "pwd", cwd=tmp_path).out == f"{tmp_path}\n"


def test_open_files_are_inherited(agent: Home) -> None:
    read, write = os.pipe()
    try:
        subprocess.run(
            [REDLANE_SH, "-c", f"echo hello >&{write}"],
            env=agent.environment(),
            pass_fds=[write],
            timeout=30,
            check=True,
        )
        assert os.read(read, 100) == b"hello\n"
    finally:
        os.close(read)
        os.close(write)


def test_the_parent_is_the_caller(agent: Home) -> None:
    assert agent.shell("-c", "echo $PPID").out == f"{os.getpid()}\n"
