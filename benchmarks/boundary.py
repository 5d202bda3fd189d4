"""What a session costs the programs in it: the same work outside of one, in turn.

A daemon of its own judges under the starter policies' role `developer`. Spawns are
timed by the program that spawns, so that the session's own start does not count; it has
a line of its own.
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
Times = dict[str, tuple[list[float], list[float]]]
"""Of each work the seconds that it took natively, and in a session."""


@contextmanager
def daemon(home: Path) -> Iterator[Mapping[str, str]]:
    """A daemon in `home` under the starter policies; the environment of its clients."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    redlane(environment, "init")
    redlane(environment, "start", "--role", ROLE)
    try:
        yield environment
    finally:
        redlane(environment, "stop")


def in_session(words: Sequence[str]) -> tuple[str, ...]:
    """The words that run some words in a session of its own."""
    return (str(SCRIPTS / "redlane"), "run", "--role", ROLE, "--", *words)


def times_of(
    words: Sequence[str], directory: Path, environment: Mapping[str, str]
) -> list[float]:
    """What each spawn took, told by the program that made them."""
    done = subprocess.run(
        words, env=environment, cwd=directory, stdout=subprocess.PIPE, check=True
    )
    times: list[float] = json.loads(done.stdout)
    return times


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
