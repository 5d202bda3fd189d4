"""From nothing to the first blocked command, and what the daemon costs after that.

    .venv/bin/python benchmarks/install.py

With pip, two commands, wheels at hand; making the environment is told beside them:

    pip install 'redlane[standard]' && redlane try -c 'rm -rf ~'

Each round is made in a fresh environment, offline, beside what a user of Python knows:
making an environment, and installing the largest dependency alone. With apt, in booted
Debians (`sudo make deb`, then as root), packages at hand: see `booted.py`.
"""

import importlib.metadata
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from booted import print_figures
from measure import duration, print_table, ratio

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
LIMIT = 8
ENVIRONMENT = "python -m venv"
INSTALL, TRY = "pip install 'redlane[standard]'", "redlane try -c 'rm -rf ~'"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def main() -> None:
    """Print a table of medians for pip, and one for each Debian."""
    with tempfile.TemporaryDirectory(prefix="redlane-install-") as name:
        place = Path(name)
        wheels = wheelhouse(place)
        rounds = [one_round(place / str(each), wheels) for each in range(ROUNDS)]
    taken = {each: statistics.median(one[each] for one in rounds) for each in rounds[0]}
    both = taken[INSTALL] + taken[TRY]
    with_environment = both + taken[ENVIRONMENT]
    sums = {"both": both, "both, and the environment before": with_environment}
    rows = [
        [what, duration(seconds), ratio(both, seconds)]
        for what, seconds in {**sums, **taken}.items()
    ]
    print_table((f"median of {ROUNDS}", "took", "both are"), rows)
    print(f"both: {LIMIT} s are the limit; the environment does not count")
    print_figures()


def wheelhouse(place: Path) -> Path:
    """Wheels of our distributions and of all that they need; takes the network."""
    wheels = place / "wheels"
    made = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "bin")
    for source in (ROOT / "product_core", *sorted((ROOT / "plugins").iterdir())):
        copy = place / "sources" / source.name
        shutil.copytree(source, copy, ignore=made)
        options = ("--no-deps", "--no-build-isolation", "--wheel-dir", wheels)
        run((*PIP, "wheel", *options, copy))
    pins = sorted(set(needed("redlane")))
    run((*PIP, "download", "--no-deps", "--dest", wheels, *pins))
    return wheels


def needed(name: str) -> Iterator[str]:
    """What a distribution needs, all the way down, pinned to what is installed here."""
    for requirement in importlib.metadata.requires(name) or ():
        found = re.match(r"[\w.-]+", requirement)
        if found and "extra ==" not in requirement:
            yield f"{found[0]}=={importlib.metadata.version(found[0])}"
            yield from needed(found[0])


def one_round(place: Path, wheels: Path) -> dict[str, float]:
    """How long each thing took, in seconds."""
    other, home = place / "other", place / "home"
    home.mkdir(parents=True)
    start = time.perf_counter()
    run((sys.executable, "-m", "venv", place / "environment"))
    environment = time.perf_counter() - start
    run((sys.executable, "-m", "venv", other))
    offline = f"--disable-pip-version-check --no-index --find-links {wheels}"
    return {
        INSTALL: typed(INSTALL.replace("install", f"install {offline}"), place),
        TRY: typed(TRY, place, "redlane: blocked: policy "),
        "pip install falcon": typed(f"{other}/bin/pip install {offline} falcon", place),
        ENVIRONMENT: environment,
    }


def typed(command: str, place: Path, refusal: str = "") -> float:
    """Run what a user types, who is told so when it is refused; the seconds it took."""
    kept = place / "home" / "kept"
    kept.touch()
    path = f"{place}/environment/bin:/usr/local/bin:/usr/bin:/bin"
    start = time.perf_counter()
    done = subprocess.run(
        ["sh", "-c", command],
        env={"HOME": str(kept.parent), "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - start
    as_foreseen = refusal in done.stderr if refusal else done.returncode == 0
    if not as_foreseen or not kept.exists():
        raise SystemExit(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return seconds


def run(command: tuple[str | Path, ...]) -> None:
    """Run a command that prepares what is measured."""
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
