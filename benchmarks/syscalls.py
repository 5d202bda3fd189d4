"""What it costs to have a process's system calls judged, against what does the like.

Each open and close of a file is compared with the same call unobserved, under strace,
under proot, and under the least that a supervisor in C can cost (floor_supervisor.c);
then whole programs. Everything runs in turn, again and again, and medians are printed.

All processes are kept on one processor: where the caller and who answers it run on two,
each call waits for two idle processors to wake up, and that is all that is measured.
"""

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from measure import duration, print_table, ratio
from supervised import Configuration, configurations, seconds_under
from workloads import Workload, workloads

ROUNDS = int(os.environ.get("BENCH_RUNS", "9"))
OPENS = int(os.environ.get("BENCH_OPENS", "5000"))
THREADS, THREAD_SECONDS = 8, 2
NATIVE, STRACE, FLOOR = "native", "strace -f", "C, emulated"


def main() -> None:
    """Print the three tables."""
    processor = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processor})
    with suppress(PermissionError):  # whatever else the machine does has to wait then
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    print(
        f"All on processor {processor} alone, in turn; medians of {ROUNDS} rounds. On "
        "two processors, waking them\nwould cost several times what is measured here."
    )
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        under = configurations(place)
        (place / "file").write_text("content\n")
        print_opens(place, under)
        print_workloads(under, workloads(place))
        print_threads(place, under)


def print_opens(place: Path, under: Sequence[Configuration]) -> None:
    """One open and close, by an absolute path and by one relative to the directory."""
    heads = ("absolute path", "x native", "x strace", "x floor")
    print("\nOne open and close\n")
    absolute = opens(place, under, str(place / "file"))
    relative = opens(place, under, "file")
    rows = [
        (name, *compared(name, absolute), *compared(name, relative))
        for name in absolute
    ]
    print_table(("", *heads, "relative path", *heads[1:]), rows)


def opens(
    place: Path, under: Sequence[Configuration], path: str
) -> dict[str, list[float]]:
    """The seconds that an open and close takes, by configuration."""
    words = (str(place / "opener"), "each", path, str(OPENS))

    def once(configuration: Configuration) -> float:
        return float(output(configuration, words, place)) / 1e9

    return in_turn(under, once)


def print_workloads(
    under: Sequence[Configuration], programs: Sequence[Workload]
) -> None:
    """How long programs take, start-up of their supervisor left out."""
    print("\nPrograms, times native (the start of the supervisor left out)\n")
    rows = []
    for program in programs:

        def once(configuration: Configuration, of: Workload = program) -> float:
            of.prepare()
            return seconds_under(configuration, of.words, of.directory)

        times = in_turn(under, once)
        native = statistics.median(times[NATIVE])
        ratios = (ratio(statistics.median(each), native) for each in times.values())
        rows.append((program.name, duration(native), *list(ratios)[1:]))
    print_table(("", *(each.name for each in under)), rows)


def print_threads(place: Path, under: Sequence[Configuration]) -> None:
    """How evenly threads that open at once get their turn."""
    # Among equals of that kind, one that never waits would leave the others no turn.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    print(f"\n{THREADS} threads open one file at once for {THREAD_SECONDS} s\n")
    words = (str(place / "opener"), "threads", "file", str(THREADS))
    rows = []
    for configuration in under:
        printed = output(configuration, (*words, str(THREAD_SECONDS)), place)
        counts = [int(line) for line in printed.split()]
        share = f"{max(counts) / max(1, min(counts)):.2f}"
        rows.append((configuration.name, f"{sum(counts) // THREAD_SECONDS:,}", share))
    print_table(("", "opens a second", "most / least of a thread"), rows)


def in_turn(
    under: Sequence[Configuration], once: Callable[[Configuration], float]
) -> dict[str, list[float]]:
    """What each configuration takes, measured round by round."""
    times: dict[str, list[float]] = {each.name: [] for each in under}
    for _ in range(ROUNDS):
        for each in under:
            times[each.name].append(once(each))
    return times


def compared(name: str, times: Mapping[str, list[float]]) -> tuple[str, ...]:
    """A median, and how many times that of each yardstick it is."""
    medians = {key: statistics.median(each) for key, each in times.items()}
    mine = medians[name]
    yardsticks = (medians.get(each) for each in (NATIVE, STRACE, FLOOR))
    return (duration(mine), *(ratio(mine, each) for each in yardsticks))


def output(configuration: Configuration, words: Sequence[str], place: Path) -> str:
    """What a program prints under a configuration."""
    done = subprocess.run(
        [*configuration.words, *words],
        cwd=place,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
