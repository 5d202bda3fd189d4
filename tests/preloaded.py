"""The commands without the half second that Python takes to import each.

Each is forked from a process that has imported what the commands need. Commands that
look at how they themselves were started are to be started really.
"""

import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fork_server import ForkServer, serve

__all__ = ["Ended", "run_preloaded"]

Ended = tuple[int, bytes, bytes]
"""The exit status of a command, and what it wrote."""

_IMPORTED = {
    "redlane": (
        "redlane.cli.main",
        "redlane.cli.config",
        "redlane.cli.daemon",
        "redlane.cli.events",
        "redlane.cli.plugins",
        "redlane.cli.reload",
        "redlane.cli.review",
        "redlane.cli.session",
        "redlane.cli.validate",
        "redlane.daemon.service",
        "redlane_match_executable",
        "redlane_match_mcp",
        "redlane_match_ml",
        "redlane_match_regex",
        "redlane_match_simple",
    ),
    "redlane-hub": (
        "redlane_hub.cli.main",
        "redlane_hub.cli.accounts",
        "redlane_hub.cli.backup",
        "redlane_hub.cli.demo_telling",
        "redlane_hub.cli.migrate",
        "redlane_hub.cli.secrets",
        "redlane_hub.cli.settings",
    ),
}
"""What each command imports; the first one has `main`."""
_PROGRAM = "PRELOADED_PROGRAM"


def run_preloaded(
    words: Sequence[str | bytes],
    stdin: bytes,
    env: Mapping[str, str],
    cwd: Path,
    timeout: float,
    program: str = "redlane",
) -> Ended:
    """Run `PROGRAM WORDS…`, as subprocess.run would with its output captured.

    Raises subprocess.TimeoutExpired, once the command has been killed.
    """
    request = {
        "words": [os.fsdecode(each) for each in words],
        "env": dict(env),
        "cwd": os.fspath(cwd),
    }
    (child_in, our_in), (our_out, child_out), (our_err, child_err) = (
        os.pipe() for _ in range(3)
    )
    theirs = (child_in, child_out, child_err)
    head = json.dumps(request).encode(errors="surrogateescape")
    process = _server(program).fork(head, theirs)
    for each in theirs:
        os.close(each)
    streams = _Streams(our_in, stdin, our_out, our_err)
    try:
        status = process.wait(timeout)
        out, err = streams.read(timeout)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(list(words), timeout) from None
    return status, out, err


class _Streams:
    """Feeds a command, and reads what it writes to the end."""

    def __init__(self, to: int, data: bytes, *sources: int) -> None:
        """Start a thread for each pipe; they are closed by those."""
        self._read: list[bytes] = [b""] * len(sources)
        jobs = [threading.Thread(target=self._feed, args=(to, data))]
        jobs += [
            threading.Thread(target=self._drain, args=each)
            for each in enumerate(sources)
        ]
        self._threads = jobs
        for each in jobs:
            each.daemon = True
            each.start()

    def read(self, timeout: float) -> list[bytes]:
        """What has been written, once nobody can write any more."""
        for each in self._threads:
            each.join(timeout)
            if each.is_alive():
                raise TimeoutError
        return self._read

    def _feed(self, to: int, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError), os.fdopen(to, "wb", 0) as stream:
            while data:
                data = data[stream.write(data) or 0 :]

    def _drain(self, number: int, source: int) -> None:
        with os.fdopen(source, "rb") as stream:
            self._read[number] = stream.read()


@cache
def _server(program: str) -> ForkServer:
    env = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", _PROGRAM: program}
    return ForkServer(Path(__file__), env)


def _become(request: Mapping[str, Any]) -> None:
    """Take over words, directory and environment, and open the streams."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    sys.argv[:] = request["words"]
    sys.stdin = _stream(0, "rb", "surrogateescape")
    sys.stdout = _stream(1, "wb", "surrogateescape")
    sys.stderr = _stream(2, "wb", "backslashreplace", line_buffering=True)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr


def _stream(
    number: int, mode: str, errors: str, *, line_buffering: bool = False
) -> io.TextIOWrapper:
    """What Python makes of a pipe when it starts."""
    pipe: Any = open(number, mode)  # noqa: SIM115  # it is closed at the end
    return io.TextIOWrapper(pipe, "utf-8", errors, line_buffering=line_buffering)


if __name__ == "__main__":
    _modules = [*map(importlib.import_module, _IMPORTED[os.environ[_PROGRAM]])]
    _become(json.loads(serve(int(sys.argv[1]))[0]))
    sys.exit(_modules[0].main())
