"""What the shell wrapper costs: whole commands, run in turn, against plain bash.

A daemon of its own judges under a role of one policy. The runs are interleaved, so
that whatever else the machine does falls on all of them.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from measure import duration, percentile, print_table, ratio
from own_daemon import SCRIPTS, daemon

from redlane.contexts.shell.running.compiling import compile_programs, compiler_of

RUNS = int(os.environ.get("BENCH_RUNS", "200"))
BASH = ("/bin/bash", "-c", "true")
POLICY = {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"}


def once(words: tuple[str, ...], environment: Mapping[str, str]) -> float:
    """The seconds that one run takes, from before its start to its end."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    pid = os.posix_spawn(words[0], words, environment, file_actions=silent)
    _, status = os.waitpid(pid, 0)
    assert status == 0, words
    return time.perf_counter() - start


def main() -> None:
    """Print the least and the middle of the times, and how many times bash's."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        compile_programs(home / "compiled", compiler_of(os.environ))
        commands = {
            "bash -c true": BASH,
            "redlane-sh": (str(home / "compiled/redlane-sh"), *BASH[1:]),
            "redlane validate": (
                str(SCRIPTS / "redlane"),
                "validate",
                "true",
                "-r",
                "bench",
            ),
        }
        with daemon(home, [POLICY]) as environment:
            times = measure(commands, environment)
    plain = times["bash -c true"]
    rows = [row(name, taken, plain) for name, taken in times.items()]
    print_table(("command", "least", "x bash", "p50", "x bash"), rows)


def measure(
    commands: Mapping[str, tuple[str, ...]], environment: Mapping[str, str]
) -> dict[str, list[float]]:
    """Run each command in turn, many times over; the slow one less often."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(RUNS):
        for name, words in commands.items():
            if run % 20 == 0 or "validate" not in name:
                times[name].append(once(words, environment))
    return times


def row(name: str, taken: list[float], plain: list[float]) -> tuple[str, ...]:
    """One line of the table."""
    middle, reference = percentile(taken, 50), percentile(plain, 50)
    return (
        name,
        *(duration(min(taken)), ratio(min(taken), min(plain))),
        *(duration(middle), ratio(middle, reference)),
    )


if __name__ == "__main__":
    main()
