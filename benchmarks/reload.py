"""What a reload of 10,000 regular expressions costs, and what it does to verdicts.

The floor is the compilation of the same patterns with RE2 alone, in the same run. A
second thread asks for verdicts throughout: the longest it waits is the longest gap.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import re2
from corpus import regexes
from measure import duration, percentile, print_table, ratio

from redlane.client import Client, operations

POLICIES = 10_000
RELOADS = 3
REDLANE = str(Path(sys.executable).with_name("redlane"))


@contextmanager
def daemon(home: Path) -> Iterator[Client]:
    """A daemon of its own with all the policies in one role."""
    patterns = regexes(POLICIES)
    policies = [
        {"id": f"p{number}", "type": "Regex", "action": "Block", "pattern": pattern}
        for number, pattern in enumerate(patterns)
    ]
    role = {"name": "all", "policies": [each["id"] for each in policies]}
    for name, document in (("policies", policies), ("roles", role)):
        (home / name).mkdir()
        (home / name / "bench.json").write_text(json.dumps(document))
    socket = home / "run" / "control.sock"
    environment = {
        "HOME": str(home),
        "REDLANE_HOME": str(home),
        "PATH": os.defpath,
    }
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [REDLANE, "start", "--role", "all"]
    subprocess.run(start, env=environment, check=True, **silent)  # type: ignore[call-overload]  # options by name
    try:
        yield Client(socket, timeout=60)
    finally:
        subprocess.run([REDLANE, "stop"], env=environment, check=True, **silent)  # type: ignore[call-overload]  # as above


def ask(client: Client, waits: list[float], stop: threading.Event) -> None:
    """Ask for verdicts, one after the other, until told to stop."""
    body = operations.verdict("ls -l")
    while not stop.is_set():
        start = time.perf_counter()
        client.send(body)
        waits.append(time.perf_counter() - start)


def main() -> None:
    """Print the floor, the reloads and the waits of verdicts meanwhile."""
    options = re2.Options()
    options.max_mem = 64 << 20
    start = time.perf_counter()
    compiled = [re2.compile(each.encode(), options) for each in regexes(POLICIES)]
    floor = time.perf_counter() - start
    assert len(compiled) == POLICIES
    waits: list[float] = []
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as name, daemon(Path(name)) as client:
        asking = threading.Thread(target=ask, args=(client, waits, stop))
        asking.start()
        reloads = []
        for _ in range(RELOADS):
            start = time.perf_counter()
            client.send(operations.reload())
            reloads.append(time.perf_counter() - start)
        stop.set()
        asking.join()
    rows = [("RE2 alone compiles them", duration(floor), "1x")]
    for number, taken in enumerate(reloads, 1):
        rows.append((f"reload {number}", duration(taken), ratio(taken, floor)))
    print_table(("10,000 regular expressions", "took", "x floor"), rows)
    print()
    gaps = (percentile(waits, 50), percentile(waits, 99), max(waits))
    heads = ("verdicts meanwhile", "p50", "p99", "longest")
    print_table(heads, [(str(len(waits)), *map(duration, gaps))])


if __name__ == "__main__":
    main()
