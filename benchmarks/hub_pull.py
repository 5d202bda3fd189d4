"""Pulling a set of 200 signed artifacts, against the bare requests for them.

    .venv/bin/python benchmarks/hub_pull.py

The floor is the same requests with http.client, over one connection, in the same run:
nothing is read of what comes. The pull is the whole command, from its start, in a home
without anything. Both take turns: on this machine, where the command's own start is
most of it, and over a way of 5 ms and back, as to a hub elsewhere in town.
"""

import http.client
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from measure import duration, percentile, print_table, ratio

from redlane.hubclient import Dependency, Hub, Release
from redlane.hubclient.keys import Keys
from redlane.hubclient.signing import canonical, signed

ARTIFACTS = 200
ROUNDS = 7
EMAIL, PASSWORD = "bench@example.com", "correct horse"
BIN = Path(sys.executable).parent
WAYS = {"here": 0.0, "5 ms away": 0.005}


def main() -> None:
    """Print the table."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name)) as address:
            publish(Path(name), address)
        for way, seconds in WAYS.items():
            floor, whole = measured(Path(name), way, seconds)
            rows += [
                (f"bare requests, {way}", duration(floor), ratio(floor, floor)),
                (f"redlane hub pull, {way}", duration(whole), ratio(whole, floor)),
            ]
    print_table((f"a set of {ARTIFACTS}", "p50", "of the floor"), rows)


def measured(directory: Path, way: str, seconds: float) -> tuple[float, float]:
    """How long the requests and the pull take, over a way of so many seconds."""
    floor, whole = [], []
    for number in range(ROUNDS):
        with (  # anew, for its limit of requests
            serving(directory) as there,
            relayed(there, seconds) as address,
        ):
            floor.append(bare(address))
            whole.append(pull(address, directory / f"{way} {number}"))
    return percentile(floor, 50), percentile(whole, 50)


@contextmanager
def relayed(address: str, seconds: float) -> Iterator[str]:
    """The same hub, so many seconds away, there and back."""
    if not seconds:
        yield address
        return
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):  # closed, in the end
                while True:
                    near, far = (
                        server.accept()[0],
                        socket.create_connection((host, port)),
                    )
                    for ends in ((near, far), (far, near)):
                        start(carry, *ends, seconds / 2)

        start(serve)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def carry(one: socket.socket, other: socket.socket, seconds: float) -> None:
    """Pass on what comes, later; an end, too."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with suppress(OSError):
        while data := one.recv(65536):
            time.sleep(seconds)
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)


def start(target: Callable[..., None], *arguments: object) -> None:
    """Run it in a thread that ends with the program."""
    threading.Thread(target=target, args=arguments, daemon=True).start()


@contextmanager
def serving(directory: Path) -> Iterator[str]:
    """The address of a hub that serves."""
    database = ("--database", str(directory / "hub.db"))
    command = [str(BIN / "redlane-hub"), "serve", "--listen", "127.0.0.1:0", *database]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield found[0]
        finally:
            process.terminate()


def publish(directory: Path, address: str) -> None:
    """The set, and what it needs, signed."""
    key = Keys(directory / "keys", lambda _: "").generate("bench", None)
    with Hub(address) as hub:
        hub.register(EMAIL, PASSWORD)
        approve = [str(BIN / "redlane-hub"), "approve", EMAIL]
        database = ["--database", str(directory / "hub.db")]
        subprocess.run([*approve, *database], check=True, stdout=subprocess.DEVNULL)
        hub.login(EMAIL, PASSWORD)
        hub.add_key(b64encode(key.public_key).decode())
        for name in names():
            rule = {"type": "Regex", "pattern": f"^{name}$", "action": "Block"}
            content = canonical([{"id": name, "context": "Shell", **rule}])
            hub.publish(signed(Release(name, "1", content), key))
        members = tuple(Dependency(name, "1", required=True) for name in names())
        whole = Release("whole", "1", "[]", artifact_type="set", dependencies=members)
        hub.publish(signed(whole, key))


def bare(address: str) -> float:
    """How long the requests take."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    places = ["whole/1/resolve", *(f"{name}/1" for name in ("whole", *names()))]
    started = time.perf_counter()
    for place in places:
        connection.request("GET", f"/api/v1/artifacts/{place}")
        answer = connection.getresponse()
        assert answer.status == http.HTTPStatus.OK
        answer.read()
    taken = time.perf_counter() - started
    connection.close()
    return taken


def pull(address: str, home: Path) -> float:
    """How long the command takes."""
    home.mkdir()
    command = [str(BIN / "redlane"), "hub", "pull", "whole@1", "--yes", "--trust-new"]
    environment = {**os.environ, "HOME": str(home), "REDLANE_HUB_URL": address}
    started = time.perf_counter()
    subprocess.run(command, check=True, env=environment, capture_output=True)
    return time.perf_counter() - started


def names() -> list[str]:
    """What the artifacts are called."""
    return [f"rule-{number}" for number in range(ARTIFACTS)]


if __name__ == "__main__":
    main()
