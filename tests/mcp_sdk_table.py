"""The official SDKs of MCP and the reference servers, installed out of locks.

They are kept in `.run`, under a name that says what is locked: only the first test
that wants them installs them.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fetching import fetch
from spec.redlane_home import wait_for

__all__ = ["CLIENTS", "FILES", "SERVERS", "Client", "Sdks", "installed"]

_SOURCES = Path(__file__).with_name("mcp_sdks")
_LOCKS = ("package.json", "package-lock.json", "python-1.txt", "python-2.txt")
_PYTHON = (sys.executable, "-S")  # it sees what PYTHONPATH says, and nothing else
SERVERS = ("everything", "filesystem", "memory", "modern")
FILES = "files"
_LARGE = 1_200_000
_NODE = 20


@dataclass(frozen=True)
class Client:
    """A client on one of the SDKs."""

    id: str
    program: tuple[str, ...]
    path: str = ""


CLIENTS = (
    Client("python-1", (*_PYTHON, str(_SOURCES / "client_1.py")), "python-1"),
    Client("python-2", (*_PYTHON, str(_SOURCES / "client_2.py")), "python-2"),
    Client("typescript-1", ("node", str(_SOURCES / "client.mjs"), "1")),
    Client("typescript-2", ("node", str(_SOURCES / "client.mjs"), "2")),
)


@dataclass(frozen=True)
class Sdks:
    """Where they are installed."""

    directory: Path

    def server(self, name: str, files: Path) -> tuple[str, ...]:
        """The command of a server over standard input and output."""
        if name == "modern":
            path = f"PYTHONPATH={self.directory / 'python-2'}"
            return ("/usr/bin/env", path, *_PYTHON, str(_SOURCES / "server_2.py"))
        package = f"@modelcontextprotocol/server-{name}"
        program = self.directory / "node_modules" / package / "dist" / "index.js"
        return ("node", str(program), *([str(files)] if name == "filesystem" else []))

    @contextlib.contextmanager
    def served(self, name: str, transport: str, place: Path) -> Iterator[str]:
        """A server that speaks HTTP, on a port of its choice; its URL."""
        options = {"http": "streamableHttp", "sse": "sse"}
        option = "http" if name == "modern" else options[transport]
        process = subprocess.Popen(
            [*self.server(name, place), option],
            env={**self.environment(None, place), "PORT": "0"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = wait_for(lambda: _listening(process.pid), 30)
            yield f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
        finally:
            process.kill()
            process.wait()

    def through(
        self, client: Client, server: str, place: Path, way: tuple[str, ...]
    ) -> list[Any]:
        """What the client is told by a server of its own; `way` stands before it."""
        return self.run(
            client, server, place, (*way, *self.server(server, place / FILES))
        )

    def run(
        self, client: Client, server: str, place: Path, words: tuple[str, ...]
    ) -> list[Any]:
        """What the client is told of every case, where the words lead it.

        HOME is the parent of `place`, which is made anew.
        """
        files = _files(place)
        cases = json.loads((_SOURCES / "cases.json").read_text("utf-8"))[server]
        listed = place / "cases.json"
        listed.write_text(json.dumps(cases).replace("FILES", str(files)))
        done = subprocess.run(
            [*client.program, str(listed), *words],
            env=self.environment(client, place),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = [json.loads(line) for line in done.stdout.split("\n") if line]
        assert len(told) == len(cases) + 1
        return told

    def environment(self, client: Client | None, place: Path) -> Mapping[str, str]:
        """What the client, or a server that runs by itself, is started with."""
        path = client.path if client else ""
        python = {"PYTHONPATH": str(self.directory / path)}
        return {
            "HOME": str(place.parent),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "SDKS": str(self.directory),
            "MEMORY_FILE_PATH": str(place / "memory.jsonl"),
            **(python if path else {}),
        }


def _listening(pid: int) -> int | None:
    """The TCP port that a process listens on."""
    sockets = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # it is closed by now
            sockets.add(str(each.readlink()))
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                return int(fields[1].rpartition(":")[2], 16)
    return None


def _files(place: Path) -> Path:
    """What the servers work on, as it is at first."""
    shutil.rmtree(place, ignore_errors=True)
    files = place / FILES
    files.mkdir(parents=True)
    (files / "b.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (files / "large.txt").write_text("a line of it\n" * (_LARGE // 13))
    return files


@contextlib.contextmanager
def installed(root: Path) -> Iterator[Sdks | str]:
    """The SDKs below `root`, or why they cannot be installed."""
    locks = b"".join((_SOURCES / name).read_bytes() for name in _LOCKS)
    digest = hashlib.sha256(locks + sys.version.encode()).hexdigest()[:16]
    directory = root / f"mcp-sdks-{digest}"
    with contextlib.ExitStack() as stack:
        try:
            _check_node()
            if not directory.is_dir() and not os.access(root.parent, os.W_OK):
                # The working copy is not ours to write in.
                temporary = tempfile.TemporaryDirectory(prefix="mcp-sdks-")
                directory = Path(stack.enter_context(temporary)) / directory.name
            if not directory.is_dir():
                directory.parent.mkdir(exist_ok=True)
                with directory.with_suffix(".lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    if not directory.is_dir():
                        _install(directory)
        except (OSError, subprocess.SubprocessError) as error:
            yield str(error)
            return
        yield Sdks(directory)


def _check_node() -> None:
    """Raise OSError when there is no Node that the SDKs run on."""
    said = subprocess.run(["node", "--version"], capture_output=True, check=True)
    major = said.stdout.decode().removeprefix("v").partition(".")[0]
    if int(major) < _NODE:
        raise OSError(f"Node {major} is older than {_NODE}")


def _install(directory: Path) -> None:
    """Make the directory, whole or not at all."""
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix="mcp-sdks-") as made:
        new = Path(made) / "new"
        new.mkdir()
        for name in _LOCKS:
            shutil.copy(_SOURCES / name, new)
        npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        fetch(*npm, directory=new)
        for each in ("python-1", "python-2"):
            pip = ["pip", "install", "--quiet", "--disable-pip-version-check"]
            locked = ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
            where = ["--target", each, "--requirement", f"{each}.txt"]
            fetch(sys.executable, "-m", *pip, *locked, *where, directory=new)
        new.rename(directory)
