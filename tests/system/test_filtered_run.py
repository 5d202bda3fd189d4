"""`redlane-run --filter`: the agent under a filter, beside its supervisor."""

import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.filtered_runner import Runner, is_alive, launcher_of, line_of

_LOST = (
    "redlane: the supervisor of the session's system calls has ended; "
    "the session is ended with it"
)
_UNSUPERVISED = "the session's system calls cannot be supervised"


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
        launcher = int(line_of(process))
        seen = [
            "Seccomp:\t0" in Path(f"/proc/{each}/status").read_text()
            for each in (launcher, process.pid)
        ]

        assert launcher == launcher_of(process)
        assert Path(f"/proc/{launcher}/comm").read_text() == "redlane-run\n"
    assert seen == [True, True]


def test_the_end_of_the_supervisor_is_the_end_of_the_session(runner: Runner) -> None:
    line = "setsid sleep 1000 & echo $$ $PPID $!; while :; do sleep 0.01; done"
    with runner.started("/bin/sh", "-c", line, named="read") as process:
        pids = [int(each) for each in line_of(process).split()]
        process.kill()

        wait_for(lambda: not any(map(is_alive, pids)))
        assert process.stderr is not None
        said = [each for each in process.stderr if each.startswith("redlane")]
    assert said == [_LOST + "\n"]


def test_the_end_of_the_launcher_is_the_end_of_the_session(runner: Runner) -> None:
    line = "setsid sleep 1000 & echo $$ $!; while :; do sleep 0.01; done"
    with runner.started("/bin/sh", "-c", line) as process:
        pids = [int(each) for each in line_of(process).split()]
        os.kill(launcher_of(process), signal.SIGKILL)

        assert process.wait(20) == -signal.SIGKILL
        assert not any(map(is_alive, pids))


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
    assert not is_alive(int(done.stdout))
