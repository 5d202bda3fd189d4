"""A real hub: `redlane-hub serve` on a port of its own, and the operator's commands."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from preloaded import run_preloaded

__all__ = ["HUB", "HubProcess", "hub_environment", "run_hub"]

HUB = Path(sys.executable).with_name("redlane-hub")
START_DEADLINE = 30.0
"""How long a hub may take until it listens, in seconds."""
COMMAND_DEADLINE = 60.0
"""How long an operator's command may take, in seconds."""
STOP_DEADLINE = 20.0
"""How long a hub may take until it has ended, in seconds."""
LISTENING = re.compile(r"listening on \S*?([^\s/]+):(\d+)")
METRICS = re.compile(r"metrics at \S*?:(\d+)/metrics")


def hub_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """This environment without its own hub settings, and with the given ones.

    The names are given without their prefix: `secret` is `REDLANE_HUB_SECRET`.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith("REDLANE_")}
    return kept | {f"REDLANE_HUB_{k.upper()}": v for k, v in settings.items()}


def run_hub(
    *arguments: str | Path, env: Mapping[str, str], cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of the hub's commands to its end, from a process that has imported it."""
    words = [os.fspath(each) for each in (HUB, *arguments)]
    code, out, err = run_preloaded(
        words, b"", env, cwd or Path.cwd(), COMMAND_DEADLINE, HUB.name
    )
    return subprocess.CompletedProcess(words, code, out.decode(), err.decode())


class HubProcess:
    """A hub whose database stands in `directory`; settings are environment variables.

    Requests that come through this machine may name the client's address, so that
    tests choose which of them share a rate limit.
    """

    def __init__(self, directory: Path, **settings: str) -> None:
        """Remember the settings; `start` makes the process."""
        self.directory = directory
        self.database = directory / "hub.db"
        self.settings = {"trusted_proxies": "127.0.0.1", **settings}
        self.prefix: Sequence[str] = ()
        """What starts the hub, if something else is to."""
        self.host = ""
        self.port = 0
        self.metrics_port = 0
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        """The serving process."""
        assert self._process is not None, "the hub does not run"
        return self._process.pid

    @property
    def errors(self) -> str:
        """What the hub has written to standard error so far."""
        return (self.directory / "stderr").read_text(encoding="utf-8")

    def start(self, *arguments: str, listen: str = "127.0.0.1:0") -> None:
        """Serve; returns once the hub says that it listens."""
        self.launch(*arguments, listen=listen)
        assert self._process is not None
        assert self._process.stdout is not None
        lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        reader = threading.Thread(
            target=_read_lines, args=(self._process.stdout, lines), daemon=True
        )
        reader.start()
        while (line := _next_line(lines)) is not None:
            if found := METRICS.search(line):
                self.metrics_port = int(found[1])
            if found := LISTENING.search(line):
                self.host, self.port = found[1], int(found[2])
                return
        self.stop()
        raise AssertionError(f"the hub does not listen: {self.errors}")

    def launch(
        self, *arguments: str, listen: str = "127.0.0.1:0"
    ) -> "subprocess.Popen[str]":
        """Start the process, and wait for nothing."""
        where = ["--listen", listen, "--database", str(self.database)]
        with (self.directory / "stderr").open("a") as errors:
            self._process = subprocess.Popen(
                [*self.prefix, str(HUB), "serve", *where, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=hub_environment(self.settings),
            )
        return self._process

    def stop(self, number: int = signal.SIGTERM) -> int | None:
        """End the process with a signal; its exit status, None when none ran."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(number)
        try:
            return process.wait(STOP_DEADLINE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """One operator's command on the hub's database."""
        environment = hub_environment(self.settings)
        return run_hub(*arguments, "--database", self.database, env=environment)

    def approve(self, email: str) -> None:
        """Let an account publish and endorse."""
        done = self.command("approve", email)
        assert done.returncode == 0, done.stderr

    def recognise(self, email: str) -> None:
        """Make an account a recognised publisher."""
        done = self.command("recognise", email)
        assert done.returncode == 0, done.stderr


def _read_lines(stream: IO[str], lines: "queue.SimpleQueue[str | None]") -> None:
    """Read to the end, so that the process never waits for its reader."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


def _next_line(lines: "queue.SimpleQueue[str | None]") -> str | None:
    """The next line; None when the process has closed its output or says nothing."""
    try:
        return lines.get(timeout=START_DEADLINE)
    except queue.Empty:
        return None
