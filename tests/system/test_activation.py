"""The daemon under a service manager that holds its sockets and watches over it."""

import json
import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from spec.redlane_home import Home, wait_for
from system.manager import Manager, managed

from redlane.daemon.notify import Notifier

RELOAD = (
    b"POST /api/policies/reload HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
)
QUESTION = b"REDLANE 1 1 0 7\n/echo hi"
A_SECOND = "1000000"


@pytest.fixture
def manager(home: Home) -> Iterator[Manager]:
    """Sockets that are listened on, and no daemon yet."""
    with managed(home) as made:
        yield made


def ask(listener: socket.socket, question: bytes) -> socket.socket:
    """Send a question that nobody may be there to hear; the answer is for later."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(30)
    connection.connect(listener.getsockname())
    connection.sendall(question)
    return connection


def answer(connection: socket.socket) -> bytes:
    with connection:
        parts = list(iter(lambda: connection.recv(65536), b""))
    return b"".join(parts)


def status(response: bytes) -> int:
    return int(response.split()[1])


def document(response: bytes) -> dict[str, object]:
    made = json.loads(response.partition(b"\r\n\r\n")[2])
    assert isinstance(made, dict)
    return made


def has_connection(listener: socket.socket) -> bool:
    return bool(select.select([listener], [], [], 0)[0])


def test_reload_starts_a_stopped_daemon(manager: Manager) -> None:
    waiting = ask(manager.control, RELOAD)
    manager.start("--role", "guard")
    response = answer(waiting)
    assert status(response) == 200
    assert document(response) == {"policies": 3, "roles": 2, "warnings": []}


def test_policies_that_do_not_load_are_told_to_all_who_wait(manager: Manager) -> None:
    manager.home.write("policies/bad.json", '[{"id": "x", "type": "Simple"}]')
    asked = [ask(manager.control, RELOAD) for _ in range(3)]
    command = ask(manager.shell, QUESTION)
    daemon = manager.start("--role", "guard")
    for each in asked:
        response = answer(each)
        assert status(response) == 422
        errors = document(response)["errors"]
        assert isinstance(errors, list)
        assert Path(errors[0]["file"]).name == "bad.json"
        assert errors[0]["subject"] == "x"
    assert answer(command).startswith(b"BLOCK ")
    assert daemon.wait(30) == 2
    assert not has_connection(manager.control)
    assert not has_connection(manager.shell)


def test_next_connection_is_judged_by_what_is_on_disk_then(manager: Manager) -> None:
    bad = manager.home.write("policies/bad.json", "{")
    refused = ask(manager.control, RELOAD)
    assert manager.start("--role", "guard").wait(30) == 2
    assert status(answer(refused)) == 422
    bad.unlink()
    waiting = ask(manager.control, RELOAD)
    manager.start("--role", "guard")
    assert status(answer(waiting)) == 200


def test_any_other_failure_is_told_as_well(manager: Manager) -> None:
    manager.home.control.socket.parent.chmod(0o777)
    waiting, command = ask(manager.control, RELOAD), ask(manager.shell, QUESTION)
    daemon = manager.start("--role", "guard")
    response = answer(waiting)
    assert status(response) == 503
    assert "others can write" in str(document(response)["error"])
    assert answer(command).startswith(b"BLOCK ")
    assert daemon.wait(30) == 2


def test_who_sends_nothing_does_not_hold_up_the_end(manager: Manager) -> None:
    manager.home.write("policies/bad.json", "{")
    silent = ask(manager.control, b"")
    assert manager.start("--role", "guard").wait(30) == 2
    assert status(answer(silent)) == 422


def test_stopped_daemon_leaves_nothing_of_its_own_in_the_queue(
    manager: Manager,
) -> None:
    daemon = manager.start("--role", "guard", WATCHDOG_USEC=A_SECOND)
    manager.hear("WATCHDOG=1")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait(30) == 0
    assert not has_connection(manager.control)
    assert not has_connection(manager.shell)


def test_no_question_is_lost_in_a_restart(manager: Manager) -> None:
    over = threading.Event()
    answers: list[bytes] = []

    def keep_asking() -> None:
        while not over.is_set():
            answers.append(answer(ask(manager.shell, QUESTION)))
            answers.append(answer(ask(manager.control, RELOAD))[:15])

    asking = [threading.Thread(target=keep_asking) for _ in range(3)]
    daemon = manager.start("--role", "guard", NOTIFY_SOCKET="")
    for each in asking:
        each.start()
    try:
        for _ in range(2):
            known = len(answers)
            wait_for(lambda known=known: len(answers) > known + 20)
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(30) == 0
            daemon = manager.start("--role", "guard", NOTIFY_SOCKET="")
        wait_for(lambda: len(answers) > known + 40)
    finally:
        over.set()
        for each in asking:
            each.join()
    assert set(answers) == {b"ALLOW\n", b"HTTP/1.1 200 OK"}


def test_manager_that_does_not_listen_holds_nothing_up(tmp_path: Path) -> None:
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending,
    ):
        manager.bind(str(tmp_path / "notify"))
        sending.settimeout(0)
        with suppress(BlockingIOError):
            while True:
                sending.sendto(b"x", str(tmp_path / "notify"))
        Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")}).alive()


def test_watchdog_is_fed(manager: Manager) -> None:
    manager.start("--role", "guard", WATCHDOG_USEC=A_SECOND)
    manager.hear("READY=1")
    for _ in range(3):
        manager.hear("WATCHDOG=1")


@pytest.mark.parametrize(
    "number", [signal.SIGUSR1, signal.SIGUSR2], ids=["control-loop", "shell-threads"]
)
def test_watchdog_hears_nothing_of_what_hangs(
    manager: Manager, number: signal.Signals
) -> None:
    daemon = manager.start("--role", "guard", WATCHDOG_USEC=A_SECOND)
    manager.hear("WATCHDOG=1")
    daemon.send_signal(number)
    manager.notices.settimeout(2.5)
    with pytest.raises(TimeoutError):
        hear_on(manager)


def hear_on(manager: Manager) -> None:
    """One ping may have been under way; five are none of a daemon that hangs."""
    for _ in range(5):
        manager.hear("WATCHDOG=1")


def test_reload_is_told_with_its_moment(manager: Manager) -> None:
    manager.start("--role", "guard")
    manager.hear("READY=1")
    assert status(answer(ask(manager.control, RELOAD))) == 200
    assert "MONOTONIC_USEC=" in manager.hear("RELOADING=1")
    manager.hear("READY=1")


def switches(pid: int) -> int:
    """How often the threads of a process were woken."""
    tasks = Path(f"/proc/{pid}/task").glob("*/status")
    lines = [line for each in tasks for line in each.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def test_idle_daemon_sleeps(manager: Manager) -> None:
    daemon = manager.start("--role", "guard")
    manager.hear("READY=1")
    assert answer(ask(manager.shell, QUESTION)) == b"ALLOW\n"
    assert status(answer(ask(manager.control, RELOAD))) == 200
    pause = threading.Event()

    def sleeps() -> bool:
        before = switches(daemon.pid)
        pause.wait(2)
        return switches(daemon.pid) == before

    wait_for(sleeps, 30)


def test_start_by_hand_does_not_take_the_place_of_a_passed_socket(
    manager: Manager,
) -> None:
    ran = manager.home.run("start", "--role", "guard")
    assert ran.code == 2
    assert "systemd listens here" in ran.refusal
    assert not has_connection(manager.control)


def test_reload_says_what_is_wrong_a_line_each(manager: Manager) -> None:
    home = manager.home
    manager.start("--role", "guard")
    ran = home.run("reload")
    assert (ran.code, ran.err) == (0, "redlane: 3 policies and 2 roles are loaded\n")
    bad = home.write("policies/bad.json", '[{"id": "x", "type": "Simple"}]')
    ran = home.run("reload")
    assert ran.code == 1
    first, *_, last = ran.err.splitlines()
    assert first.startswith(f"error: {bad}: x: ")
    assert last.startswith("redlane: ")
    bad.unlink()


def test_reload_without_a_daemon_says_so(home: Home) -> None:
    assert home.run("reload").code == 3
