"""`redlane-run --filter`: the agent under a filter, between supervisor and terminal."""

import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.wrapper_programs import KINDS, make_wrapper

_SESSION = Path(__file__).with_name("filtered_session.py")
_NOBODY = 65534
_LOST = (
    "redlane: the supervisor of the session's system calls has ended; "
    "the session is ended with it"
)
_UNSUPERVISED = "the session's system calls cannot be supervised"


@dataclass(frozen=True)
class Runner:
    """One kind of `redlane-run`, and who runs it: None for ourselves."""

    program: Path
    user: int | None

    def words(self, *command: str, named: str = "") -> list[str]:
        """The command line of a supervised session."""
        return [sys.executable, str(_SESSION), str(self.program), named, *command]

    def run(
        self, *command: str, named: str = "", env: Mapping[str, str] | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a session to its end."""
        return subprocess.run(
            self.words(*command, named=named),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd="/",
            env={**os.environ, "PATH": os.defpath, **(env or {})},
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    @contextmanager
    def started(
        self, *command: str, named: str = ""
    ) -> Iterator["subprocess.Popen[str]"]:
        """A running session; what is left of it is killed in the end."""
        with subprocess.Popen(
            self.words(*command, named=named),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            process_group=0,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        ) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(scope="module", params=KINDS)
def program(request: pytest.FixtureRequest) -> Iterator[Path]:
    """`redlane-run`, where every user can run it."""
    directory = Path(tempfile.mkdtemp(prefix="redlane-test-"))
    directory.chmod(0o755)
    yield make_wrapper(str(request.param), directory) / "redlane-run"
    shutil.rmtree(directory)


@pytest.fixture(params=[None, _NOBODY], ids=["ourselves", "nobody"])
def runner(request: pytest.FixtureRequest, program: Path) -> Runner:
    """A kind of `redlane-run`, as root and as an ordinary user where we can be both."""
    if request.param is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    return Runner(program, request.param)


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _state(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[0]


def _is_alive(pid: int) -> bool:
    return _state(pid) not in ("", "Z")


def _launcher(process: "subprocess.Popen[str]") -> int:
    """The process between the supervisor and the agent."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(children.read_text().split()[0])


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_the_status_is_the_agents(runner: Runner, status: int) -> None:
    assert runner.run("/bin/sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV"])
def test_the_signal_is_the_agents(runner: Runner, name: str) -> None:
    done = runner.run("/bin/sh", "-c", f"kill -{name} $$")

    assert done.returncode == -signal.Signals[f"SIG{name}"]


@pytest.mark.parametrize(
    "named",
    [
        "sendmsg,recvmsg,sendto,recvfrom,read,write,close,sched_yield",
        "mmap,munmap,brk,mprotect,futex,madvise",
        "prctl,seccomp,rt_sigprocmask,rt_sigaction,rt_sigreturn,execve",
        "nanosleep,clock_nanosleep,poll,ppoll,wait4,waitid,clone,fork,vfork,exit_group",
    ],
    ids=["exchange", "memory", "start", "wait"],
)
@pytest.mark.parametrize("late", ["0", "0.4"])
def test_no_call_that_is_named_keeps_the_agent_from_starting(
    runner: Runner, named: str, late: str
) -> None:
    line = "x=$(echo hello | cat); echo $x"
    done = runner.run(
        "/bin/sh", "-c", line, named=named, env={"REDLANE_TEST_LATE": late}
    )

    assert (done.stdout, done.stderr, done.returncode) == ("hello\n", "", 0)


@pytest.mark.parametrize("named", ["", "execve"])
@pytest.mark.parametrize(
    ("command", "status"), [("/nonexistent", 127), ("nowhere", 127), ("/dev/null", 126)]
)
def test_what_cannot_be_run(
    runner: Runner, command: str, status: int, named: str
) -> None:
    done = runner.run(command, named=named)

    assert done.returncode == status
    assert done.stderr.startswith(f"redlane: {command}: ")


def test_the_agent_is_looked_for_in_the_path(runner: Runner) -> None:
    env = {"PATH": f"/nonexistent:/tmp:{os.defpath}"}

    done = runner.run("echo", "found", named="execve", env=env)

    assert (done.stdout, done.returncode) == ("found\n", 0)


def test_the_agent_has_a_filter_and_no_descriptor_of_ours(runner: Runner) -> None:
    code = "grep -E 'Seccomp:|NoNewPrivs' /proc/self/status; ls -l /proc/self/fd"
    done = runner.run("/bin/sh", "-c", code)

    assert "NoNewPrivs:\t1\nSeccomp:\t2\n" in done.stdout
    assert "seccomp" not in done.stdout
    assert "socket:" not in done.stdout


def test_the_agent_can_be_looked_into_before_it_is_a_program(runner: Runner) -> None:
    code = "import ctypes, sys; library = ctypes.CDLL(None); sys.exit(library.prctl(3))"

    assert runner.run(sys.executable, "-c", code).returncode == 1


def test_those_around_the_agent_have_no_filter(runner: Runner) -> None:
    with runner.started("/bin/sh", "-c", "echo $PPID; read x") as process:
        launcher = int(_line(process))
        seen = [
            "Seccomp:\t0" in Path(f"/proc/{each}/status").read_text()
            for each in (launcher, process.pid)
        ]

        assert launcher == _launcher(process)
        assert Path(f"/proc/{launcher}/comm").read_text() == "redlane-run\n"
    assert seen == [True, True]


def test_the_end_of_the_supervisor_is_the_end_of_the_session(runner: Runner) -> None:
    line = "setsid sleep 1000 & echo $$ $PPID $!; while :; do sleep 0.01; done"
    with runner.started("/bin/sh", "-c", line, named="read") as process:
        pids = [int(each) for each in _line(process).split()]
        start = time.monotonic()
        process.kill()

        wait_for(lambda: not any(map(_is_alive, pids)))
        assert time.monotonic() - start < 5
        assert process.stderr is not None
        said = [each for each in process.stderr if each.startswith("redlane")]
    assert said == [_LOST + "\n"]


def test_the_end_of_the_launcher_is_the_end_of_the_session(runner: Runner) -> None:
    line = "setsid sleep 1000 & echo $$ $!; while :; do sleep 0.01; done"
    with runner.started("/bin/sh", "-c", line) as process:
        pids = [int(each) for each in _line(process).split()]
        os.kill(_launcher(process), signal.SIGKILL)

        assert process.wait(20) == -signal.SIGKILL
        assert not any(map(_is_alive, pids))


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        ("filter", "redlane: no filter has come for the session's system calls"),
        ("listener", _LOST),
        (
            "broken",
            f"redlane: {_UNSUPERVISED}: Invalid argument",
        ),
    ],
)
def test_no_agent_runs_without_a_supervisor(
    runner: Runner, stage: str, says: str
) -> None:
    env = {"REDLANE_TEST_LEAVE": stage}
    done = runner.run("/bin/echo", "ran", named="execve", env=env)

    assert done.stdout == ""
    assert says in done.stderr.splitlines()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--filter",), "--filter: option requires an argument"),
        (("--filter", "x", "--", "true"), "--filter: x: no descriptor"),
        (("--filter", "", "--", "true"), "--filter: : no descriptor"),
        (("--filter", "1", "--", "true"), "--filter: 1: no descriptor"),
        (("--filter", "777", "--", "true"), "--filter: Bad file descriptor"),
    ],
)
def test_wrong_usage(program: Path, words: tuple[str, ...], says: str) -> None:
    done = subprocess.run(
        [program, "--socket", "/x", *words], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (2, f"redlane: {says}\n")


@pytest.mark.parametrize("length", [0, 7, 12, 4097 * 8, 2**32 - 1])
def test_a_filter_of_no_possible_length(program: Path, length: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(struct.pack("<I", length))
        number = theirs.fileno()
        done = subprocess.run(
            [program, "--socket", "/x", "--filter", str(number), "--", "true"],
            capture_output=True,
            text=True,
            check=False,
            pass_fds=(number,),
        )

    says = f"redlane: the filter of the session's system calls has {length} bytes\n"
    assert (done.returncode, done.stderr) == (126, says)


@pytest.mark.parametrize(
    "leave",
    [
        "sleep 1000 & echo $!",
        "setsid sh -c 'echo $$; exec sleep 1000' &",
        "(trap '' TERM HUP; echo $(exec sh -c 'echo $PPID'); sleep 1000; :) &",
        "sleep 1000 & kill -STOP $!; echo $!",
    ],
    ids=["child", "new-session", "deaf", "stopped"],
)
def test_nothing_is_left_behind(runner: Runner, leave: str) -> None:
    done = runner.run("/bin/sh", "-c", f"{leave}\nsleep 0.2")

    assert done.returncode == 0
    assert not _is_alive(int(done.stdout))


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"])
def test_signals_reach_the_agent(runner: Runner, name: str) -> None:
    line = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    with runner.started("/bin/sh", "-c", line) as process:
        assert _line(process) == "ready"
        os.kill(process.pid, signal.Signals[f"SIG{name}"])

        assert _line(process) == "got"
        assert process.wait(20) == 9


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_the_agent_signals_its_group_and_survives(runner: Runner, number: int) -> None:
    line = f"trap 'echo got; exit 7' {int(number)}; kill -{int(number)} 0; sleep 1"
    with runner.started("/bin/sh", "-c", line) as process:
        assert _line(process) == "got"
        assert process.wait(20) == 7


def test_a_stopped_agent_stops_its_supervisors(runner: Runner) -> None:
    with runner.started("/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent = int(_line(process))
        for _ in range(2):
            os.kill(agent, signal.SIGTSTP)
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            assert _state(_launcher(process)) == "T"

            os.kill(process.pid, signal.SIGCONT)
            wait_for(lambda: _state(agent) == "S")
        out, _ = process.communicate("on\n", timeout=20)

    assert (out, process.returncode) == ("on\n", 0)


def test_a_frozen_session_goes_on(runner: Runner) -> None:
    with runner.started("/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent, launcher = int(_line(process)), _launcher(process)
        for each in (launcher, agent):
            os.kill(each, signal.SIGSTOP)
        wait_for(lambda: _state(agent) == _state(launcher) == "T")
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
