"""An ssh-agent signs with its Ed25519 keys; one that lies or is gone is one line."""

import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nacl.signing import VerifyKey

from redlane.errors import RedlaneError
from redlane.hubclient import ssh_agent
from redlane.hubclient.ssh_agent import agent_keys, sign_with_agent

MESSAGE = b"0123456789abcdef" * 4
PUBLIC = bytes(range(32))
PROGRAMS = ("ssh-agent", "ssh-add", "ssh-keygen")
MADE = {"ada@laptop": "ed25519", "bob's 2nd": "ed25519", "r": "rsa", "e": "ecdsa"}
"""The keys of the agent, by their comments."""
missing = [each for each in PROGRAMS if shutil.which(each) is None]
real = pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the environment says that the agent listens: a short name, as they need."""
    with tempfile.TemporaryDirectory() as directory:
        monkeypatch.setenv("SSH_AUTH_SOCK", f"{directory}/agent")
        yield Path(directory) / "agent"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ssh")
    for comment, kind in MADE.items():
        words = ("-q", "-N", "", "-t", kind, "-C", comment, "-f", directory / comment)
        subprocess.run(["ssh-keygen", *words], check=True)
    return directory


@pytest.fixture
def agent(place: Path, files: Path) -> Iterator[Path]:
    """A real agent that holds the keys; its socket."""
    with subprocess.Popen(
        ["ssh-agent", "-D", "-a", place], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"SSH_AUTH_SOCK=")
            add(*(files / each for each in MADE))
            yield place
        finally:
            process.terminate()


def add(*words: str | Path, **variables: str) -> None:
    subprocess.run(
        ["ssh-add", *words],
        env={**os.environ, **variables},
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        check=True,
    )


def lock(agent: Path) -> None:
    asking = agent.with_name("asking")
    asking.write_text("#!/bin/sh\necho passphrase\n")
    asking.chmod(0o700)
    add("-x", SSH_ASKPASS=str(asking), SSH_ASKPASS_REQUIRE="force", DISPLAY=":0")


def refused(
    call: Callable[[], object], says: str = "the ssh-agent is of no use"
) -> None:
    """It is an error of ours, in one line."""
    with pytest.raises(RedlaneError, match=says) as caught:
        call()
    assert str(caught.value).isprintable()


@real
@pytest.mark.usefixtures("agent")
def test_ed25519_keys_are_found_by_their_comments_and_no_others() -> None:
    assert [each.comment for each in agent_keys()] == ["ada@laptop", "bob's 2nd"]


@real
@pytest.mark.usefixtures("agent")
def test_each_key_signs_what_verifies_by_it() -> None:
    found = [each.public_key for each in agent_keys()]
    assert len(set(found)) == 2
    for each in found:
        assert VerifyKey(each).verify(MESSAGE, sign_with_agent(each, MESSAGE))


@real
def test_locked_agent_is_told(agent: Path) -> None:
    public_key = agent_keys()[0].public_key
    lock(agent)
    assert agent_keys() == []
    refused(lambda: sign_with_agent(public_key, MESSAGE), "and unlocked")


@pytest.mark.parametrize("named", ["", "/nowhere/agent", "/" + "a" * 200, "/tmp"])
def test_agent_that_is_gone_is_told(
    monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", named)
    refused(agent_keys)
    refused(lambda: sign_with_agent(PUBLIC, MESSAGE))


Hostile = Callable[[bytes], None]


@pytest.fixture
def hostile(place: Path) -> Iterator[Hostile]:
    """Has an agent give an answer to the next question, and then hang up."""
    answers: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(answers.pop())

        thread = threading.Thread(target=serve)
        thread.start()
        yield answers.append
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def field(*parts: bytes) -> bytes:
    data = b"".join(parts)
    return struct.pack(">I", len(data)) + data


KIND, ONE, MANY = field(b"ssh-ed25519"), struct.pack(">I", 1), b"\xff\xff\xff\xff"
KEY = field(KIND, field(PUBLIC))
LISTS = {
    "nothing": b"",
    "huge length": MANY + b"\x0c" + ONE,
    "empty message": field(),
    "failure": field(b"\x05"),
    "answer to another question": field(b"\x0e", ONE, KEY, field(b"c")),
    "field cut off": field(b"\x0c", ONE, b"\0\0\1\0aa"),
    "more than a megabyte": field(b"\x0c", ONE, field(bytes(2**21)), field(b"c")),
}


@pytest.mark.parametrize("answer", LISTS.values(), ids=LISTS)
def test_list_that_is_nonsense_is_one_line(hostile: Hostile, answer: bytes) -> None:
    hostile(answer)
    refused(agent_keys)


SIGNATURE = field(KIND, field(bytes(64)))
SIGNATURES = {
    "nothing": b"",
    "huge length": MANY + b"\x0e",
    "failure": field(b"\x05"),
    "list": field(b"\x0c", SIGNATURE),
    "no signature": field(b"\x0e"),
    "two signatures": field(b"\x0e", SIGNATURE, SIGNATURE),
    "empty signature": field(b"\x0e", field()),
    "kind alone": field(b"\x0e", field(KIND)),
    "flags as well": field(b"\x0e", field(KIND, field(bytes(64)), field(b"\1"))),
    "another kind": field(b"\x0e", field(field(b"ssh-rsa"), field(bytes(64)))),
    "cut off": field(b"\x0e", field(KIND, MANY, bytes(60))),
    "more after it": field(b"\x0e", SIGNATURE, b"\0"),
}


@pytest.mark.parametrize("answer", SIGNATURES.values(), ids=SIGNATURES)
def test_signature_that_is_nonsense_is_one_line(
    hostile: Hostile, answer: bytes
) -> None:
    hostile(answer)
    refused(lambda: sign_with_agent(PUBLIC, MESSAGE))


def test_key_of_another_length_is_no_key(hostile: Hostile) -> None:
    hostile(field(b"\x0c", ONE, field(KIND, field(PUBLIC[1:])), field(b"c")))
    with suppress(RedlaneError):
        assert agent_keys() == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from([b"\x0c", b"\x0e"]), rest=st.binary(max_size=64))
def test_whatever_the_agent_says_is_an_answer_or_one_line(
    hostile: Hostile, kind: bytes, rest: bytes
) -> None:
    for ask in (agent_keys, lambda: sign_with_agent(PUBLIC, MESSAGE)):
        hostile(field(kind, rest))
        with suppress(RedlaneError):
            ask()


@pytest.mark.usefixtures("nothing_is_left")
def test_agent_that_says_nothing_is_not_waited_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh_agent, "_SECONDS", 0.1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        refused(agent_keys)
