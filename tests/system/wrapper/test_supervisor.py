"""`redlane-run`: signals, status, job control and the end of all that was started."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.scripted_peer import ScriptedPeer
from system.wrapper_programs import Wrapper


def _words(wrapper: Wrapper, *command: str, session: str = "") -> list[str]:
    program = [str(wrapper.directory / "redlane-run")]
    options = ["--socket", wrapper.environment["REDLANE_SOCKET"]]
    options += ["--session", session] if session else []
    return [*program, *options, "--", *command]


def _run(wrapper: Wrapper, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        _words(wrapper, *command),
        env=dict(wrapper.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@contextmanager
def _started(wrapper: Wrapper, *command: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        _words(wrapper, *command),
        env=dict(wrapper.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _alive(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("status", [0, 1, 42, 126, 255])
def test_the_status_is_the_agents(wrapper: Wrapper, status: int) -> None:
    assert _run(wrapper, "/bin/sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("name", ["TERM", "KILL", "HUP", "INT", "SEGV", "PIPE"])
def test_the_signal_is_the_agents(wrapper: Wrapper, name: str) -> None:
    done = _run(wrapper, "/bin/sh", "-c", f"kill -{name} $$")

    assert done.returncode == -signal.Signals[f"SIG{name}"]


@pytest.mark.parametrize(
    ("command", "status"), [("/nonexistent", 127), ("/dev/null", 126)]
)
def test_what_cannot_be_run(wrapper: Wrapper, command: str, status: int) -> None:
    done = _run(wrapper, command)

    assert done.returncode == status
    assert done.stderr.startswith(f"redlane: {command}: ")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--socket",),
        ("--socket", "/x"),
        ("--socket", "/x", "--"),
        ("--socket", "relative", "--", "true"),
        ("--other", "x", "--", "true"),
    ],
)
def test_wrong_usage(wrapper: Wrapper, words: tuple[str, ...]) -> None:
    done = wrapper(*words, name="redlane-run")

    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_its_name_and_socket_are_in_its_record(wrapper: Wrapper) -> None:
    done = _run(
        wrapper,
        "/bin/sh",
        "-c",
        "cat /proc/$PPID/comm; tr '\\0' ' ' </proc/$PPID/cmdline",
    )

    lines = done.stdout.splitlines()
    assert lines[0] == "redlane-run"
    assert f"--socket {wrapper.environment['REDLANE_SOCKET']} -- " in lines[1]


def test_streams_and_descriptors_are_passed_on(wrapper: Wrapper) -> None:
    reading, writing = os.pipe()
    line = f"cat; echo err >&2; echo extra >&{writing}"
    done = subprocess.run(
        _words(wrapper, "/bin/bash", "-c", line),
        env=dict(wrapper.environment),
        input=b"in",
        capture_output=True,
        pass_fds=(writing,),
        check=False,
    )
    os.close(writing)

    assert (done.stdout, done.stderr) == (b"in", b"err\n")
    with os.fdopen(reading, "rb") as extra:
        assert extra.read() == b"extra\n"


@pytest.mark.parametrize(
    "leave",
    [
        "sleep 1000 & echo $!",
        "(sleep 1000 & echo $!)",
        "setsid sh -c 'echo $$; exec sleep 1000' &",
        "(trap '' TERM HUP; echo $(exec sh -c 'echo $PPID'); sleep 1000; :) &",
        "sleep 1000 & kill -STOP $!; echo $!",
    ],
    ids=["child", "orphan", "new-session", "deaf", "stopped"],
)
def test_nothing_is_left_behind(wrapper: Wrapper, leave: str) -> None:
    done = _run(wrapper, "/bin/sh", "-c", f"{leave}\nsleep 0.2")

    assert done.returncode == 0
    assert not _alive(int(done.stdout))


@pytest.mark.parametrize("name", ["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"])
def test_signals_reach_the_agent(wrapper: Wrapper, name: str) -> None:
    line = f"trap 'echo got; exit 9' {name}; echo ready; while :; do sleep 0.05; done"
    with _started(wrapper, "/bin/sh", "-c", line) as process:
        assert _line(process) == "ready"
        process.send_signal(signal.Signals[f"SIG{name}"])

        assert _line(process) == "got"
        assert process.wait(20) == 9


def test_an_ignored_signal_stays_ignored(wrapper: Wrapper) -> None:
    line = " ".join(
        f"'{each}'" for each in _words(wrapper, "grep", "SigIgn", "/proc/self/status")
    )
    done = subprocess.run(
        ["/bin/sh", "-c", f"trap '' HUP; exec {line}"],
        env=dict(wrapper.environment),
        capture_output=True,
        text=True,
        check=False,
    )

    assert int(done.stdout.split()[1], 16) & 1


def test_the_agent_does_not_outlive_its_supervisor(wrapper: Wrapper) -> None:
    with _started(wrapper, "/bin/sh", "-c", "echo $$; exec sleep 1000") as process:
        agent = int(_line(process))
        process.kill()

        assert process.wait(20) == -signal.SIGKILL
        assert wait_for(lambda: not _alive(agent))


def test_a_stopped_agent_stops_its_supervisor(wrapper: Wrapper) -> None:
    with _started(wrapper, "/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent = int(_line(process))
        os.kill(agent, signal.SIGTSTP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)

        os.kill(process.pid, signal.SIGCONT)
        out, _ = process.communicate("on\n", timeout=20)

    assert (out, process.returncode) == ("on\n", 0)


def test_a_frozen_agent_does_not_stop_its_supervisor(wrapper: Wrapper) -> None:
    with _started(wrapper, "/bin/sh", "-c", "echo $$; read x; echo $x") as process:
        agent = int(_line(process))
        os.kill(agent, signal.SIGSTOP)
        state = Path(f"/proc/{agent}/stat")
        wait_for(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
        time.sleep(0.1)
        assert os.waitpid(process.pid, os.WUNTRACED | os.WNOHANG) == (0, 0)

        os.kill(agent, signal.SIGCONT)
        out, _ = process.communicate("on\n", timeout=20)

    assert (out, process.returncode) == ("on\n", 0)


def test_the_end_is_told(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    words = _words(wrapper, "/bin/true", session="abc-1")

    assert (
        subprocess.run(words, env=dict(wrapper.environment), check=False).returncode
        == 0
    )
    assert [each.partition(b"\r\n")[0] for each in peer.requests] == [
        b"DELETE /api/sessions/abc-1 HTTP/1.1"
    ]


def test_a_deaf_daemon_does_not_keep_the_status_back(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    path = tmp_path / "deaf.sock"
    program = wrapper.directory / "redlane-run"
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path))
        deaf.listen()
        done = subprocess.run(
            [
                program,
                "--socket",
                path,
                "--session",
                "x",
                "--",
                "/bin/sh",
                "-c",
                "exit 4",
            ],
            env=dict(wrapper.environment),
            timeout=20,
            check=False,
        )

    assert done.returncode == 4


def test_the_supervisor_cannot_be_looked_into(wrapper: Wrapper) -> None:
    code = "import os; print(os.stat(f'/proc/{os.getppid()}/environ').st_uid)"

    assert _run(wrapper, sys.executable, "-c", code).stdout == "0\n"
