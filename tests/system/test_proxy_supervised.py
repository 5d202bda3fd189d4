"""The proxy and sessions whose system calls are judged: the only road, and its keys."""

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from spec.redlane_home import Home

pytest.importorskip("mitmproxy")
pytest.importorskip("redlane_context_syscall")

PAGE = Path(__file__).parents[2] / "docs" / "network.md"
FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"
CONNECT = (
    "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
)


class Page(BaseHTTPRequestHandler):
    """Answers every request alike."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def origin() -> Iterator[int]:
    """The port of a server of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def guarded(home: Home) -> Home:
    """A daemon whose role is that of the manual, with the address of its proxy."""
    home.settings(tls={"intercept": True})
    home.role("supervised", "no-rm")
    home.start("--role", "supervised")
    told = home.run("run", "--", "printenv", "HTTP_PROXY").out
    address = told.strip().strip("/").rpartition("@")[2]
    (block,) = re.findall(r"```json policy\n(.*?)```", PAGE.read_text(), re.DOTALL)
    allowed = {
        "id": "the-proxy",
        "type": "Regex",
        "action": "Allow",
        "context": "Syscall",
        "syscall": ["connect"],
        "pattern": f"^{re.escape(address)}$",
    }
    opens = {**allowed, "id": "opens", "action": "Block", "syscall": ["open", "openat"]}
    policies = [json.loads(block), allowed, {**opens, "pattern": "^/never$"}]
    home.policies(*policies, file="network.json")
    home.role("supervised", *(str(each["id"]) for each in policies))
    assert home.run("reload").code == 0
    return home


def test_the_proxy_is_the_only_road(guarded: Home, origin: int) -> None:
    words = ("run", "--", sys.executable, "-c")

    through = guarded.run(*words, FETCH, f"http://127.0.0.1:{origin}/")
    past = guarded.run(*words, CONNECT, str(origin))

    assert (through.code, through.out) == (0, "hello\n"), through
    assert past.code == 1
    assert "PermissionError" in past.err


@pytest.mark.parametrize("name", ["ca/key.pem", "run/proxy.key"])
def test_no_agent_reads_or_replaces_a_key(guarded: Home, name: str) -> None:
    assert guarded.run("run", "--", "true").code == 0
    path = guarded.dir / name
    before = path.read_bytes()
    for script in ('cat "$0"', 'echo > "$0"', 'rm -f "$0"', 'mv "$0" "$0.old"'):
        ran = guarded.run("run", "--", "dash", "-c", script, path)
        assert ran.code != 0, script
        assert ran.out == "", script
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["cert.pem", "bundle.pem"])
def test_agents_read_certificates_and_replace_none(guarded: Home, name: str) -> None:
    assert guarded.run("run", "--", "true").code == 0
    path = guarded.dir / "ca" / name
    assert guarded.run("run", "--", "cat", path).out == path.read_text()
    assert guarded.run("run", "--", "dash", "-c", 'echo > "$0"', path).code != 0
    assert path.read_text()
