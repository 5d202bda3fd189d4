"""Process trees for tests: programs that do as they are told over a pipe.

Run as a program, this is an actor: it reads a command a line on standard input and
answers each with a line, so that tests never have to guess when something has happened.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["Actor", "actor", "below", "request"]

_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36


class Actor:
    """A process that does what it is told and says when it is done."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Talk to an actor that has just been started."""
        self.process = process

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def ask(self, *command: str) -> Any:
        """Send a command and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the actor ended at {command}"
        return json.loads(line)

    def call(
        self,
        where: str,
        socket: str,
        method: str,
        path: str,
        body: str,
        begun: str = "",
    ) -> Any:
        """An HTTP request by a process: `self`, `child`, or `orphan`.

        `begun` is sent before it.
        """
        return self.ask("call", where, socket, method, path, body, begun)


@contextmanager
def actor(*arguments: str) -> Iterator[Actor]:
    """Start an actor; it and all below it are killed in the end."""
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield Actor(process)
    finally:
        for pid in (process.pid, *below(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def below(pid: int) -> list[int]:
    """The processes below one that is there: those in groups of their own, too."""
    found = [pid]
    for each in found:
        with suppress(OSError):
            for task in Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found[1:]


def _prctl(option: int, argument: object) -> None:
    result = ctypes.CDLL(None).prctl(option, argument, 0, 0, 0)
    assert result == 0


def request(
    socket_path: str, method: str, path: str, body: str, begun: str = ""
) -> list[object]:
    """Status and body of one HTTP request; `begun` is sent before it."""
    import http.client  # noqa: PLC0415  # in the child alone
    import socket  # noqa: PLC0415

    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(30)
    connection.sock.connect(socket_path)
    connection.sock.sendall(begun.encode())
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body.encode() or None, headers)
    response = connection.getresponse()
    answer = [response.status, response.read().decode()]
    connection.close()
    return answer


def _in_child(argument: list[str], *, orphan: bool) -> list[object]:
    """Make the request in a child, or in a grandchild whose parent has gone."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        if orphan:
            os.setsid()
            middle = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == middle:
                os.sched_yield()
        with os.fdopen(writing, "w") as stream:
            json.dump(request(*argument), stream)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        answer: list[object] = json.load(stream)
    os.waitpid(child, 0)
    return answer


def _do(command: list[str]) -> object:
    verb, *rest = command
    return _VERBS[verb](*rest)


def _call(where: str, *argument: str) -> list[object]:
    if where == "self":
        return request(*argument)
    return _in_child(list(argument), orphan=where == "orphan")


def _fork() -> int:
    child = os.fork()
    if child == 0:
        signal.pause()
    return child


def _supervised() -> list[int]:
    """A supervisor below this process, and a sleeper below that; their ids."""
    reading, writing = os.pipe()
    supervisor = os.fork()
    if supervisor == 0:
        _do(["reap"])
        _do(["name", "redlane-run"])
        os.write(writing, str(_detached()).encode())
        signal.pause()
    sleeper = int(os.read(reading, 32))
    os.close(reading)
    os.close(writing)
    return [supervisor, sleeper]


def _detached() -> int:
    """A sleeping grandchild whose parent has gone; its id."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        if grandchild == 0:
            os.setsid()
            signal.pause()
        os.write(writing, str(grandchild).encode())
        os._exit(0)
    os.waitpid(child, 0)
    found = int(os.read(reading, 32))
    os.close(reading)
    os.close(writing)
    return found


def _command(environ: str, program: str, *arguments: str) -> list[object]:
    """Run a console script; its exit status and standard error."""
    done = subprocess.run(
        [Path(sys.executable).parent / program, *arguments],
        env=json.loads(environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return [done.returncode, done.stderr]


_VERBS: dict[str, Callable[..., object]] = {
    "command": _command,
    "call": _call,
    "name": lambda name: _prctl(_PR_SET_NAME, name.encode()),
    "reap": lambda: _prctl(_PR_SET_CHILD_SUBREAPER, 1),
    "fork": _fork,
    "detach": _detached,
    "supervise": _supervised,
    "run": lambda program: subprocess.Popen([sys.executable, "-c", program]).pid,
}


def _main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_do(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
