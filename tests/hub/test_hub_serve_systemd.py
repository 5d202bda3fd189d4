"""Sockets and notices between the hub and whoever manages it."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_process import HUB, HubProcess, hub_environment
from hub_serving import HEALTH, SECONDS, run
from hub_web import read_all, statuses


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(signal.SIGKILL)


ACTIVATE = """
import os, sys
os.environ["LISTEN_PID"] = str(os.getpid())
os.environ["LISTEN_FDS"] = sys.argv[1]
for number in range(int(sys.argv[1])):
    os.dup2(int(sys.argv[2 + number]), 3 + number)
os.execv(sys.argv[4], sys.argv[4:])
"""


@pytest.fixture
def activated(tmp_path: Path) -> Iterator[tuple[str, Path, "subprocess.Popen[str]"]]:
    """A hub that is given two sockets, as systemd does it, and told where to notify."""
    path = tmp_path / "hub.sock"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        unix.bind(str(path))
        unix.listen()
        # High numbers, which taking their places cannot close.
        numbers = [fileno_from(each, 50) for each in (tcp, unix)]
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", ACTIVATE, "2", *map(str, numbers)),
                *(HUB, "serve", "--database", tmp_path / "hub.db"),
            ],
            pass_fds=numbers,
            env=hub_environment({}) | {"NOTIFY_SOCKET": f"{tmp_path}/notify"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in numbers:
            os.close(number)
        url = f"http://127.0.0.1:{tcp.getsockname()[1]}"
    with process:
        yield url, path, process
        process.kill()


def fileno_from(opened: socket.socket, least: int) -> int:
    return fcntl.fcntl(opened, fcntl.F_DUPFD, least)


def test_sockets_of_systemd_are_served(
    activated: tuple[str, Path, "subprocess.Popen[str]"],
) -> None:
    url, path, process = activated
    assert process.stdout is not None
    assert (
        process.stdout.readline() == f"redlane-hub: listening on {url}, unix:{path}\n"
    )
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=SECONDS) as connection:
        connection.sendall(HEALTH)
        assert statuses(read_all(connection)) == [200]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(HEALTH)
        assert statuses(read_all(connection)) == [200]
    process.terminate()
    assert process.wait(SECONDS) == 0


@pytest.mark.parametrize("workers", ["1", "2"])
def test_service_manager_is_told_how_it_is(
    hub: HubProcess, tmp_path: Path, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "600000")
        hub.start("--workers", workers)
        pid = hub.pid
        told = [manager.recv(4096).decode()]
        while "READY=1" not in told[-1]:
            told.append(manager.recv(4096).decode())
        assert told[-1] == f"READY=1\nMAINPID={pid}"
        while "WATCHDOG=1" not in told:
            told.append(manager.recv(4096).decode())
        assert hub.stop() == 0
        while told[-1] != "STOPPING=1":
            told.append(manager.recv(4096).decode())


def test_unix_socket_is_served_and_a_dead_one_replaced(tmp_path: Path) -> None:
    path = tmp_path / "hub.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    process = subprocess.Popen(
        [HUB, "serve", "--listen", f"unix:{path}", "--database", tmp_path / "hub.db"],
        stdout=subprocess.PIPE,
        text=True,
        env=hub_environment({}),
    )
    with process:
        assert process.stdout is not None
        assert f"listening on unix:{path}" in process.stdout.readline()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(HEALTH)
            assert statuses(read_all(connection)) == [200]
        refused = run(tmp_path, "--listen", f"unix:{path}")
        assert refused.returncode == 1
        assert "in use" in refused.stderr
        process.terminate()
        assert process.wait(SECONDS) == 0
