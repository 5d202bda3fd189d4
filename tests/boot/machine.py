"""A Debian system, booted in a container of its own, that tests may do anything to.

Its disk is an overlay in memory and its network a loopback interface alone: whatever
happens in it is gone when it is powered off, and it always is.
"""

import contextlib
import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["BootError", "Done", "Machine", "booted"]

BOOT_SECONDS = 90.0
HALT_SECONDS = 30.0
COMMAND_SECONDS = 60.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_KILLED = 137
_LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
_LEFT_OUT = (*_LANDLOCK, "pidfd_getfd")

Done = subprocess.CompletedProcess[str]


class BootError(Exception):
    """A machine did not come up; carries its console."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A booted machine, seen from outside."""

    name: str
    leader: int
    console: Path

    def run(
        self,
        command: str | Sequence[str],
        *,
        user: str = "root",
        check: bool = True,
        timeout: float = COMMAND_SECONDS,
        stdin: str | bytes = "",
        env: Mapping[str, str] | None = None,
    ) -> Done:
        """Run a command in it, a string by its shell, with a clean environment."""
        __tracebackhide__ = True
        typed = ("sh", "-c", command) if isinstance(command, str) else tuple(command)
        home = "/root" if user == "root" else f"/home/{user}"
        variables = {"PATH": _PATH, "HOME": home, "USER": user, "LC_ALL": "C.UTF-8"}
        variables.update(env or {})
        settings = [f"{key}={text}" for key, text in variables.items()]
        identity = ("--reuid", user, "--regid", user, "--init-groups")
        done = subprocess.run(
            (
                *self._entered(),
                *("timeout", "--kill-after=5", str(timeout)),
                *(("setpriv", *identity) if user != "root" else ()),
                *("env", "--ignore-environment", f"--chdir={home}", *settings),
                *typed,
            ),
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=timeout + 10,
            check=False,
        )
        shown = Done(typed, done.returncode, _text(done.stdout), _text(done.stderr))
        if check and done.returncode:
            said = f"{shown.stdout[-4000:]}{shown.stderr[-4000:]}"
            raise AssertionError(f"{shlex.join(typed)}: {done.returncode}\n{said}")
        return shown

    def write(
        self, path: str, content: str | bytes, *, mode: str = "644", owner: str = "root"
    ) -> None:
        """Write a file, with the directories that it is in."""
        command = ("install", "-D", "-m", mode, "-o", owner, "-g", owner)
        self.run((*command, "/dev/stdin", path), stdin=content)

    def read(self, path: str) -> str:
        """A file's text."""
        return self.run(("cat", path)).stdout

    def copy_in(self, source: Path, path: str) -> None:
        """Copy a directory, or a file, to a place in it that then exists."""
        command = ("tar", "-C", source.parent, "-c", source.name)
        packed = subprocess.run(command, capture_output=True, check=True).stdout
        inside = ("tar", "-C", "/tmp", "--no-same-owner", "-x")
        self.run(inside, stdin=packed)
        self.run(f"mkdir -p {Path(path).parent} && mv /tmp/{source.name} {path}")

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """What the journal holds, oldest first; `matches` are journalctl's."""
        self.run(("journalctl", "--sync"))
        done = self.run(
            ("journalctl", "--output=json", "--no-pager", "--all", *matches)
        )
        return [json.loads(line) for line in done.stdout.splitlines()]

    def until(self, command: str, *, seconds: float = 20.0, user: str = "root") -> None:
        """Wait until a command succeeds."""
        __tracebackhide__ = True
        loop = f"until {command}; do sleep 0.05; done"
        done = self.run(loop, timeout=seconds, check=False, user=user)
        said = f"{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert not done.returncode, f"not in {seconds} s: {command}\n{said}"

    def _entered(self) -> tuple[str, ...]:
        """The command that enters it: there is no systemd outside to ask."""
        namespaces = ("-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w")
        return ("nsenter", "-t", str(self.leader), *namespaces)


@contextmanager
def booted(tree: Path, binds: Mapping[str, Path] | None = None) -> Iterator[Machine]:
    """A machine that has come up without a failed unit; powered off in any case.

    `binds` are directories of the host, by the place where the machine may read them.
    """
    name = f"redlane-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as scratch:
        console = Path(scratch, "console")
        notify = Path(scratch, "notify")
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        told.bind(os.fspath(notify))
        container = _start(name, tree, binds or {}, console, notify)
        leader = 0
        try:
            # Closed once it is up: a full queue that nobody reads would stop systemd.
            with told:
                leader = _leader(told, container, console)
            machine = Machine(name, leader, console)
            _wait_until_up(machine)
            yield machine
        finally:
            _power_off(container, leader)


def _start(
    name: str, tree: Path, binds: Mapping[str, Path], console: Path, notify: Path
) -> "subprocess.Popen[bytes]":
    """Start the container; it ends with the process that started it."""
    command = (
        *("setpriv", "--pdeathsig", "TERM", "systemd-nspawn", "--quiet", "--boot"),
        *(f"--directory={tree}", f"--machine={name}", "--volatile=overlay"),
        *("--register=no", "--keep-unit", "--console=pipe", "--notify-ready=yes"),
        *("--private-network", "--resolv-conf=off", "--timezone=off"),
        # Left out of the calls that a container may make: a machine has them.
        f"--system-call-filter={' '.join(_LEFT_OUT)}",
        *(f"--bind-ro={host}:{inside}" for inside, host in binds.items()),
    )
    wanted = {
        "PATH": _PATH,
        "NOTIFY_SOCKET": os.fspath(notify),
        "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
    }
    with console.open("wb") as output:
        return subprocess.Popen(
            command,
            env=wanted,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Control-C is ours to pass on, in order.
            start_new_session=True,
        )


def _leader(
    told: socket.socket, container: "subprocess.Popen[bytes]", console: Path
) -> int:
    """The process that the machine's own first process is outside."""
    deadline = time.monotonic() + BOOT_SECONDS
    leader = 0
    told.settimeout(0.5)
    while time.monotonic() < deadline and container.poll() is None:
        with contextlib.suppress(TimeoutError):
            message = dict(
                line.partition("=")[::2]
                for line in told.recv(4096).decode().split("\n")
            )
            leader = int(message.get("X_NSPAWN_LEADER_PID", leader))
            if "READY" in message and leader:
                return leader
    raise BootError(_text(console.read_bytes())[-4000:])


def _wait_until_up(machine: Machine) -> None:
    """What fails of systemd's own while the host is busy is started once more."""
    ask = ("systemctl", "is-system-running", "--wait")
    state = machine.run(ask, timeout=BOOT_SECONDS, check=False).stdout.strip()
    if state == "degraded":
        failed = "systemctl --failed --plain --no-legend | cut -d' ' -f1"
        machine.run(f"systemctl restart $({failed})", check=False)
        state = machine.run(ask, timeout=BOOT_SECONDS, check=False).stdout.strip()
    if state != "running":
        said = machine.run("systemctl --failed; journalctl -b -p warning", check=False)
        raise BootError(f"{state}\n{said.stdout[-4000:]}")


def _power_off(container: "subprocess.Popen[bytes]", leader: int) -> None:
    """Ask politely, then less so; what is left at the end is killed."""
    for pid, number in (
        (leader, signal.SIGRTMIN + 4),  # "poweroff.target", to systemd
        (container.pid, signal.SIGTERM),
        (leader, signal.SIGKILL),
        (container.pid, signal.SIGKILL),
    ):
        if pid and container.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                container.wait(HALT_SECONDS)


def _text(output: bytes) -> str:
    return output.decode(errors="replace")
