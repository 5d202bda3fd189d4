"""How a guarded shell in Python asks: as `redlane-sh` does, and no less strictly."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from system.scripted_peer import Question, ScriptedPeer, peer_at
from system.shell_lies import LIES, SUPERVISED_LIES

from redlane.client.locating import DaemonAddress, locate
from redlane.contexts.shell.running.asking import SCRIPT_MAX, ask
from redlane.messages import EndingError, tell


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[ScriptedPeer]:
    """A daemon that allows everything until it is told otherwise."""
    with peer_at(tmp_path / "control.sock") as made:
        yield made


def address(path: Path, timeout: float = 5) -> DaemonAddress:
    return DaemonAddress(os.fsencode(path), timeout)


def test_question_says_where_and_what_came_before(
    peer: ScriptedPeer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask(address(peer.path), b"echo x", b"x=1\n") is None
    assert peer.questions == [Question(bytes(tmp_path), b"x=1\n", b"echo x")]


@pytest.mark.parametrize(
    ("before", "says"), [(b"", ""), (b"BECAUSE 8\nit is so", "redlane: it is so\n")]
)
def test_rewritten_command_is_what_to_run(
    peer: ScriptedPeer, capfd: pytest.CaptureFixture[str], before: bytes, says: str
) -> None:
    peer.answer = before + b"MODIFY 6\necho y"
    assert ask(address(peer.path), b"echo x") == b"echo y"
    assert capfd.readouterr().err == says


@pytest.mark.parametrize(
    "lie",
    [*LIES.values(), *SUPERVISED_LIES.values()],
    ids=[*LIES, *(f"supervised-{each}" for each in SUPERVISED_LIES)],
)
def test_what_is_not_understood_is_a_refusal(peer: ScriptedPeer, lie: bytes) -> None:
    peer.answer = lie
    with pytest.raises(EndingError) as refused:
        ask(address(peer.path), b"echo x")
    assert refused.value.status == 126


@pytest.mark.parametrize("verdict", [b"ALLOW\n", b"MODIFY 6\necho y"])
def test_what_is_to_be_supervised_is_not_run(
    peer: ScriptedPeer, verdict: bytes
) -> None:
    peer.answer = b"SUPERVISE 6\nstrict" + verdict
    with pytest.raises(EndingError, match="system calls are to be supervised"):
        ask(address(peer.path), b"echo x")


def test_held_command_is_waited_for_and_told(
    peer: ScriptedPeer, capfd: pytest.CaptureFixture[str]
) -> None:
    peer.answer = b"HELD abc 1 the jury\nALLOW\n"
    assert ask(address(peer.path), b"echo x") is None
    told = (
        "redlane: held for review abc: the jury decides within 1 s "
        "(redlane review show abc)\n"
    )
    assert capfd.readouterr().err == told


def test_daemon_that_takes_its_time_is_a_refusal(peer: ScriptedPeer) -> None:
    def wait_for_the_end(connection: socket.socket, _: Question) -> None:
        connection.recv(1)

    peer.answer = wait_for_the_end
    with pytest.raises(EndingError, match="did not answer in time"):
        ask(address(peer.path, 0.1), b"echo x")


def test_nobody_to_ask_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(EndingError, match=r"no daemon at .*: start it with"):
        ask(address(tmp_path / "control.sock"), b"echo x")


def test_command_that_is_too_long_is_not_asked_about(peer: ScriptedPeer) -> None:
    with pytest.raises(EndingError, match="longer than"):
        ask(address(peer.path), b"x" * (SCRIPT_MAX + 1))
    assert peer.questions == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("7.5", 7.5), ("86402", 86_402)),
        *((unusable, 7) for unusable in ("0", "-1", "nan", "1e9", "soon", None)),
    ],
)
def test_daemon_is_waited_for_as_long_as_it_says(
    tmp_path: Path, text: str | None, seconds: float
) -> None:
    if text is not None:
        (tmp_path / "shell-timeout").write_text(text)
    found = locate(bytes(tmp_path / "control.sock"))
    assert found == address(tmp_path / "control.sock", seconds)


def test_controls_in_a_message_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    tell("a\x1b[2J\rb\nc\u202e\x85\u200bé".encode() + b"\xff")
    assert capfd.readouterr().err == (
        r"redlane: a\x1b[2J\x0db\x0ac\xe2\x80\xae\xc2\x85\xe2\x80\x8b" "é\\xff\n"
    )
