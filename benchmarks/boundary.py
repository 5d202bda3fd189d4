"""What a session costs the programs in it: the same work outside of one, in turn.

A daemon of its own judges under the starter policies' role `developer`. Spawns are
timed by the program that spawns, so that the session's own start does not count; it has
a line of its own. Sockets are used under that role with `"egress": "proxy"`.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import duration, percentile, print_table, ratio
from own_daemon import SCRIPTS, redlane
from workloads import Workload, workloads
from wrapper import once

ROUNDS = int(os.environ.get("BENCH_RUNS", "10"))
SPAWNS = 100
ROLE = "developer"
TIMED = """\
import json, os, sys, time
times, words = [], sys.argv[2:]
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
for _ in range(int(sys.argv[1])):
    start = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ, file_actions=silent)
    _, status = os.waitpid(pid, 0)
    times.append(time.perf_counter() - start)
    assert status == 0, status
print(json.dumps(times))
"""
SPAWNED = {
    "spawn of true": ("/bin/true",),
    "sh -c true": ("/bin/sh", "-c", "true"),
    "bash -c true": ("/bin/bash", "-c", "true"),
}
SOCKETS = """\
import json, socket, sys, threading, time
times = {"connection to loopback": [], "datagram to loopback": []}
server = socket.create_server(("127.0.0.1", 0))
here = server.getsockname()
taker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taker.bind(("127.0.0.1", 0))
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[1])):
    with socket.socket() as client:
        start = time.perf_counter()
        client.connect(here)
        times["connection to loopback"].append(time.perf_counter() - start)
        server.accept()[0].close()
    start = time.perf_counter()
    sender.sendto(b"x", taker.getsockname())
    taker.recv(1)
    times["datagram to loopback"].append(time.perf_counter() - start)
print(json.dumps(times))
"""
LED = "led"
Times = dict[str, tuple[list[float], list[float]]]
"""Of each work the seconds that it took natively, and in a session."""


@contextmanager
def daemon(home: Path) -> Iterator[Mapping[str, str]]:
    """A daemon in `home` under the starter policies; the environment of its clients."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    redlane(environment, "init")
    roles = home / ".redlane" / "roles"
    role = json.loads((roles / f"{ROLE}.json").read_text())
    led = {**role, "name": LED, "egress": "proxy"}
    (roles / f"{LED}.json").write_text(json.dumps(led))
    redlane(environment, "start", "--role", ROLE)
    try:
        yield environment
    finally:
        redlane(environment, "stop")


def in_session(words: Sequence[str], role: str = ROLE) -> tuple[str, ...]:
    """The words that run some words in a session of its own."""
    return (str(SCRIPTS / "redlane"), "run", "--role", role, "--", *words)


def told_by(
    words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> Any:  # noqa: ANN401  # whatever it says
    """What a program says of itself, as JSON."""
    done = subprocess.run(
        words, env=environment, cwd=directory, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def times_of(
    words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> list[float]:
    """What each spawn took, told by the program that made them."""
    times: list[float] = told_by(words, directory, environment)
    return times


def measure_sockets(place: Path, environment: Mapping[str, str], times: Times) -> None:
    """One round of connections and datagrams."""
    program = (sys.executable, "-I", "-c", SOCKETS, str(SPAWNS))
    for number, words in enumerate((program, in_session(program, LED))):
        for name, taken in told_by(words, place, environment).items():
            times.setdefault(name, ([], []))[number].extend(taken)


def measure_spawns(place: Path, environment: Mapping[str, str], times: Times) -> None:
    """One round of spawns."""
    for name, words in SPAWNED.items():
        program = (sys.executable, "-I", "-c", TIMED, str(SPAWNS), *words)
        native, held = times.setdefault(name, ([], []))
        native += times_of(program, place, environment)
        held += times_of(in_session(program), place, environment)


def measure_work(
    works: Sequence[Workload], environment: Mapping[str, str], times: Times
) -> None:
    """One round of programs as they are used, the session's start taken off them."""
    for each in works:
        words = (shutil.which(each.words[0]) or each.words[0], *each.words[1:])
        program = (sys.executable, "-I", "-c", TIMED, "1", *words)
        native, held = times.setdefault(each.name, ([], []))
        for form, taken in ((program, native), (in_session(program), held)):
            each.prepare()
            taken.extend(times_of(form, each.directory, environment))


def main() -> None:
    """Print what each took natively and in a session, and the ratio of the middles."""
    times: Times = {}
    whole: list[float] = []
    with tempfile.TemporaryDirectory() as name, daemon(Path(name)) as environment:
        place = Path(name) / "work"
        place.mkdir()
        works = workloads(place)
        for _ in range(ROUNDS):
            measure_spawns(place, environment, times)
            measure_sockets(place, environment, times)
            measure_work(works, environment, times)
            whole.append(once(in_session(("true",)), environment))
    rows = [row(name, *taken) for name, taken in times.items()]
    middle = percentile(whole, 50)
    rows.append(("redlane run -- true", "-", duration(middle), "-"))
    print_table(("work", "native", "in a session", "ratio"), rows)


def row(name: str, native: list[float], held: list[float]) -> tuple[str, ...]:
    """One line of the table."""
    outside, inside = percentile(native, 50), percentile(held, 50)
    return name, duration(outside), duration(inside), ratio(inside, outside)


if __name__ == "__main__":
    main()
