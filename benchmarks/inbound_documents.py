"""How many ordinary documents the starter role `developer` would hold, and the cost.

    .venv/bin/python benchmarks/inbound_documents.py [PATH…]

Each file below the paths (/usr/share/doc and /usr/share/man unless told) is judged as
a response, 200 KB of it at most. The floor is one search of the same text with RE2 for
a word that is not there. Held documents are named.
"""

import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import re2
from measure import ratio

from redlane.cli.starter import STARTER
from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load

MOST_BYTES = 200_000
MOST_FILES = 5_000
PLACES = ("/usr/share/doc", "/usr/share/man")


def main(places: list[str]) -> int:
    """Print what is held and the figures; 1 when more than one in 1,000 is held."""
    absent = re2.compile(rb"(?i)\bno-such-word-in-any-document\b")
    count = held = size = 0
    taken = floor = 0.0
    for path, text in documents(places or list(PLACES)):
        start = time.perf_counter()
        contents = parse_contents(Context.INBOUND, text)
        verdict = judge(RULES, "developer", contents)
        judged = time.perf_counter()
        absent.search(text)
        floor += time.perf_counter() - judged
        taken += judged - start
        count, size = count + 1, size + len(text)
        if verdict.decision is not Decision.ALLOW:
            held += 1
            print(f"{path}: {verdict.policy}")
    cost = f"{taken / max(size, 1) * 1e6:.3f} s a MB, {ratio(taken, floor)} the floor"
    print(f"{held} of {count} documents held; {cost}")
    return int(held * 1_000 > count)


def documents(places: list[str]) -> Iterator[tuple[Path, bytes]]:
    """The first files below the places that hold text."""
    found = 0
    for path in (path for place in places for path in sorted(Path(place).rglob("*"))):
        if found == MOST_FILES:
            return
        if path.is_file() and (text := read(path)):
            found += 1
            yield path, text


def read(path: Path) -> bytes:
    """The beginning of a text, unpacked; nothing for one that is none."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            text = file.read(MOST_BYTES)
    except OSError:
        return b""
    return b"" if b"\0" in text else text


_STARTER = Paths(STARTER, STARTER / "none.json", STARTER, STARTER / "none.sock")
RULES = load(_STARTER, find_plugins()).ruleset

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
