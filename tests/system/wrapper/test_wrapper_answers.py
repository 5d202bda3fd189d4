"""What the daemon may answer, and everything else, after which nothing runs."""

import signal
import socket
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec.redlane_home import wait_for
from system.scripted_peer import Question, ScriptedPeer
from system.shell_lies import LIES
from system.wrapper_programs import Wrapper
from tiers import examples


@pytest.mark.parametrize(
    "pieces",
    [(b"ALLOW\n",), (b"AL", b"LOW", b"\n"), (b"OP", b"EN\nALL", b"OW\n")],
    ids=["whole", "pieces", "open"],
)
def test_allow_runs_the_command(
    wrapper: Wrapper, peer: ScriptedPeer, pieces: tuple[bytes, ...]
) -> None:
    def answer(connection: socket.socket, _: Question) -> None:
        for each in pieces:
            connection.sendall(each)

    peer.answer = answer

    done = wrapper("-c", "echo ran; exit 3")

    assert (done.returncode, done.stdout, done.stderr) == (3, b"ran\n", b"")


def test_modify_runs_the_new_command(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    peer.answer = b"MODIFY 13\necho new $0\r\n"

    done = wrapper("-c", "echo old", "name")

    assert done.stdout == b"new name\r\n"


@pytest.mark.parametrize("cut", [1, 12, 20])
def test_why_it_was_rewritten_is_said(
    wrapper: Wrapper, peer: ScriptedPeer, cut: int
) -> None:
    whole = b"BECAUSE 9\nit is so\x07MODIFY 8\necho new"

    def answer(connection: socket.socket, _: Question) -> None:
        connection.sendall(whole[:cut])
        connection.sendall(whole[cut:])

    peer.answer = answer

    done = wrapper("-c", "echo old")

    assert (done.stdout, done.stderr) == (b"new\n", b"redlane: it is so\\x07\n")


def test_block_shows_the_message(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    peer.answer = b"BLOCK 10\nnot today\n"

    done = wrapper("-c", "echo ran")

    assert (done.returncode, done.stdout) == (126, b"")
    assert done.stderr == b"redlane: not today\n"


def test_controls_in_a_message_are_shown(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    text = "a\x1b[2J\rb\nc\u202e\x85\u200bé".encode() + b"\xff"
    peer.answer = b"BLOCK %d\n%b" % (len(text), text)

    shown = wrapper("-c", "echo ran").stderr

    assert shown == (
        rb"redlane: a\x1b[2J\x0db\x0ac\xe2\x80\xae\xc2\x85\xe2\x80\x8b"
        b"\xc3\xa9\\xff\n"
    )


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_an_answer_that_is_not_understood_runs_nothing(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path, lie: bytes
) -> None:
    peer.answer = lie
    (tmp_path / "shell-timeout").write_text("1")

    done = wrapper("-c", "echo ran")

    assert (done.returncode, done.stdout) == (126, b"")
    lines = [each for each in done.stderr.splitlines() if b"held for" not in each]
    assert len(lines) == 1
    assert lines[0].startswith(b"redlane: ")
    assert b"\x1b" not in done.stderr


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_changed_allow_is_no_allow(
    wrapper: Wrapper, peer: ScriptedPeer, data: st.DataObject
) -> None:
    answer = b"ALLOW\n"
    cut = data.draw(st.integers(0, len(answer) - 1))
    peer.answer = answer[:cut] + data.draw(st.binary(max_size=3))
    if peer.answer == answer:
        return

    assert wrapper("-c", "echo ran").stdout == b""


def test_a_slow_drip_ends_at_the_deadline(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    (tmp_path / "shell-timeout").write_text("0.5")
    left = list(b"MODIFY 200\n" + b"a" * 200)

    def drip(connection: socket.socket, _: Question) -> None:
        connection.settimeout(0.1)
        while left:
            connection.sendall(bytes([left.pop(0)]))
            try:
                if not connection.recv(1):
                    return
            except TimeoutError:
                continue

    peer.answer = drip

    done = wrapper("-c", "echo ran")

    assert (done.returncode, done.stdout) == (126, b"")
    assert b"in time" in done.stderr
    assert left


def test_without_a_daemon_nothing_runs(wrapper: Wrapper, tmp_path: Path) -> None:
    path = tmp_path / "none" / "control.sock"

    done = wrapper("-c", "echo ran", env={"REDLANE_SOCKET": str(path)})

    assert (done.returncode, done.stdout) == (126, b"")
    assert done.stderr.startswith(b"redlane: no daemon at %b " % bytes(path))
    assert b"redlane start" in done.stderr


def test_a_socket_that_nobody_serves(wrapper: Wrapper, tmp_path: Path) -> None:
    path = tmp_path / "deaf" / "control.sock"
    path.parent.mkdir()
    path.with_name("shell-timeout").write_text("0.3")
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(path.with_name("shell.sock")))
        deaf.listen()
        done = wrapper("-c", "echo ran", env={"REDLANE_SOCKET": str(path)})

    assert (done.returncode, done.stdout) == (126, b"")


def test_held_then_allowed(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    peer.answer = b"HELD ab-1_c 30 a person\nALLOW\n"

    done = wrapper("-c", "echo ran")

    assert done.stdout == b"ran\n"
    assert done.stderr == (
        b"redlane: held for review ab-1_c: a person decides within 30 s "
        b"(redlane review show ab-1_c)\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_waiting(
    wrapper: Wrapper, peer: ScriptedPeer, number: signal.Signals
) -> None:
    gone: list[bool] = []

    def hold(connection: socket.socket, _: Question) -> None:
        connection.sendall(b"HELD x 30 a person\n")
        gone.append(connection.recv(1) == b"")

    peer.answer = hold
    process = subprocess.Popen(
        [wrapper.directory / "redlane-sh", "-c", "echo ran"],
        env=dict(wrapper.environment),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stderr is not None
    process.stderr.readline()

    process.send_signal(number)
    out, _ = process.communicate(timeout=20)

    assert (process.returncode, out) == (-number, b"")
    assert wait_for(lambda: gone) == [True]


def test_a_command_that_is_too_long(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    script = tmp_path / "long"
    script.write_bytes(b"echo ran\n" + b"#" * (9 * 1024 * 1024))

    with script.open("rb") as file:
        done = subprocess.run(
            [wrapper.directory / "redlane-sh"],
            stdin=file,
            env=dict(wrapper.environment),
            capture_output=True,
            check=False,
        )

    assert (done.returncode, done.stdout, peer.questions) == (126, b"", [])
