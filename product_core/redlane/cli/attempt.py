"""What `redlane try` does: a daemon of its own, a guarded shell in it, and the end."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from redlane.client import Client, operations
from redlane.contexts.shell.running.supervisor import Supervisor, end_alike
from redlane.errors import DaemonError, RedlaneError

__all__ = ["attempt"]

_SELF = (sys.executable, "-I", "-m", "redlane")
_START_SECONDS, _STOP_SECONDS = 20.0, 10.0


def attempt(command: str | None, role: str | None) -> int:
    """Run `command`, or a shell, guarded on the starter policies; end as it does."""
    with tempfile.TemporaryDirectory(prefix="redlane-try-") as name:
        home = Path(name)
        os.environ["REDLANE_HOME"] = name
        os.environ["REDLANE_SOCKET"] = str(home / "run" / "control.sock")
        _call("init")
        with _daemon(home):
            status = _run_shell(home / "run" / "bin" / "redlane-sh", command, role)
    end_alike(status)


def _call(*words: str) -> None:
    done = subprocess.run(
        [*_SELF, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RedlaneError(_last_line(done.stderr) or f"redlane {words[0]} failed")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("redlane: ") if lines else ""


@contextmanager
def _daemon(home: Path) -> Iterator[None]:
    """A daemon on `home`, out of reach of the terminal's signals."""
    log = home / "daemon.log"
    with log.open("wb") as output:
        daemon = subprocess.Popen(
            [*_SELF, "start", "--foreground"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_ready(daemon, log)
        yield
    finally:
        daemon.terminate()
        try:
            daemon.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _wait_until_ready(daemon: "subprocess.Popen[bytes]", log: Path) -> None:
    client = Client(Path(os.environ["REDLANE_SOCKET"]), timeout=_START_SECONDS)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            client.send(operations.health())
        except DaemonError as error:
            if daemon.poll() is not None or time.monotonic() > deadline:
                reason = _last_line(log.read_text(errors="replace"))
                raise DaemonError(reason or str(error)) from error
            time.sleep(0.02)
        else:
            return


def _run_shell(wrapper: Path, command: str | None, role: str | None) -> int:
    """Run the wrapper in a session; the wait status is what is returned."""
    words = [str(wrapper)] if command is None else [str(wrapper), "-c", command]
    options = [] if role is None else ["--role", role]
    label = ["--label", "redlane try"]
    before = signal.getsignal(signal.SIGCHLD)
    supervisor = Supervisor([*_SELF, "run", *options, *label, "--", *words])
    supervisor.run()
    signal.signal(signal.SIGCHLD, before)
    return supervisor.status
