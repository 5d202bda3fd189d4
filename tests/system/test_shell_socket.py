"""The shell socket: questions of the wrapper, and everything that is none."""

import os
import select
import signal
import socket
import stat
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for
from system.calls import (
    read_all,
    shell,
    shell_connection,
    shell_frame,
    wait_until_held,
)


def path_of(home: Home) -> Path:
    return home.control.socket.with_name("shell.sock")


def pid_of(home: Home) -> int:
    pid = peer_pid(home.control.socket)
    assert pid
    return pid


WHY = b"rewritten: policy 'sober' rewrote this"


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (b"ls", b"ALLOW\n"),
        (b"rm -rf /", b"BLOCK "),
        (b"sh -c 'rm  -rf /'", b"BLOCK "),
        (b'"$@"\0sh\0rm\0-rf\0/', b"BLOCK "),
        (b"echo beer", b"BECAUSE 38\n" + WHY + b"MODIFY 8\necho tea"),
        (b"echo beer \xff", b"BECAUSE 38\n"),
        (b"", b"ALLOW\n"),
    ],
)
def test_shell_answers_in_lines(shared: Home, command: bytes, first: bytes) -> None:
    answer = read_all(shell(shared, command))

    assert answer.startswith(first)
    word, _, rest = answer.partition(b"\n")
    if word.startswith(b"BLOCK"):
        assert int(word.split()[1]) == len(rest)


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (b"ls", b"ALLOW\n"),
        (b"rm -rf /", b"ASK\n"),
        (b"echo beer", b"ASK\n"),
        (b"echo please", b"ASK\n"),
    ],
)
def test_preview_says_whether_a_command_passes_and_no_more(
    shared: Home, command: bytes, answer: bytes
) -> None:
    """Nothing is written down or held."""
    before = shared.control.rows("/api/events")
    connection = shell_connection(shared)
    frame = shell_frame(command)
    connection.sendall(frame.replace(b"REDLANE 1", b"REDLANE PREVIEW 1", 1))

    assert read_all(connection) == answer
    assert shared.control.rows("/api/events") == before
    assert shared.control.rows("/api/reviews") == []


def test_a_question_may_come_in_pieces(shared: Home) -> None:
    connection = shell_connection(shared)
    for byte in shell_frame(b"rm -rf /"):
        connection.sendall(bytes([byte]))

    assert read_all(connection).startswith(b"BLOCK ")


def test_what_was_run_before_holds(shared: Home) -> None:
    connection = shell_connection(shared)
    connection.sendall(shell_frame(b"$x -rf /", before=b"x=rm\n"))

    assert read_all(connection).startswith(b"BLOCK ")


def test_held_command_hears_so_at_once(shared: Home) -> None:
    connection = shell(shared, b"echo please")
    line = connection.makefile("rb").readline()
    review = wait_until_held(shared)

    assert line == b"HELD %b 30 a person\n" % review["id"].encode()
    shared.control.post(f"/api/reviews/{review['id']}", {"decision": "allow"})
    assert read_all(connection) == b"ALLOW\n"


@pytest.mark.parametrize("how", ["close", "half", "more"])
def test_a_held_command_is_taken_back_at_a_hang_up(shared: Home, how: str) -> None:
    connection = shell(shared, b"echo please")
    wait_until_held(shared)

    if how == "close":
        connection.close()
    elif how == "half":
        connection.shutdown(socket.SHUT_WR)
    else:
        connection.sendall(b"x")

    wait_for(lambda: shared.control.rows("/api/reviews") == [])
    connection.close()


NONE_OF_OURS = {
    "nothing": b"",
    "http": b"POST /api/shell HTTP/1.1\r\nContent-Length: 2\r\n\r\nls",
    "other-version": b"REDLANE 2 0 0 2\nls",
    "no-lengths": b"REDLANE 1\nls",
    "other-word": b"REDLANE REVIEWS 1 0 0 2\nls",
    "two-lengths": b"REDLANE 1 0 2\nls",
    "negative": b"REDLANE 1 0 0 -2\nls",
    "leading-zero": b"REDLANE 1 0 0 02\nls",
    "spaces": b"REDLANE 1  0 0 2\nls",
    "carriage-return": b"REDLANE 1 0 0 2\r\nls",
    "too-short": b"REDLANE 1 0 0 3\nls",
    "too-long": b"REDLANE 1 0 0 1\nls",
    "huge": b"REDLANE 1 0 0 99999999\nls",
    "huge-directory": b"REDLANE 1 9999999 0 2\nls",
    "huge-together": b"REDLANE 1 0 17000000 17000000\nls",
    "endless": b"R" * 10_000,
    "no-end": b"REDLANE 1 0 0 " + b"1" * 100,
    "other-digits": "REDLANE 1 0 0 ٢\nls".encode(),
}


@pytest.mark.parametrize("sent", NONE_OF_OURS.values(), ids=NONE_OF_OURS)
def test_what_is_no_question_is_not_answered(shared: Home, sent: bytes) -> None:
    connection = shell_connection(shared)
    with suppress(OSError):  # it may hang up before all is sent
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)

    with suppress(ConnectionResetError):  # there was more than it read
        assert read_all(connection) == b""


def test_a_client_that_says_nothing_is_cut_off(shared: Home) -> None:
    start = time.monotonic()
    silent, begun = shell_connection(shared), shell_connection(shared)
    begun.sendall(b"REDLANE 1 0 0 9\nls")

    assert (read_all(silent), read_all(begun)) == (b"", b"")
    assert time.monotonic() - start < 20


def test_silent_clients_delay_nobody(shared: Home) -> None:
    def is_answered_before_they_are_cut_off() -> bool:
        with ExitStack() as stack:
            silent = [stack.enter_context(shell_connection(shared)) for _ in range(30)]
            assert read_all(shell(shared, b"ls")) == b"ALLOW\n"
            return not select.select(silent, [], [], 0)[0]

    wait_for(is_answered_before_they_are_cut_off, 30)  # a busy machine is slow itself


def test_many_at_once_are_all_answered(shared: Home) -> None:
    answers: list[bytes] = []

    def ask() -> None:
        answers.extend(read_all(shell(shared, b"rm -rf /"))[:5] for _ in range(8))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert answers == [b"BLOCK"] * 128


def test_the_old_way_to_ask_is_gone(shared: Home) -> None:
    answer = shared.control.send("POST", "/api/shell", b"ls", {})
    assert answer.status == 404


def test_only_the_user_may_connect_and_it_goes_with_the_daemon(daemon: Home) -> None:
    mode = path_of(daemon).stat().st_mode
    assert (stat.S_ISSOCK(mode), mode & 0o777) == (True, 0o600)
    assert daemon.run("stop").code == 0
    assert not path_of(daemon).exists()


def test_a_killed_daemon_does_not_stop_the_next_start(daemon: Home) -> None:
    descriptor = os.pidfd_open(pid_of(daemon))
    os.kill(pid_of(daemon), signal.SIGKILL)
    wait_for(lambda: peer_pid(daemon.control.socket) is None)
    os.close(descriptor)
    assert path_of(daemon).exists()

    daemon.start("--role", "guard")

    assert read_all(shell(daemon, b"rm -rf /")).startswith(b"BLOCK ")


def test_a_file_in_its_place_is_not_removed(home: Home) -> None:
    path = home.write("run/shell.sock", "precious")
    path.parent.chmod(0o700)
    ran = home.run("start")
    assert ran.code == 2
    assert "shell.sock" in ran.refusal
    assert path.read_text() == "precious"
    assert not home.control.socket.exists()


def test_a_path_that_is_too_long_for_an_address(home: Home) -> None:
    socket_path = home.dir / ("x" * 100) / "any.sock"
    socket_path.parent.mkdir(mode=0o700, parents=True)
    env = {"REDLANE_SOCKET": str(socket_path)}
    assert home.run("start", "--role", "guard", env=env).code == 0
    try:
        assert home.shell("-c", "echo ran", env=env).out == "ran\n"
        assert home.shell("-c", "rm -rf x", env=env).code == 126
    finally:
        home.run("stop", env=env)


def test_term_blocks_what_is_held(daemon: Home) -> None:
    connection = shell(daemon, b"echo please")
    line = connection.makefile("rb").readline()
    assert line.startswith(b"HELD ")

    os.kill(pid_of(daemon), signal.SIGTERM)

    assert read_all(connection).startswith(b"BLOCK ")
    wait_for(lambda: not path_of(daemon).exists())


def test_silent_clients_do_not_keep_the_daemon(daemon: Home) -> None:
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(shell_connection(daemon))
        assert daemon.run("stop").code == 0
    assert not path_of(daemon).exists()


def test_who_cannot_be_told_is_blocked(shared: Home) -> None:
    """The process that connected has ended: its rights are nobody's."""
    mine, childs = socket.socketpair()
    child = os.fork()
    if not child:
        connection = shell_connection(shared)
        socket.send_fds(childs, [b"x"], [connection.fileno()])
        os._exit(0)
    _, (number,), _, _ = socket.recv_fds(mine, 1, 1)
    os.waitpid(child, 0)
    mine.close()
    childs.close()
    connection = socket.socket(fileno=number)
    connection.settimeout(30)
    connection.sendall(shell_frame(b"ls"))

    answer = read_all(connection)

    assert answer.startswith(b"BLOCK ")
    assert b"exited" in answer
