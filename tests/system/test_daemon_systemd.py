"""The daemon as a service: passed sockets and notifications."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from spec.control_client import Control
from spec.redlane_home import REDLANE, Home, wait_for

from redlane.wire.sockets import connect_socket

pytest.importorskip("systemd.daemon", reason="needs the bindings of libsystemd")


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(30)
        yield made


def told(manager: socket.socket, state: str) -> None:
    while state not in manager.recv(4096).decode():
        continue


def test_manager_is_told_how_the_service_is(home: Home, manager: socket.socket) -> None:
    env = {"NOTIFY_SOCKET": manager.getsockname()}
    process = home.spawn("start", "--foreground", "--role", "guard", env=env)
    try:
        told(manager, "READY=1")
        assert home.control.get("/health").status == 200
        process.send_signal(signal.SIGHUP)
        told(manager, "RELOADING=1")
        told(manager, "READY=1")
        process.send_signal(signal.SIGTERM)
        told(manager, "STOPPING=1")
        process.communicate(timeout=20)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def listens(path: Path) -> bool:
    """Whether a socket is bound there, and listened to."""
    with suppress(OSError), connect_socket(path, 5):
        return True
    return False


@pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None, reason="needs systemd's tool"
)
def test_passed_socket_is_served_and_left_alone(home: Home) -> None:
    path = home.control.socket
    path.parent.mkdir(mode=0o700)
    process = subprocess.Popen(
        [
            *("systemd-socket-activate", "-l", path, "-E", "HOME"),
            *(REDLANE, "start", "--foreground", "--role", "guard"),
        ],
        env=home.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: listens(path))
        assert Control(path).analyze("rm -rf /")["verdict"] == "BLOCK"
        assert home.shell("-c", "rm -rf x").code == 126
        assert home.shell("-c", "echo ran").out == "ran\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert path.exists()
        assert not path.with_name("shell.sock").exists()
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None, reason="needs systemd's tool"
)
def test_the_shell_socket_is_passed_by_name(home: Home) -> None:
    path = home.control.socket
    shell = path.with_name("shell.sock")
    path.parent.mkdir(mode=0o700)
    process = subprocess.Popen(
        [
            *("systemd-socket-activate", "-l", shell, "-l", path, "-E", "HOME"),
            *("--fdname=shell:control", REDLANE, "start", "--foreground"),
            *("--role", "guard"),
        ],
        env=home.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: listens(path))
        assert home.shell("-c", "rm -rf x").code == 126
        assert home.shell("-c", "echo ran").out == "ran\n"
        assert Control(path).analyze("rm -rf /")["verdict"] == "BLOCK"
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert path.exists()
        assert shell.exists()
    finally:
        process.kill()
        process.wait()


def test_environment_of_another_process_passes_no_socket(home: Home) -> None:
    env = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
    assert home.run("start", "--role", "guard", env=env).code == 0
    assert home.control.get("/health").status == 200


def test_passed_socket_of_another_kind_is_refused(home: Home) -> None:
    program = (
        "import os, socket, sys\n"
        "s = socket.create_server(('127.0.0.1', 0)); os.dup2(s.fileno(), 9)\n"
        "os.dup2(9, 3)\n"
        "os.environ['LISTEN_PID'] = str(os.getpid())\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    done = subprocess.run(
        [
            *("/usr/bin/env", "python3", "-c", program),
            *(REDLANE, "start", "--foreground", "--role", "guard"),
        ],
        env={**home.environment(), "LISTEN_FDS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "no Unix stream socket" in done.stderr
