"""A service manager for one daemon: passes it sockets, and hears what it tells."""

import fcntl
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spec.redlane_home import Home

__all__ = ["Manager", "managed"]

_BECOME = """
import os, sys
os.environ["LISTEN_PID"] = os.environ["WATCHDOG_PID"] = str(os.getpid())
for place, number in enumerate(sys.argv[1].split(",")):
    os.dup2(int(number), 3 + place)
os.execv(sys.argv[2], sys.argv[2:])
"""

_DAEMON = """
import gc, signal, sys, threading
from redlane.cli.main import main
from redlane.judging.shell_socket import ShellSocket

def hang(*_):
    threading.Event().wait()

def hang_shell(*_):
    for each in gc.get_objects():
        if isinstance(each, ShellSocket):
            each._changed.acquire()

signal.signal(signal.SIGUSR1, hang)
signal.signal(signal.SIGUSR2, hang_shell)
sys.exit(main(sys.argv[1:]))
"""
"""The daemon; SIGUSR1 blocks the loop of its control API, SIGUSR2 its shell threads."""

_HIGH = 40
"""Descriptors above those that are passed."""


class Manager:
    """Holds the two listening sockets of a home's daemon, which outlive each daemon."""

    def __init__(self, home: Home) -> None:
        """Listen as systemd does, before there is a daemon."""
        run = home.control.socket.parent
        run.mkdir(mode=0o700)
        self.home = home
        self.control = _listening(run / "control.sock")
        self.shell = _listening(run / "shell.sock")
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(home.user / "notify"))
        self.notices.settimeout(30)
        self.daemons: list[subprocess.Popen[str]] = []

    def start(self, *args: str, **env: str) -> "subprocess.Popen[str]":
        """Start a daemon in the foreground, as a unit of systemd would."""
        numbers = [os.dup(each.fileno()) for each in (self.control, self.shell)]
        high = [_raised(each) for each in numbers]
        words = [sys.executable, "-c", _DAEMON, "start", "--foreground", *args]
        given = {
            "LISTEN_FDS": "2",
            "LISTEN_FDNAMES": "control:shell",
            "NOTIFY_SOCKET": self.notices.getsockname(),
            **env,
        }
        process = subprocess.Popen(
            [sys.executable, "-c", _BECOME, ",".join(map(str, high)), *words],
            pass_fds=high,
            env=self.home.environment(given),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for each in high:
            os.close(each)
        self.daemons.append(process)
        return process

    def hear(self, state: str) -> str:
        """The next notice that holds `state`; raises TimeoutError when none comes."""
        while state not in (told := self.notices.recv(4096).decode()):
            continue
        return told

    def close(self) -> None:
        """End the daemons by force, and let go of the sockets."""
        for daemon in self.daemons:
            daemon.kill()
            daemon.communicate()
        for each in (self.control, self.shell, self.notices):
            each.close()


@contextmanager
def managed(home: Home) -> Iterator[Manager]:
    """A manager that leaves nothing behind."""
    made = Manager(home)
    try:
        yield made
    finally:
        made.close()


def _listening(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(str(path))
    made.listen(64)
    return made


def _raised(descriptor: int) -> int:
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD, _HIGH)
    finally:
        os.close(descriptor)
