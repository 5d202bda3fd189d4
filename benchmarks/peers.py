"""Other Python services that serve documents, each with one of the size asked for.

They are installed from packages into an environment of their own, and started on one
processor on a port that was free. Nothing is counted or verified by any of them.
"""

import base64
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "Peer", "free_port", "peer_environment"]

PINS = Path(__file__).with_name("peers.txt")
SECONDS_TO_START = 60
PYPISERVER_FILE, DEVPI_FILE = 153, 200
"""About how many bytes one file takes on the page of a package."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A running service and the document that it is asked for."""

    name: str
    url: str
    accept: str
    size: int


def peer_environment(place: Path) -> Path:
    """The directory of the peers' programs, installed once under `place`."""
    programs = place / "bin"
    if not (programs / "datasette").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        pip = [str(programs / "python"), "-m", "pip", "--quiet", "install"]
        subprocess.run(
            [*pip, "--requirement", str(PINS)], check=True, stderr=sys.stderr
        )
    return programs


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextmanager
def datasette(programs: Path, place: Path, size: int, cpu: int) -> Iterator[Peer]:
    """A row with a text of that size, as JSON."""
    database = place / "documents.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE documents (id INTEGER PRIMARY KEY, text TEXT)")
        rows = ((number, "x" * size) for number in range(1000))
        connection.executemany("INSERT INTO documents VALUES (?, ?)", rows)
    connection.close()
    port = free_port()
    words = [str(programs / "datasette"), "serve", str(database), "-p", str(port)]
    with _running(words, port, cpu):
        path = "/documents/documents/500.json?_shape=array"
        yield _asked("datasette", f"http://127.0.0.1:{port}{path}", "*/*")


@contextmanager
def pypiserver(programs: Path, place: Path, size: int, cpu: int) -> Iterator[Peer]:
    """The page of a package with so many files."""
    packages = place / "packages"
    packages.mkdir()
    for number in range(size // PYPISERVER_FILE):
        (packages / f"policy-1.{number}.tar.gz").write_bytes(b"x" * number)
    port = free_port()
    words = [str(programs / "pypi-server"), "run", "-i", "127.0.0.1", "-p", str(port)]
    # Its automatic choice is waitress, which devpi-server brought.
    with _running([*words, str(packages)], port, cpu):
        url = f"http://127.0.0.1:{port}/simple/policy/"
        yield _asked("pypiserver", url, "*/*")


@contextmanager
def devpi(programs: Path, place: Path, size: int, cpu: int) -> Iterator[Peer]:
    """The same page of a private index, as JSON."""
    state = str(place / "devpi")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [str(programs / "devpi-init"), "--serverdir", state, "--no-root-pypi"]
    subprocess.run([*start, "--root-passwd", "benchmark"], check=True, **quiet)  # type: ignore[call-overload]
    port = free_port()
    words = [str(programs / "devpi-server"), "--serverdir", state, "--port", str(port)]
    with _running(words, port, cpu):
        base = f"http://127.0.0.1:{port}"
        _fill_devpi(base, size // DEVPI_FILE)
        accept = "application/vnd.pypi.simple.v1+json"
        yield _asked("devpi-server", f"{base}/root/bench/+simple/policy/", accept)


PEERS = (datasette, devpi, pypiserver)
"""Each is called with the programs' directory, an empty one, a size and a processor."""


def _fill_devpi(base: str, files: int) -> None:
    login = json.dumps({"user": "root", "password": "benchmark"}).encode()
    token = _send("POST", f"{base}/+login", login)["result"]["password"]
    secret = base64.b64encode(f"root:{token}".encode()).decode()
    index = json.dumps({"type": "stage", "bases": []}).encode()
    _send("PUT", f"{base}/root/bench", index, secret)
    for number in range(files):
        _send("POST", f"{base}/root/bench/", _upload(number), secret, form=True)


_BOUNDARY = "a-boundary-of-parts"


def _upload(number: int) -> bytes:
    fields = {
        ":action": "file_upload",
        "name": "policy",
        "version": f"1.{number}",
        "metadata_version": "1.2",
        "filetype": "sdist",
        "pyversion": "",
    }
    head = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
    parts = [f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    file = f'{head}"content"; filename="policy-1.{number}.tar.gz"\r\n\r\n{number}\r\n'
    return "".join([*parts, file, f"--{_BOUNDARY}--\r\n"]).encode()


def _send(
    method: str, url: str, body: bytes, secret: str = "", *, form: bool = False
) -> dict[str, dict[str, str]]:
    kind = f"multipart/form-data; boundary={_BOUNDARY}" if form else "application/json"
    headers = {"Content-Type": kind, "Accept": "application/json"}
    if secret:
        headers["X-Devpi-Auth"] = secret
    request = urllib.request.Request(url, body, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
    return json.loads(text) if text.startswith(b"{") else {}


def _asked(name: str, url: str, accept: str) -> Peer:
    """The peer, once it has answered: that is when the size is known."""
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return Peer(name, url, accept, len(answer.read()))


@contextmanager
def _running(words: Sequence[str], port: int, cpu: int) -> Iterator[None]:
    """A server on one processor, until the block ends."""
    server = subprocess.Popen(
        ["taskset", "--cpu-list", str(cpu), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, server)
        yield
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):
            server.wait(10)
        server.kill()
        server.wait()


def _wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < end and server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{server.args} did not start")
