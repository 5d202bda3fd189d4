"""A command that is to be supervised is given to `redlane run`, and never run bare."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from system.scripted_peer import Question, ScriptedPeer
from system.shell_lies import SUPERVISED_LIES
from system.wrapper_programs import Wrapper

TOLD = """\
#!{python} -IS
import json, os, sys
data = sys.stdin.buffer.read().decode() if "-s" in sys.argv else ""
files = {{w: open(w).read() for w in sys.argv if w.startswith("/dev/fd/")}}
print(json.dumps([sys.argv[1:], os.environ.get("REDLANE_SOCKET"), data, files]))
"""


@pytest.fixture
def redlane(wrapper: Wrapper) -> Iterator[Path]:
    """The command beside the wrapper, which tells what it was given."""
    path = wrapper.directory / "redlane"
    path.write_text(TOLD.format(python=sys.executable))
    path.chmod(0o755)
    yield path
    path.unlink()


RUN = ["run", "--role=the röle", "--label", "redlane-sh", "--judged", "--"]
SUPERVISE = b"SUPERVISE 9\nthe r\xc3\xb6le"


def given_to(redlane: Path, wrapper: Wrapper, *words: str, **more: Any) -> Any:
    assert redlane.exists()
    done = wrapper(*words, **more)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_command_is_run_by_redlane_run(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    peer.answer = SUPERVISE + b"ALLOW\n"
    words, named, _, _ = given_to(redlane, wrapper, "-ec", "echo ran", "a", "b c")
    assert words == [*RUN, "/bin/bash", "-e", "-c", "--", "echo ran", "a", "b c"]
    assert named == str(peer.path)


def test_rewritten_command_is_the_one_that_is_run(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    peer.answer = SUPERVISE + b"MODIFY 8\necho new"
    words, _, _, _ = given_to(redlane, wrapper, "-c", "echo old", name="sh")
    assert words == [*RUN, "/bin/sh", "-c", "--", "echo new"]


def test_script_is_run_by_redlane_run(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("echo ran\n")
    peer.answer = SUPERVISE + b"ALLOW\n"
    words, _, _, _ = given_to(redlane, wrapper, str(script), "a")
    assert words == [*RUN, "/bin/bash", "--", str(script), "a"]


def test_script_on_standard_input_goes_along(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    peer.answer = SUPERVISE + b"ALLOW\n"
    words, _, data, _ = given_to(redlane, wrapper, "-s", "a", stdin=b"echo ran\n")
    assert words == [*RUN, "/bin/bash", "-s", "--", "a"]
    assert data == "echo ran\n"


def test_script_that_only_we_can_read_goes_along(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    peer.answer = SUPERVISE + b"ALLOW\n"
    reading, writing = os.pipe()
    os.write(writing, b"echo ran\n")
    os.close(writing)
    name = f"/dev/fd/{reading}"
    words, _, _, files = given_to(redlane, wrapper, name, pass_fds=(reading,))
    os.close(reading)
    assert list(files.values()) == ["echo ran\n"]
    assert words[-1] == next(iter(files))


def test_held_command_may_be_supervised_and_comes_in_pieces(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    def answer(connection: socket.socket, _: Question) -> None:
        for number in b"HELD r1 9 a person\n" + SUPERVISE + b"ALLOW\n":
            connection.sendall(bytes([number]))

    peer.answer = answer
    words, _, _, _ = given_to(redlane, wrapper, "-c", "echo ran")
    assert words == [*RUN, "/bin/bash", "-c", "--", "echo ran"]


def test_block_is_a_block_all_the_same(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path
) -> None:
    assert redlane.exists()
    peer.answer = SUPERVISE + b"BLOCK 3\nno\n"
    done = wrapper("-c", "echo ran")
    assert (done.returncode, done.stdout) == (126, b"")
    assert done.stderr == b"redlane: no\n"


def test_without_the_command_nothing_is_run(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    peer.answer = SUPERVISE + b"ALLOW\n"
    done = wrapper("-c", "echo ran")
    assert (done.returncode, done.stdout) == (126, b"")
    assert b"redlane" in done.stderr


@pytest.mark.parametrize("answer", SUPERVISED_LIES.values(), ids=SUPERVISED_LIES)
def test_other_forms_are_no_verdict(
    wrapper: Wrapper, peer: ScriptedPeer, redlane: Path, answer: bytes
) -> None:
    assert redlane.exists()
    peer.answer = answer
    done = wrapper("-c", "echo ran")
    assert (done.returncode, done.stdout) == (126, b"")
