"""Proxies to measure, each with a client behind it and the processes that it takes."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from corpus import regexes, substrings
from peers import free_port

__all__ = ["Origin", "Proxy", "bare", "origin", "redlane"]

CLIENT = Path(__file__).with_name("proxy_client.py")
PROGRAMS = Path(sys.executable).parent
TICK = os.sysconf("SC_CLK_TCK")
SECONDS_TO_START = 30


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the origin listens, and who signs for it."""

    plain: int
    secure: int
    authority: Path


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, its processes, and a client behind it.

    `serving` is the process that handles the connections.
    """

    name: str
    pids: tuple[int, ...]
    serving: int
    client: "subprocess.Popen[str]"

    def times(
        self, path: str, port: int, *, secure: bool, count: int = 1, keep: bool = False
    ) -> list[tuple[float, float]]:
        """Seconds to the first and to the last byte of so many answers."""
        assert self.client.stdin is not None
        assert self.client.stdout is not None
        told = {"path": path, "port": port, "secure": secure}
        self.client.stdin.write(json.dumps({**told, "count": count, "keep": keep}))
        self.client.stdin.write("\n")
        self.client.stdin.flush()
        line = self.client.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name}: its client has ended")
        return [(first, last) for first, last in json.loads(line)]

    def seconds(self) -> float:
        """The processor time that its processes have taken so far."""
        return sum(map(_seconds_of, self.pids))

    def peak(self) -> int:
        """The most memory that the process of the connections had, in bytes."""
        status = Path(f"/proc/{self.serving}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        return int(found[1]) * 1024 if found else 0


def _seconds_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


@contextmanager
def origin(directory: Path) -> Iterator[Origin]:
    """The origin, in a process of its own."""
    directory.mkdir()
    program = str(Path(__file__).with_name("proxy_origin.py"))
    words = [sys.executable, program, str(directory)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            plain, secure, authority = process.stdout.readline().split()
            yield Origin(int(plain), int(secure), Path(authority))
        finally:
            process.kill()


@contextmanager
def bare(directory: Path, source: Origin) -> Iterator[Proxy]:
    """Mitmproxy as it comes, with the authority of the origin."""
    directory.mkdir()
    port = free_port()
    options = {
        "confdir": directory,
        "ssl_verify_upstream_trusted_ca": source.authority,
    }
    words = [str(PROGRAMS / "mitmdump"), "-q", "--listen-host", "127.0.0.1"]
    words += ["-p", str(port)]
    for name, value in options.items():
        words += ["--set", f"{name}={value}"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            environment = {
                "PATH": os.defpath,
                "HTTP_PROXY": f"http://127.0.0.1:{port}",
                "SSL_CERT_FILE": str(directory / "mitmproxy-ca-cert.pem"),
            }
            with _client([], environment) as client:
                yield Proxy("mitmproxy", (process.pid,), process.pid, client)
        finally:
            process.kill()


@contextmanager
def _client(
    words: list[str], environment: dict[str, str]
) -> Iterator["subprocess.Popen[str]"]:
    """The client, started by some words in some environment."""
    with subprocess.Popen(
        [*words, sys.executable, str(CLIENT)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()


@contextmanager
def redlane(directory: Path, source: Origin, policies: int) -> Iterator[Proxy]:
    """A daemon with so many policies, its proxy, and a session under its one role."""
    directory.mkdir()
    home = directory / ".redlane"
    _write(home, policies)
    environment = {
        "HOME": str(directory),
        "PATH": os.defpath,
        "SSL_CERT_FILE": str(source.authority),
    }
    program = str(PROGRAMS / "redlane")
    words = [program, "start", "--role", "all"]
    subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
    try:
        with _client([program, "run", "--"], environment) as client:
            daemon = json.loads((home / "run" / "daemon.lock").read_text())["pid"]
            serving = _wait_for_child(daemon, b"--listener")
            yield Proxy("redlane", (daemon, serving), serving, client)
    finally:
        words = [program, "stop"]
        subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)


def _write(home: Path, policies: int) -> None:
    """Half substrings, half regular expressions; half for each direction."""
    texts = [("Simple", each) for each in substrings(policies // 2)]
    texts += [("Regex", each) for each in regexes(policies - len(texts))]
    rows = [
        {
            "id": f"p{number}",
            "type": kind,
            "action": "Block",
            "pattern": pattern,
            "context": ("Network", "Inbound")[number % 2],
        }
        for number, (kind, pattern) in enumerate(texts)
    ]
    role = {"name": "all", "policies": [each["id"] for each in rows]}
    for name, document in (("policies", rows), ("roles", role)):
        (home / name).mkdir(parents=True)
        (home / name / "bench.json").write_text(json.dumps(document))
    settings = {"tls": {"intercept": True}}
    (home / "settings.json").write_text(json.dumps(settings))


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the proxy does not start")


def _wait_for_child(parent: int, name: bytes) -> int:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        tasks = Path(f"/proc/{parent}/task").glob("*/children")
        for pid in [pid for each in tasks for pid in each.read_text().split()]:
            if name in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
        time.sleep(0.05)
    raise SystemExit("the daemon has not started its proxy")
