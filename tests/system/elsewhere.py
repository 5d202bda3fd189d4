"""Another machine: a network of its own at the other end of a wire, with servers.

`HOST` has three: of HTTP, one that speaks first, and none at `NOBODY`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FIRST", "HOST", "HTTP", "NOBODY", "other_machine"]

_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_NEAR, HOST = (f"198.51.100.{4 * _WORKER + each}" for each in (1, 2))
"""Of a net for documentation (RFC 5737): each worker has a wire of its own."""

HTTP, FIRST, NOBODY = 80, 22, 81
_SERVERS = """
import socket, sys, threading
print(flush=True)
sys.stdin.readline()
def serve(port, answer):
    with socket.create_server(("", port), backlog=128) as server:
        print(flush=True)
        while True:
            client = server.accept()[0]
            threading.Thread(target=answer, args=[client], daemon=True).start()
def page(client):
    with client:
        while b"\\r\\n\\r\\n" not in client.recv(9000):
            pass
        client.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: 6\\r\\n\\r\\nthere\\n")
def greeting(client):
    with client:
        client.sendall(b"hello\\r\\n")
        client.sendall(b"said: " + client.recv(99))
for port, answer in ((int(sys.argv[1]), page), (int(sys.argv[2]), greeting)):
    threading.Thread(target=serve, args=[port, answer], daemon=True).start()
sys.stdin.read()
"""


@contextmanager
def other_machine() -> Iterator[None]:
    """One that this machine reaches, as long as the block lasts; for root."""
    words = ["unshare", "-n", sys.executable, "-c", _SERVERS, str(HTTP), str(FIRST)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        try:
            process.stdout.readline()
            _join(process.pid)
            process.stdin.write("\n")
            process.stdin.flush()
            for _ in (HTTP, FIRST):
                process.stdout.readline()
            yield
        finally:
            process.stdin.close()


def _join(pid: int) -> None:
    """A wire to the network of a process, which ends with it."""
    wire, there = f"wire{pid}", ("nsenter", "-t", str(pid), "-n")
    for words in (
        ("ip", "link", "add", wire, "type", "veth", "peer", "end", "netns", str(pid)),
        ("ip", "address", "add", f"{_NEAR}/30", "dev", wire),
        ("ip", "link", "set", wire, "up"),
        (*there, "ip", "address", "add", f"{HOST}/30", "dev", "end"),
        (*there, "ip", "link", "set", "end", "up"),
    ):
        subprocess.run(words, check=True)
