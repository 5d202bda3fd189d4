"""The guarded shell on a real terminal: a person types, and sees what happens."""

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, REDLANE_SH, Home, wait_for

PROMPT = "[redlane guard]"
CONTROL_C, CONTROL_D, CONTROL_Z = "\x03", "\x04", "\x1a"


@dataclass
class Screen:
    """A terminal with a program on it."""

    pid: int
    master: int
    text: str = ""
    seen: int = 0
    status: int | None = field(default=None)

    def read_until(self, pattern: str, seconds: float = 20.0) -> str:
        """What was printed up to the end of the next match of `pattern`."""
        deadline = time.monotonic() + seconds
        while not (found := re.compile(pattern).search(self.text, self.seen)):
            left = deadline - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.text[self.seen :]!r}"
            if select.select([self.master], [], [], left)[0]:
                self.text += self._read()
        start, self.seen = self.seen, found.end()
        return self.text[start : self.seen]

    def _read(self) -> str:
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        assert data, f"the terminal was closed: {self.text[self.seen :]!r}"
        return data.decode(errors="replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Type `text` as it is."""
        os.write(self.master, text.encode())

    def run(self, line: str) -> str:
        """Type a line; what it prints, up to the next prompt."""
        self.type(f"{line}\n")
        self.read_until(re.escape(line.splitlines()[-1]) + "\n")
        return self.read_until(re.escape(PROMPT)).removesuffix(PROMPT)

    def runs(self, program: str) -> bool:
        """Whether the terminal is that program's by now."""
        group = os.tcgetpgrp(self.master)
        return Path(f"/proc/{group}/comm").read_text() == f"{program}\n"

    def interrupt(self) -> None:
        """Press Ctrl-C until there is a new prompt.

        An interrupt that comes while the interpreter is between two keys is not seen
        before the next key; a person presses again.
        """
        for _ in range(10):
            self.type(CONTROL_C)
            with suppress(AssertionError):
                self.read_until(re.escape(PROMPT), seconds=2)
                return
        raise AssertionError("Ctrl-C does not bring a prompt")

    def wait(self) -> int:
        """The exit status, negative for a signal."""
        end = wait_for(self._ended)
        return os.waitstatus_to_exitcode(end[1])

    def _ended(self) -> tuple[int, int] | None:
        if select.select([self.master], [], [], 0)[0]:
            with suppress(OSError):
                self.text += os.read(self.master, 65536).decode(errors="replace")
        found = os.waitpid(self.pid, os.WNOHANG)
        if not found[0]:
            return None
        self.status = found[1]
        return found


@contextmanager
def _screen(daemon: Home, *words: str) -> Iterator[Screen]:
    environment = {**daemon.environment(), "TERM": "dumb"}
    pid, master = pty.fork()
    if not pid:
        os.chdir(daemon.user)
        os.execve(words[0], list(words), environment)
    screen = Screen(pid, master)
    try:
        yield screen
    finally:
        os.close(master)
        if screen.status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@pytest.fixture
def screen(daemon: Home) -> Iterator[Screen]:
    """The wrapper, called as a person calls a shell."""
    with _screen(daemon, str(REDLANE_SH)) as made:
        made.read_until(re.escape(PROMPT))
        yield made


def test_a_command_runs_and_its_state_stays(screen: Screen) -> None:
    assert "42\n" in screen.run("x=42; cd /usr; echo $x")
    assert "/usr 42\n" in screen.run('echo "$PWD $x"')
    assert " /usr " in screen.text[screen.text.rindex(PROMPT, 0, screen.seen - 1) :]


def test_a_refusal_is_shown_and_is_the_status(screen: Screen) -> None:
    assert "redlane: blocked" in screen.run("rm -rf /nonexistent")
    assert "126\n" in screen.run("echo $?")


def test_a_rewritten_command_is_shown(screen: Screen) -> None:
    shown = screen.run("echo beer")

    assert "redlane: rewritten: echo tea\n" in shown
    assert shown.endswith("tea\n")


def test_a_command_of_several_lines(screen: Screen) -> None:
    for line in ("for i in 1 2", "do"):
        screen.type(f"{line}\n")
        screen.read_until("\n> ")

    assert "1+\n2+\n" in screen.run("echo $i+; done")


def test_a_here_document(screen: Screen) -> None:
    for line in ("cat <<E", "rm  -rf is text"):
        screen.type(f"{line}\n")
        screen.read_until("\n> ")

    assert "rm  -rf is text\n" in screen.run("E")


def test_a_syntax_error_is_a_line(screen: Screen) -> None:
    assert "bash: syntax error" in screen.run("echo )")
    assert "2\n" in screen.run("echo $?")


def test_control_c_ends_the_command_and_nothing_else(screen: Screen) -> None:
    screen.type("x=kept; sleep 1000\n")
    screen.read_until("sleep 1000\n")
    wait_for(lambda: screen.runs("sleep"))
    screen.type(CONTROL_C)
    screen.read_until(re.escape(PROMPT))

    assert "130 kept\n" in screen.run("echo $? $x")


def test_control_c_at_the_prompt_drops_the_line(screen: Screen) -> None:
    screen.type("echo half")
    screen.read_until("echo half")
    screen.interrupt()

    assert "130\n" in screen.run("echo $?")


def test_a_loop_of_the_shell_itself_is_interrupted(screen: Screen) -> None:
    screen.type("echo go; while :; do :; done\n")
    screen.read_until("\ngo\n")
    screen.type(CONTROL_C)
    screen.read_until(re.escape(PROMPT))

    assert "redlane: blocked" in screen.run("rm -rf x")


def test_jobs_stop_and_go_on(screen: Screen) -> None:
    screen.type("sh -c 'echo go; read x; echo got $x'\n")
    screen.read_until("\ngo\n")
    screen.type(CONTROL_Z)
    assert "Stopped" in screen.read_until(re.escape(PROMPT))
    screen.type("fg\n")
    screen.read_until("got .x'\n")
    screen.type("word\n")
    screen.read_until("got word\n")
    screen.read_until(re.escape(PROMPT))


def test_a_background_job(screen: Screen) -> None:
    screen.run("sleep 1000 &")

    assert "Running" in screen.run("jobs")
    assert "143\n" in screen.run("kill %1; wait %1; echo $?")


def test_a_command_reads_the_terminal(screen: Screen) -> None:
    screen.type("read -p 'name? ' name\n")
    screen.read_until(r"\nname\? ")
    screen.type("rm is just text\n")
    screen.read_until(re.escape(PROMPT))

    assert "rm is just text\n" in screen.run('printf "%s\\n" "$name"')


@pytest.mark.parametrize(
    "lines",
    [
        ("x='rm -r'", "${x}f canary"),
        ("x='rm -r'; x+=f", "$x canary"),
        ("x=(-rf rm)", "${x[1]} ${x[0]} canary"),
        ("declare x=rm; y=-rf", "$x $y canary"),
        ("set -- -rf rm", "$2 $1 canary"),
        ("f() { $1 -rf canary; }", "f rm"),
        ("for x in rm; do :; done", "$x -rf canary"),
        ("read x y <<< '-rf rm'", "$y $x canary"),
        ("printf -v x %s rm", "$x -rf canary"),
    ],
    ids=lambda lines: lines[0],
)
def test_what_a_command_set_is_known_to_the_next(
    screen: Screen, daemon: Home, lines: tuple[str, str]
) -> None:
    (daemon.user / "canary").touch()
    for line in lines:
        said = screen.run(line)
    assert "blocked" in said
    assert (daemon.user / "canary").exists()


def test_what_a_person_typed_for_a_command_is_known(
    screen: Screen, daemon: Home
) -> None:
    (daemon.user / "canary").touch()
    screen.type("read -p 'what? ' x\n")
    screen.read_until(r"\nwhat\? ")
    screen.type("rm\n")
    screen.read_until(re.escape(PROMPT))
    assert "blocked" in screen.run("$x -rf canary")
    assert (daemon.user / "canary").exists()


def test_shells_by_name_are_guarded(screen: Screen, daemon: Home) -> None:
    assert f"{daemon.dir}/run/bin/bash" in screen.run("type -p bash; echo $SHELL")


def test_our_descriptors_cannot_be_written_to_through_proc(
    screen: Screen, daemon: Home
) -> None:
    screen.run('for f in /proc/$$/fd/*; do echo ">canary" >$f; done')
    screen.run("true")
    assert not (daemon.user / "canary").exists()


def test_line_editing_is_set_for_this_front(screen: Screen) -> None:
    screen.run("set -o vi")
    assert "hi\n" in screen.run("echo hi")


@pytest.mark.parametrize(
    "attack",
    [
        "echo ${nothing?there}",
        "exec 0</dev/null 3>&1 9>&- 8>&-",
        "set -u; echo $nothing",
        "return 3",
        "break; continue",
        "set -H; set -o history",
        "trap 'echo trapped' DEBUG",
        "eval() { echo mine; }; alias eval='echo mine'",
        "readonly PS1 PS2",
        "set -f -C; IFS=x",
        "stty raw -echo; stty sane",
    ],
)
def test_the_guard_stays_whatever_the_shell_is_told(
    screen: Screen, attack: str
) -> None:
    screen.run(attack)

    assert "redlane: blocked" in screen.run("rm -rf /nonexistent")
    assert "still here\n" in screen.run("echo still  here | tr -s ' '")


@pytest.mark.parametrize("first", [3, 10])
def test_a_shell_without_its_guard_ends(screen: Screen, first: int) -> None:
    loop = f'for ((i = {first}; i < 256; i++)); do eval "exec $i>&-"; done 2>/dev/null'
    screen.type(f"{loop}\n")

    assert screen.wait() == -signal.SIGKILL
    assert "cut off from its guard" in screen.text


def test_no_history_expansion_behind_the_back(screen: Screen) -> None:
    screen.run("set -H -o history; true")

    assert "!! !$ !1\n" in screen.run("echo '!! !$ !1'")


def test_its_own_descriptors_are_out_of_reach(screen: Screen) -> None:
    shown = screen.run("ls /proc/self/fd | tr '\\n' ' '; echo")

    assert shown.split() == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("end", "status"),
    [("exit 7\n", 7), ("exec sh -c 'exit 8'\n", 8), ("(exit 9)\n" + CONTROL_D, 9)],
    ids=["exit", "exec", "control-d"],
)
def test_it_ends_as_the_shell_does(screen: Screen, end: str, status: int) -> None:
    if end.endswith(CONTROL_D):
        screen.run(end.splitlines()[0])
        end = CONTROL_D
    screen.type(end)

    assert screen.wait() == status


def test_a_killed_shell(screen: Screen) -> None:
    screen.type("kill -9 $$\n")

    assert screen.wait() == -signal.SIGKILL


def test_a_dead_daemon_means_nothing_runs(screen: Screen, daemon: Home) -> None:
    daemon.stop()

    assert "redlane: no daemon" in screen.run("echo r''an")
    assert "\nran\n" not in screen.text


def test_a_held_command_can_be_given_up(screen: Screen) -> None:
    screen.type("echo please\n")
    screen.read_until("held for review")
    screen.type(CONTROL_C)
    screen.read_until(re.escape(PROMPT))

    assert "130\n" in screen.run("echo $?")


def test_the_terminal_is_as_it_was(daemon: Home) -> None:
    with _screen(daemon, "/bin/sh", "-c", f"{REDLANE_SH}; echo end $?") as screen:
        before = termios.tcgetattr(screen.master)
        screen.read_until(re.escape(PROMPT))
        screen.type("exit 3\n")
        screen.read_until("end 3\n")

        assert termios.tcgetattr(screen.master) == before


def test_inside_a_session(daemon: Home) -> None:
    words = (str(REDLANE), "run", "--role", "guard", "--", "redlane-sh")
    with _screen(daemon, *words) as screen:
        screen.read_until(re.escape(PROMPT))
        assert "redlane: blocked" in screen.run("rm -rf x")
        assert "in here\n" in screen.run("echo in here")
        screen.type("exit 4\n")

        assert screen.wait() == 4


def test_without_a_terminal_it_says_so(daemon: Home) -> None:
    done = subprocess.run(
        [REDLANE, "shell"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=daemon.environment(),
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "no terminal" in done.stderr
