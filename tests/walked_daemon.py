"""A daemon's objects in this process, and the files that one question goes through.

A file is on the way of a question when one of its functions is at work, directly or
through others, at a station: the question is read, its content is made, a matcher is
asked, the event is written, the answer is made.
"""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from spec.redlane_home import Home

from redlane.control.app import shell_service
from redlane.daemon.container import build
from redlane.daemon.options import Options
from redlane.daemon.rules import Rules
from redlane.judging.shell_socket import ShellSocket
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load

__all__ = ["CALL", "COMMAND", "Walk", "walked_daemon"]

ROOT = Path(__file__).parents[1]
_CORE = ROOT / "product_core" / "redlane"
_PLUGINS = ROOT / "plugins"
_ALWAYS = {"match": "answers", "state/events.py": "append"}
COMMAND = {
    **_ALWAYS,
    "wire/shell_frames.py": "read_frame",
    "contexts/shell/content.py": "__init__",
    "judging/shell_answers.py": "shell_answer",
}
"""The stations of a shell command: in each file, the function that makes one."""

CALL = {
    **_ALWAYS,
    "wire/question.py": "read_question",
    "contexts/mcp/content.py": "from_json",
    "judging/answers.py": "answer_of",
}
"""Those of a tool's call, on a connection that stands."""


class Walk:
    """What is asked over the socket at `path`, and which way it goes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[str, None] = {}
        self.stations: set[str] = set()
        self._stations: Mapping[str, str] = {}

    def look(self, frame: FrameType, event: str, _: object) -> None:
        """Profile: keep the files of the stack at each station."""
        if not self._stations or event != "call":
            return
        name = _name(frame)
        if frame.f_code.co_name != self._stations.get(name):
            return
        self.stations.add(name)
        stack: list[str] = []
        at: FrameType | None = frame
        while at is not None:
            stack.append(_name(at))
            at = at.f_back
        self.files |= dict.fromkeys(filter(None, reversed(stack)))

    def ask(self, stations: Mapping[str, str], program: str, *words: str) -> str:
        """Run `program`, a Python text, twice: only the second time is looked at."""
        self.files, self.stations = {}, set()
        command = [sys.executable, "-c", program, str(self.path), *words]
        for self._stations in ({}, stations):
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        self._stations = {}
        return done.stdout


def _name(frame: FrameType) -> str:
    """A file of the core by its path, one of a match type's by that; "" for others."""
    path = Path(frame.f_code.co_filename)
    if path.is_relative_to(_CORE):
        return str(path.relative_to(_CORE))
    return "match" if path.is_relative_to(_PLUGINS) else ""


@contextmanager
def walked_daemon(home: Home, role: str) -> Iterator[Walk]:
    """Serve questions as the daemon of `home` does, in threads of this process."""
    environ = {**os.environ, **home.environment({})}
    paths = Paths.from_environment(environ)
    paths.run.mkdir(parents=True, mode=0o700)
    plugins = find_plugins()
    rules = Rules(lambda: load(paths, plugins), load(paths, plugins))
    parts = build(paths, Options(role=role), rules, environ, booted_since=False)
    walk = Walk(paths.run / "walked.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(walk.path))
        listener.listen()
        served = ShellSocket(
            listener,
            walk.path,
            shell_service(parts).answer,
            parts.reviews.cancel,
            parts.members.serve,
        )
        threading.setprofile(walk.look)
        try:
            served.start()
            yield walk
        finally:
            threading.setprofile(None)  # type: ignore[arg-type]  # as sys.setprofile
            served.drain(shared=False)
            served.wait(20)
            parts.members.close()
            parts.release_waiters()
            parts.close()
