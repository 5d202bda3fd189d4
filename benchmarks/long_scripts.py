"""Judging a long script, against bash reading it: configure scripts of real packages.

    make corpus && .venv/bin/python benchmarks/long_scripts.py

`first` is what nothing is remembered of, `again` the same command a second time, and
`other` the same script with other arguments, as make gives libtool for each file; all
are under the starter role `developer`. The floor is `bash -n`, which reads the script
and starts nothing. Ratios are between figures of the same run.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measure import duration, print_table, ratio

from redlane.cli.starter import STARTER
from redlane.contexts.shell.content import ShellContent
from redlane.engine.judge import judge
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from scripts.places import CORPUS, distinct

LONG = 400_000
RUNS = 3


def main() -> int:
    """Print the table; 2 when there are no scripts."""
    found = [
        each
        for each in distinct(sorted(CORPUS.rglob("configure")))
        if each.stat().st_size >= LONG
    ]
    if not found:
        print(f"no long scripts in {CORPUS}: `make corpus` fetches them")
        return 2
    gc.set_threshold(50_000, 20, 50)  # as every command of redlane does
    rows = [row(each) for each in found]
    print_table(
        (
            *("script", "MB", "first", "a MB", "again", "other", "bash -n"),
            *("first/floor", "again/", "other/"),
        ),
        rows,
    )
    return 0


def row(script: Path) -> tuple[str, ...]:
    """The line of one script."""
    megabytes = script.stat().st_size / 1e6
    # Each run from another directory is another command: nothing is remembered of it.
    first = least(lambda run: decide(script, f"/tmp/{run}"))
    decide(script, "/", is_handed_on=False)
    again = least(lambda _: decide(script, "/", is_handed_on=False))
    other = least(lambda run: decide(script, "/", f"--for={run}"))
    floor = least(lambda _: read(script))
    return (
        script.relative_to(CORPUS).parts[0],
        f"{megabytes:.2f}",
        duration(first),
        duration(first / megabytes),
        duration(again),
        duration(other),
        duration(floor),
        ratio(first, floor),
        ratio(again, floor),
        ratio(other, floor),
    )


def least(work: Callable[[int], object]) -> float:
    """The shortest of a few times, in seconds: a busy machine only adds to it."""
    taken = []
    for run in range(RUNS):
        start = time.perf_counter()
        work(run)
        taken.append(time.perf_counter() - start)
    return min(taken)


def decide(
    script: Path, directory: str, argument: str = "", *, is_handed_on: bool = True
) -> None:
    """Have the starter role judge the script, as what a recipe runs or as typed."""
    command = f"sh {script} {argument}".encode()
    content = ShellContent(command, cwd=directory, is_handed_on=lambda: is_handed_on)
    judge(RULES, "developer", [content])


def read(script: Path) -> None:
    """Have bash read it."""
    subprocess.run(["bash", "-n", script], check=False, stderr=subprocess.DEVNULL)


_STARTER = Paths(STARTER, STARTER / "none.json", STARTER, STARTER / "none.sock")
RULES = load(_STARTER, find_plugins()).ruleset

if __name__ == "__main__":
    sys.exit(main())
