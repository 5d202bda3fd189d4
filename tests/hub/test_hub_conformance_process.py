"""The check in its limited process: what it has, what ends it, and who waits."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redlane_hub.conformance import SchemaChecker
from redlane_hub.conformance.checker import _exchange
from redlane_hub.conformance.process import CheckFailedError

ENDLESS: tuple[dict[str, Any], str] = ({"pattern": "^(a+)+$"}, '"' + "a" * 40 + '!"')
OBJECT = {"type": "object"}
TOO_LONG = "checking 'content' against 'schema' took too long"


@pytest.fixture(scope="module")
def checker() -> Iterator[SchemaChecker]:
    made = SchemaChecker()
    made.start()
    yield made
    made.stop()


def pid_of(checker: SchemaChecker) -> int:
    process = checker._process
    assert process is not None
    return process.pid


def until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_conforming_content_has_no_problem(checker: SchemaChecker) -> None:
    assert checker.problem(OBJECT, "{}") is None


def test_problem_is_told(checker: SchemaChecker) -> None:
    found = checker.problem(OBJECT, "3")
    assert found == (
        "'content' does not conform to 'schema': at $: 3 is not of type 'object'"
    )


def test_text_survives_the_way(checker: SchemaChecker) -> None:
    assert checker.problem({"const": "ü\0𐍈"}, '"ü\\u0000𐍈"') is None


def test_large_content_is_taken(checker: SchemaChecker) -> None:
    text = '"' + "ü" * 131_000 + '"'
    assert checker.problem({"minLength": 131_000}, text) is None


def test_process_has_no_secrets(checker: SchemaChecker) -> None:
    checker.problem(OBJECT, "{}")
    proc = Path(f"/proc/{pid_of(checker)}")
    assert proc.joinpath("environ").read_bytes() == b""
    opened = {str(each.readlink()) for each in proc.joinpath("fd").iterdir()}
    kinds = {each.partition(":")[0] for each in opened}
    assert kinds <= {"/dev/null", "socket", "anon_inode"}


def test_nothing_is_fetched(checker: SchemaChecker) -> None:
    found = checker.problem({"$ref": "http://127.0.0.1:1/x"}, "{}")
    assert found is not None
    assert "nothing outside it is ever fetched" in found


def test_greedy_schema_is_refused(checker: SchemaChecker) -> None:
    """Memory ends first, or on a busy machine time; either way it is no pass."""
    found = checker.problem({"pattern": "(a?){50000}" * 50}, '"a"')
    assert found is not None
    assert found.startswith("checking 'content' against 'schema' ")


TAKEN_AWAY = {
    "memory": ("bytearray(limits.MEMORY_BYTES)", "MemoryError"),
    "files": ("open('/etc/hostname')", "Too many open files"),
    "sockets": ("socket.socket()", "Too many open files"),
}


@pytest.mark.parametrize(("act", "told"), TAKEN_AWAY.values(), ids=TAKEN_AWAY.keys())
def test_limited_process_gets_nothing_more(act: str, told: str) -> None:
    program = (
        "import socket; from redlane_hub.conformance import limits; "
        f"limits.limit_this_process(); {act}"
    )
    ended = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert told in ended.stderr


def outpaces_an_endless_pattern(checker: SchemaChecker) -> bool:
    """Whether checks that come later are done earlier."""
    told: list[str | None] = []
    slow = threading.Thread(target=lambda: told.append(checker.problem(*ENDLESS, "a")))
    slow.start()
    until(lambda: children(pid_of(checker)))
    assert [checker.problem(OBJECT, "{}", "b") for _ in range(3)] == [None] * 3
    first = slow.is_alive()
    slow.join()
    assert told[0] is not None
    assert told[0].startswith(TOO_LONG)
    return first


def test_endless_pattern_stops_nobody_else(checker: SchemaChecker) -> None:
    # Time ends it, and a busy machine may not have got to the others by then.
    assert any(outpaces_an_endless_pattern(checker) for _ in range(5))


def test_process_that_was_killed_is_started_again(checker: SchemaChecker) -> None:
    first = pid_of(checker)
    os.kill(first, signal.SIGKILL)
    assert checker.problem(OBJECT, "{}") is None
    assert pid_of(checker) != first


def test_check_whose_process_was_killed_is_done_again(checker: SchemaChecker) -> None:
    told: list[str | None] = []
    check = threading.Thread(target=lambda: told.append(checker.problem(*ENDLESS)))
    check.start()
    until(lambda: children(pid_of(checker)))
    (child,) = children(pid_of(checker))
    os.kill(pid_of(checker), signal.SIGKILL)
    os.kill(int(child), signal.SIGKILL)
    check.join()
    assert told[0] is not None
    assert told[0].startswith(TOO_LONG)


def test_check_that_was_killed_is_no_pass(checker: SchemaChecker) -> None:
    told: list[object] = []

    def ask() -> None:
        try:
            told.append(checker.problem(*ENDLESS))
        except CheckFailedError as error:
            told.append(error)

    check = threading.Thread(target=ask)
    check.start()
    until(lambda: children(pid_of(checker)))
    (child,) = children(pid_of(checker))
    os.kill(int(child), signal.SIGKILL)
    check.join()
    assert isinstance(told[0], CheckFailedError)


def test_word_of_an_end_counts_though_the_request_was_never_read() -> None:
    ours, theirs = socket.socketpair()

    def end_unread() -> None:
        with theirs:
            theirs.recv(1, socket.MSG_PEEK)
            theirs.sendall(b'{"ended": -9}\n')

    ending = threading.Thread(target=end_unread)
    ending.start()
    with ours:
        assert _exchange(ours, b"{}") == [{"ended": -9}]
    ending.join()


def test_process_that_cannot_start_is_no_pass() -> None:
    broken = SchemaChecker(["/bin/false"])
    with pytest.raises(CheckFailedError):
        broken.problem(OBJECT, "{}")
    broken.stop()


def test_program_that_is_not_there_is_no_pass() -> None:
    broken = SchemaChecker(["/nowhere/python"])
    with pytest.raises(OSError, match="nowhere"):
        broken.problem(OBJECT, "{}")


def test_process_ends_with_the_hub() -> None:
    made = SchemaChecker()
    made.problem(OBJECT, "{}")
    process = made._process
    assert process is not None
    process._control.close()
    assert process._process.wait(20) == 0


def test_stopping_ends_the_process() -> None:
    made = SchemaChecker()
    made.start()
    pid = pid_of(made)
    made.stop()
    made.stop()
    assert not Path(f"/proc/{pid}").exists()
