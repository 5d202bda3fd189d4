"""`redlane-run --filter`: signals, jobs and the terminal are the agent's."""

import os
import pty
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
from spec.redlane_home import wait_for
from system.filtered_runner import Runner, launcher_of, line_of, state_of


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"])
def test_signals_reach_the_agent(runner: Runner, name: str) -> None:
    line = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    with runner.started("/bin/sh", "-c", line) as process:
        assert line_of(process) == "ready"
        os.kill(process.pid, signal.Signals[f"SIG{name}"])

        assert line_of(process) == "got"
        assert process.wait(20) == 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_the_agent_signals_its_group_and_survives(runner: Runner, number: int) -> None:
    line = f"trap 'echo got; exit 7' {int(number)}; kill -{int(number)} 0; sleep 1"
    with runner.started("/bin/sh", "-c", line) as process:
        assert line_of(process) == "got"
        assert process.wait(20) == 7


def test_a_stopped_agent_stops_its_supervisors(runner: Runner) -> None:
    with runner.started("/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent = int(line_of(process))
        for _ in range(2):
            os.kill(agent, signal.SIGTSTP)
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert state_of(launcher_of(process)) == "T"

            os.kill(process.pid, signal.SIGCONT)
            wait_for(lambda: state_of(agent) == "S")
        out, _ = process.communicate("on\n", timeout=20)

    assert (out, process.returncode) == ("on\n", 0)


def test_a_frozen_session_goes_on(runner: Runner) -> None:
    with runner.started("/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent, launcher = int(line_of(process)), launcher_of(process)
        for each in (launcher, agent):
            os.kill(each, signal.SIGSTOP)
        wait_for(lambda: state_of(agent) == state_of(launcher) == "T")
        time.sleep(0.1)
        assert os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG) == (0, 0)

        for each in (launcher, agent):
            os.kill(each, signal.SIGCONT)
        out, _ = process.communicate("on\n", timeout=20)

    assert (out, process.returncode) == ("on\n", 0)


class Terminal:
    """The other end of a terminal: what is typed, and what is to be read there."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._unread = b""

    def type(self, text: bytes) -> None:
        """Send keys."""
        os.write(self._descriptor, text)

    def until(self, text: bytes) -> None:
        """Read on until `text` has come, and not beyond it."""
        deadline = time.monotonic() + 30
        while text not in self._unread:
            assert time.monotonic() < deadline, self._unread
            if select.select([self._descriptor], [], [], 1)[0]:
                with suppress(OSError):
                    self._unread += os.read(self._descriptor, 4096)
        self._unread = self._unread.partition(text)[2]


@contextmanager
def _at_terminal(words: Sequence[str], user: int | None) -> Iterator[Terminal]:
    """A program at a terminal of its own."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir("/")
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.execvpe(words[0], words, {**os.environ, "PS1": "", "ENV": ""})
    try:
        yield Terminal(terminal)
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


_SHELL = ("bash", "--norc", "--noprofile", "--noediting", "-i")


def test_an_agent_with_jobs_of_its_own_has_the_terminal(runner: Runner) -> None:
    words = runner.words(*_SHELL)
    with _at_terminal(words, runner.user) as terminal:
        terminal.type(b"sh -c \"echo r''eady; exec cat\"\n")
        terminal.until(b"ready\r\n")
        terminal.type(b"\x1a")
        terminal.until(b"Stopped")
        terminal.until(b'exec cat"\r\n')
        terminal.type(b"echo in''side; fg\n")
        terminal.until(b'exec cat"\r\n')
        terminal.type(b"on\n")
        terminal.until(b"on\r\non\r\n")
        terminal.type(b"\x04echo st''atus $?\n")
        terminal.until(b"status 0\r\n")


def test_an_agent_in_the_background_waits_for_the_terminal(runner: Runner) -> None:
    words = runner.words("/bin/bash", "-c", "read x; echo got-$x")
    line = " ".join(f"'{each}'" for each in words)
    with _at_terminal(_SHELL, runner.user) as terminal:
        terminal.type(line.encode() + b" &\n")
        terminal.type(b"until jobs | grep Sto''pped; do sleep 0.05; done\n")
        terminal.until(b"Stopped")
        terminal.type(b"fg\n")
        terminal.until(b"/bin/bash")
        terminal.type(b"here\n")
        terminal.until(b"got-here\r\n")
        terminal.type(b"echo st''atus $?\n")
        terminal.until(b"status 0\r\n")


def test_keys_of_the_terminal_stop_and_end_the_agent(runner: Runner) -> None:
    line = (
        "trap \"echo inter''rupted; exit 5\" INT; echo st''arted; "
        "while :; do read -t 0.2 x && echo got-$x; done"
    )
    words = " ".join(f"'{each}'" for each in runner.words("/bin/bash", "-c", line))
    with _at_terminal(_SHELL, runner.user) as terminal:
        terminal.type(words.encode() + b"\n")
        terminal.until(b"started\r\n")
        terminal.type(b"\x1a")
        terminal.until(b"Stopped")
        terminal.until(b"done'\r\n")
        terminal.type(b"echo the she''ll; fg\n")
        terminal.until(b"the shell\r\n")
        terminal.until(b"done'\r\n")
        terminal.type(b"again\n")
        terminal.until(b"got-again\r\n")
        terminal.type(b"\x03")
        terminal.until(b"interrupted\r\n")
        terminal.type(b"echo status $?\n")
        terminal.until(b"status 5\r\n")
