"""What the Debian packages cost: installing them, starting, and being idle.

Measured in machines as the boot tests boot them: wall times, seen from outside, with
every package at hand and no network.
"""

import re
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measure import duration, print_table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from boot.machine import Machine, booted
from boot.packages import BUILT, apt, latest
from boot.probe import why_not
from boot.product import CONTROL, add_user, main_pid, start
from boot.trees import held_tree

__all__ = ["print_figures"]

STARTS = 5
IDLE_SECONDS = 60
MEGABYTE = 1e6
ANALYZE = '{"content": "rm -rf ~", "context": "Shell", "hold": false}'
REFUSED = 126


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, how it came out, and what it may be."""

    what: str
    measured: str
    limit: str


def print_figures() -> None:
    """A table for each suite that `make deb` has built, or why there is none."""
    suites = sorted(each.parent.name for each in BUILT.glob("*/redlane_*.deb"))
    reason = why_not() or ("" if suites else "make deb has built nothing")
    if reason:
        print(f"Debian: not measured: {reason}")
        return
    for suite in suites:
        rows = [[each.what, each.measured, each.limit] for each in figures(suite)]
        print_table((f"Debian {suite}", "measured", "limit"), rows)


def figures(suite: str) -> Iterator[Figure]:
    """Everything about one suite."""
    debs = latest(suite)
    binds = {"/debs": debs[0].parent}
    package = f"/debs/{debs[0].name}"
    with held_tree(suite, debs) as tree:
        with booted(tree, binds) as machine:
            yield installed("apt install, to the first block", machine, package)
        with booted(tree, binds) as machine:
            apt(machine, "install", "python3")
            yield installed("the same, Python being there", machine, package)
            yield activated(machine)
            yield from idle(machine)


def installed(what: str, machine: Machine, package: str) -> Figure:
    """From `apt install` to the first command that is blocked, for an ordinary user."""
    add_user(machine, "ada")
    begun = time.perf_counter()
    apt(machine, "install", package)
    words = ("redlane", "run", "--", "bash", "-c", "rm -rf ~")
    done = machine.run(words, user="ada", check=False)
    took = time.perf_counter() - begun
    if done.returncode != REFUSED:
        raise SystemExit(f"rm -rf ~: {done.returncode}\n{done.stdout}{done.stderr}")
    return Figure(what, duration(took), "20 s")


def activated(machine: Machine) -> Figure:
    """From the first byte to a stopped daemon's socket, to the verdict."""
    ask = (
        *("curl", "--silent", "--fail", "--output", "/dev/null"),
        *("--write-out", "%{time_total}", "--unix-socket", CONTROL),
        *("--json", ANALYZE, "http://redlane/api/analyze"),
    )
    taken = []
    for _ in range(STARTS):
        machine.run("systemctl stop redlane.service")
        taken.append(float(machine.run(ask).stdout))
    what = f"socket activation to a verdict, median of {STARTS}"
    return Figure(what, duration(statistics.median(taken)), "1 s")


def idle(machine: Machine) -> Iterator[Figure]:
    """A daemon that has judged and is asked nothing: its memory and its wake-ups."""
    pid = start(machine)
    status = machine.read(f"/proc/{pid}/status")
    (resident,) = re.findall(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
    yield Figure(
        "idle daemon, RSS", f"{int(resident) * 1024 / MEGABYTE:.1f} MB", "60 MB"
    )
    before, begun = switches(machine), time.monotonic()
    machine.run(("sleep", str(IDLE_SECONDS)), timeout=IDLE_SECONDS + 10)
    minutes = (time.monotonic() - begun) / 60
    woken = (switches(machine) - before) / minutes
    signs = 60 / (watchdog_seconds(machine) / 2)
    what = f"idle daemon, wake-ups a minute ({signs:.0f} are the watchdog's)"
    yield Figure(what, f"{woken:.1f}", "")


def watchdog_seconds(machine: Machine) -> float:
    """How long systemd waits for a sign of life; it is given twice as often."""
    command = "systemctl show --value -p WatchdogUSec redlane.service"
    parts = re.findall(r"(\d+)(min|ms|s)", machine.run(command).stdout)
    return sum(
        int(count) * {"min": 60, "s": 1, "ms": 1e-3}[unit] for count, unit in parts
    )


def switches(machine: Machine) -> int:
    """How often the threads of the daemon have given way by their own choice."""
    pattern = f"/proc/{main_pid(machine)}/task/*/status"
    lines = machine.run(f"grep -h ^voluntary_ctxt_switches {pattern}").stdout
    return sum(int(count) for count in re.findall(r"\d+", lines))
