"""The ways in which the benchmark of system calls has a program run."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Configuration", "configurations", "seconds_under"]

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Configuration:
    """Words to put in front of a program's.

    `times`: where it writes the seconds that the program alone took; otherwise its own
    start is so short that it does not count.
    """

    name: str
    words: tuple[str, ...] = ()
    times: Path | None = None


def configurations(place: Path) -> tuple[Configuration, ...]:
    """Those that this machine has, the programs in C compiled into `place`."""
    for name in ("opener", "floor_supervisor"):
        compile_program(name, place)
    floor = str(place / "floor_supervisor")
    strace = ("-f", "-o", "/dev/null", "-e", "trace=openat")
    found = (
        Configuration("native"),
        Configuration("C, let through", (floor, "continue")),
        Configuration("C, emulated", (floor, "emulate")),
        *product(place),
        Configuration("strace -f", ("strace", *strace)),
        Configuration("strace --seccomp-bpf", ("strace", "--seccomp-bpf", *strace)),
        Configuration("proot", ("proot",)),
    )
    return tuple(
        each for each in found if not each.words or shutil.which(each.words[0])
    )


def product(place: Path) -> tuple[Configuration, ...]:
    """Redlane itself: the loop in Python alone, and with the extension before it."""
    serve = (sys.executable, str(HERE / "serve_syscalls.py"))
    times = place / "seconds"
    return tuple(
        Configuration(f"redlane, {name}", (*serve, name, str(times)), times)
        for name in ("python", "extension")
    )


def compile_program(name: str, place: Path) -> None:
    """Compile one of the benchmark's programs as a distribution would."""
    source = str(HERE / f"{name}.c")
    words = ["cc", "-O2", "-Wall", "-Wextra", "-o", str(place / name), source]
    subprocess.run([*words, "-pthread"], check=True)


def seconds_under(
    configuration: Configuration, words: Sequence[str], directory: Path
) -> float:
    """How long a program takes under a configuration; what it prints is dropped."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    words = [*configuration.words, *words]
    before = Path.cwd()
    os.chdir(directory)
    try:
        start = time.perf_counter()
        pid = os.posix_spawnp(words[0], words, os.environ, file_actions=silent)
        _, status = os.waitpid(pid, 0)
        taken = time.perf_counter() - start
    finally:
        os.chdir(before)
    if status != 0:
        raise RuntimeError(f"{words} failed: {status:#x}")
    return float(configuration.times.read_text()) if configuration.times else taken
