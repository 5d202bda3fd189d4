"""A user's home directory for one test, and the console scripts run in it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from preloaded import run_preloaded
from spec.control_client import Control, peer_pid

__all__ = ["REDLANE", "REDLANE_SH", "Checked", "Home", "Ran", "wait_for"]

SCRIPTS = Path(sys.executable).parent
REDLANE = SCRIPTS / "redlane"
REDLANE_SH = SCRIPTS / "redlane-sh"
OPENER = Path(__file__).with_name("opener.py")
DEADLINE = 60.0
"""Seconds after which a command that has not ended is a failure."""

PRELOADED = frozenset(
    b"config events plugins reload review session start status stop validate".split()
)
"""Commands that are forked from a process that has imported them."""

Found = TypeVar("Found")


def wait_for(probe: Callable[[], Found | None], seconds: float = 20.0) -> Found:
    """What `probe` returns once it is true; fails at the deadline."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        found = probe()
        if found:
            return found
        assert time.monotonic() < deadline, f"nothing after {seconds} s"
        pause.wait(0.02)


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be JSON."""
        return json.loads(self.out)

    @property
    def said(self) -> str:
        """Both streams."""
        return self.out + self.err

    @property
    def refusal(self) -> str:
        """The one line on standard error that says what is wrong."""
        assert "Traceback" not in self.said, self
        assert self.code != 0, self
        lines = self.err.splitlines()
        assert len(lines) == 1, self
        assert lines[0].startswith("redlane: "), self
        return lines[0]


def _ran(code: int, out: bytes, err: bytes) -> Ran:
    strange = "surrogateescape"
    return Ran(code, out.decode(errors=strange), err.decode(errors=strange))


@dataclass(frozen=True)
class Checked:
    """What `config check --json` found."""

    code: int
    errors: list[dict[str, str]]
    warnings: list[dict[str, str]]
    policies: int
    roles: int

    def errors_in(self, file: str) -> list[dict[str, str]]:
        """The errors of the file of that name."""
        return [each for each in self.errors if Path(each["file"]).name == file]

    def warnings_in(self, file: str) -> list[dict[str, str]]:
        """The warnings of the file of that name."""
        return [each for each in self.warnings if Path(each["file"]).name == file]


class Home:
    """A HOME with policies, roles and settings, and nothing of the real one."""

    def __init__(self, base: Path) -> None:
        """An empty home below `base`."""
        self.user = base / "home"
        self.user.mkdir()
        self.dir = self.user / ".redlane"
        self.dir.mkdir()
        self.legacy = self.user / ".config" / "redlane" / "policies.json"
        self.env = {
            "HOME": str(self.user),
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "LANG": "C.UTF-8",
        }

    @property
    def control(self) -> Control:
        """The control API of this home's daemon."""
        return Control(self.dir / "run" / "control.sock")

    def write(self, name: str | Path, data: object) -> Path:
        """Write a file below the Redlane directory: bytes, text, or JSON."""
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            path.write_bytes(data)
        else:
            text = data if isinstance(data, str) else json.dumps(data)
            path.write_text(text, encoding="utf-8")
        return path

    def policies(self, *policies: object, file: str = "policies.json") -> Path:
        """Write a policy file with an array."""
        return self.write(f"policies/{file}", list(policies))

    def role(self, name: str, *policies: str, **fields: object) -> Path:
        """Write a role of its own file."""
        role = {"name": name, "policies": list(policies), **fields}
        return self.write(f"roles/{name}.json", role)

    def settings(self, **settings: object) -> Path:
        """Write settings.json."""
        return self.write("settings.json", settings)

    def run(
        self,
        *args: str | bytes | Path,
        program: Path = REDLANE,
        stdin: str | bytes = b"",
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> Ran:
        """Run a console script to its end; an `env` value of None removes a name."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        words = [os.fsencode(each) for each in args]
        if program == REDLANE and env is None and self._is_ordinary(words):
            code, out, err = run_preloaded(
                [os.fsencode(program), *words], data, self.env, self.user, DEADLINE
            )
            return _ran(code, out, err)
        done = subprocess.run(
            [program, *args],
            input=data,
            capture_output=True,
            env=self.environment(env),
            cwd=cwd or self.user,
            timeout=DEADLINE,
            check=False,
        )
        return _ran(done.returncode, done.stdout, done.stderr)

    def _is_ordinary(self, words: list[bytes]) -> bool:
        """Whether a command starts as any other does: Python is told nothing odd."""
        telling = ("PYTHON", "LC_", "LD_")
        is_told = any(name.startswith(telling) for name in self.env)
        return bool(words) and words[0] in PRELOADED and not is_told

    def shell(self, *args: str | bytes | Path, **more: Any) -> Ran:
        """Run the shell wrapper to its end."""
        return self.run(*args, program=REDLANE_SH, **more)

    def spawn(
        self,
        *args: str | Path,
        program: Path = REDLANE,
        env: Mapping[str, str | None] | None = None,
        stdin: int = subprocess.DEVNULL,
    ) -> "subprocess.Popen[str]":
        """Start a console script and leave it running; the caller ends it."""
        return subprocess.Popen(
            [program, *args],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(env),
            cwd=self.user,
            text=True,
        )

    def environment(
        self, env: Mapping[str, str | None] | None = None
    ) -> dict[str, str]:
        """The environment of commands in this home."""
        merged = {**self.env, **(env or {})}
        return {name: value for name, value in merged.items() if value is not None}

    def check(self) -> Checked:
        """Run `config check --json`."""
        ran = self.run("config", "check", "--json")
        assert "Traceback" not in ran.err, ran
        return Checked(ran.code, **ran.json)

    def validate(
        self,
        content: object,
        role: str | None = None,
        context: str | None = None,
    ) -> Ran:
        """Run `validate`; content that cannot be an argument goes to stdin."""
        data = content
        if not isinstance(data, str | bytes):
            data = json.dumps(data)
        options: list[str] = []
        if role is not None:
            options += ["-r", role]
        if context is not None:
            options += ["-C", context]
        unfit = isinstance(data, bytes) or "\0" in data or data.startswith("-")
        if unfit or len(data) > 100_000:
            return self.run("validate", "-", *options, stdin=data)
        return self.run("validate", data, *options)

    def verdict(
        self, content: object, role: str | None = None, context: str | None = None
    ) -> dict[str, Any]:
        """The verdict object of `validate`, with its exit code checked."""
        ran = self.validate(content, role, context)
        assert "Traceback" not in ran.err, ran
        assert ran.code in (0, 1), ran
        body = ran.json
        assert isinstance(body, dict), ran
        assert ran.code == (1 if body["verdict"] == "BLOCK" else 0), ran
        return body

    def start(self, *args: str) -> Ran:
        """Start the daemon, which must succeed."""
        ran = self.run("start", *args)
        assert ran.code == 0, ran
        return ran

    @contextmanager
    def opened_session(self, role: str | None = None) -> Iterator[dict[str, Any]]:
        """A session that another process has opened over the API, while it lives.

        The process that asks is the session's first, so no test may ask itself.
        """
        opener = subprocess.Popen(
            [sys.executable, OPENER, self.control.socket, json.dumps(role)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with opener:
            assert opener.stdout is not None
            status, body = json.loads(opener.stdout.readline())
            assert status in (200, 201), body
            yield body
            opener.kill()

    def stop(self) -> None:
        """Stop the daemon if there is one, by force if it must be."""
        pid = peer_pid(self.control.socket)
        if pid is None:
            return
        try:
            self.run("stop")
        finally:
            if peer_pid(self.control.socket) == pid:
                os.kill(pid, signal.SIGKILL)

    def everything_said(self, ran: Ran) -> str:
        """A command's streams and every log file, to search for a warning."""
        files = [each for each in self.dir.rglob("*") if each.is_file()]
        logs = [each for each in files if {"logs", "run"} & set(each.parts)]
        return ran.said + "".join(each.read_text(errors="replace") for each in logs)
