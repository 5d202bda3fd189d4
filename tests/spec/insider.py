"""A process inside a session that asks the control API for more than it may.

Usage: insider.py MODE SOCKET REQUESTS RESULT [FORGED-SESSION]. REQUESTS is a JSON file
of [method, path, body]; OWN in it stands for the session's own id. RESULT gets one
[status, text] for each. MODE is the trick that is tried:

plain      none
cleared    an environment without variables
forged     an environment that names another session and socket
orphan     a process whose parents have ended
survivor   a process that outlives the agent
abandoned  a process whose supervisor was killed
ghost      a connection that was made by a process that is no more
waiting    none, after a line on standard input
"""

import http.client
import json
import os
import signal
import socket as sockets
import sys
import time
from collections.abc import Callable
from pathlib import Path

from control_client import Control  # type: ignore[import-not-found]  # beside this file


def main(mode: str, socket: str, requests: str, result: str, *forged: str) -> None:
    """Ask all requests in the way that `mode` says."""
    text = Path(requests).read_text()
    if "OWN" in text:
        Path(requests).write_text(text.replace("OWN", os.environ["REDLANE_SESSION"]))
    if mode in ("cleared", "forged"):
        _ask_with_another_environment(mode, socket, requests, result, *forged)
    elif mode == "orphan":
        _orphan(lambda: _ask(socket, requests, result))
        _wait_for(lambda: Path(result).exists())
    elif mode in ("survivor", "abandoned"):
        _survive(lambda: _ask(socket, requests, result), kill=mode == "abandoned")
    elif mode == "ghost":
        _ask_as_a_ghost(socket, requests, result)
    else:
        if mode == "waiting":
            print("ready", flush=True)  # noqa: T201  # tells the test
            sys.stdin.readline()
        _ask(socket, requests, result)


def _ask_with_another_environment(mode: str, *args: str) -> None:
    environ = {}
    if mode == "forged":
        environ = {"REDLANE_SESSION": args[-1], "REDLANE_SOCKET": "/nonexistent"}
    program = [sys.executable, __file__, "plain", *args[:3]]
    os.execve(sys.executable, program, environ)


def _orphan(action: Callable[[], None]) -> None:
    """Run `action` in a process that nobody above it has started any more."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    _wait_for(lambda: os.getppid() != middle)
    action()
    os._exit(0)


def _survive(action: Callable[[], None], *, kill: bool) -> None:
    """Run `action` in a process that stays when the agent, or all above, has ended."""
    agent, supervisor = os.getpid(), os.getppid()
    survivor = os.fork()
    if survivor:
        print(survivor, flush=True)  # noqa: T201  # tells the test
        if kill:
            os.kill(supervisor, signal.SIGKILL)
        return
    os.setsid()
    for stream in (0, 1, 2):
        os.close(stream)
    _wait_for(lambda: os.getppid() != agent)
    adopted = os.getppid()
    _wait_for(lambda: os.getppid() != adopted, seconds=3)
    action()
    os._exit(0)


def _ask_as_a_ghost(path: str, requests: str, result: str) -> None:
    """Ask over connections that a child has made before it ended."""
    answers: list[list[object]] = []
    for method, route, body in json.loads(Path(requests).read_text()):
        mine, childs = sockets.socketpair()
        child = os.fork()
        if not child:
            connection = sockets.socket(sockets.AF_UNIX)
            connection.connect(path)
            sockets.send_fds(childs, [b"x"], [connection.fileno()])
            os._exit(0)
        _, (number,), _, _ = sockets.recv_fds(mine, 1, 1)
        os.waitpid(child, 0)
        data = json.dumps(body).encode()
        with sockets.socket(fileno=number) as connection:
            connection.sendall(
                f"{method} {route} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                "Content-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n".encode()
                + data
            )
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except OSError:
                pass
        status = int(answer.split()[1]) if answer else 0
        answers.append([status, answer.decode(errors="replace")])
    _write(result, answers)


def _wait_for(probe: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not probe() and time.monotonic() < deadline:
        time.sleep(0.01)


def _ask(socket: str, requests: str, result: str) -> None:
    control = Control(Path(socket))
    answers: list[list[object]] = []
    for method, path, body in json.loads(Path(requests).read_text()):
        try:
            answer = control.call(method, path, body)
            answers.append([answer.status, answer.text])
        except (OSError, http.client.HTTPException) as error:
            answers.append([0, repr(error)])
    _write(result, answers)


def _write(result: str, answers: list[list[object]]) -> None:
    partial = Path(result + ".part")
    partial.write_text(json.dumps(answers))
    partial.rename(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
