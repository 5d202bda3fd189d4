"""Pulling a set of 200 signed artifacts, against the bare requests for them.

    .venv/bin/python benchmarks/hub_pull.py

The floor is the same requests with http.client, over one connection, in the same run:
nothing is read of what comes. The pull is the whole command, from its start, in a home
without anything. Both take turns.
"""

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure import duration, percentile, print_table, ratio

from redlane.hubclient import Dependency, Hub, Release
from redlane.hubclient.keys import Keys
from redlane.hubclient.signing import canonical, signed

ARTIFACTS = 200
ROUNDS = 7
EMAIL, PASSWORD = "bench@example.com", "correct horse"
BIN = Path(sys.executable).parent
FLOOR, PULL = "bare requests", "redlane hub pull"


def main() -> None:
    """Print the table."""
    taken: dict[str, list[float]] = {FLOOR: [], PULL: []}
    with tempfile.TemporaryDirectory() as name:
        with serving(Path(name)) as address:
            publish(Path(name), address)
        for number in range(ROUNDS):
            with serving(Path(name)) as address:  # anew, for its limit of requests
                taken[FLOOR].append(bare(address))
                taken[PULL].append(pull(address, Path(name) / str(number)))
    middle = {kind: percentile(times, 50) for kind, times in taken.items()}
    rows = [
        (kind, duration(middle[kind]), ratio(middle[kind], middle[FLOOR]))
        for kind in taken
    ]
    print_table((f"a set of {ARTIFACTS}", "p50", "of the floor"), rows)


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
