"""A process inside a session that asks the control API for more than it may.

Usage: insider.py MODE SOCKET REQUESTS RESULT [FORGED-SESSION]. REQUESTS is a JSON file
of [method, path, body]; OWN in it stands for the session's own id. RESULT gets one
[status, text] for each. MODE is `plain`; `cleared` or `forged`, for an environment
without or with other Redlane variables; or `orphan`, for a process whose parents ended.
"""

import http.client
import json
import os
import sys
import time
from pathlib import Path

from control_client import Control  # type: ignore[import-not-found]  # beside this file


def main(mode: str, socket: str, requests: str, result: str, *forged: str) -> None:
    """Ask all requests in the way that `mode` says."""
    text = Path(requests).read_text()
    if "OWN" in text:
        Path(requests).write_text(text.replace("OWN", os.environ["REDLANE_SESSION"]))
    if mode in ("cleared", "forged"):
        _ask_with_another_environment(mode, socket, requests, result, *forged)
    if mode == "orphan":
        _orphan(lambda: _ask(socket, requests, result))
        _wait_for(result)
        return
    _ask(socket, requests, result)


def _ask_with_another_environment(mode: str, *args: str) -> None:
    environ = {}
    if mode == "forged":
        environ = {"REDLANE_SESSION": args[-1], "REDLANE_SOCKET": "/nonexistent"}
    program = [sys.executable, __file__, "plain", *args[:3]]
    os.execve(sys.executable, program, environ)


def _orphan(action: "object") -> None:
    """Run `action` in a process that nobody above it has started any more."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    middle = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == middle:
        time.sleep(0.01)
    action()  # type: ignore[operator]  # a plain function
    os._exit(0)


def _wait_for(result: str) -> None:
    deadline = time.monotonic() + 60
    while not Path(result).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def _ask(socket: str, requests: str, result: str) -> None:
    control = Control(Path(socket))
    answers = []
    for method, path, body in json.loads(Path(requests).read_text()):
        try:
            answer = control.call(method, path, body)
            answers.append([answer.status, answer.text])
        except (OSError, http.client.HTTPException) as error:
            answers.append([0, repr(error)])
    partial = Path(result + ".part")
    partial.write_text(json.dumps(answers))
    partial.rename(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
