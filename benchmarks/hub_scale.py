"""The hub's store among a thousand artifacts, and among a hundred thousand.

    .venv/bin/python benchmarks/hub_scale.py [SMALL LARGE]

Beside the public artifacts stand as many that one owner keeps private, all of which
match what is searched for. Ratios are between the two databases of the same run.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hub_corpus import COMMON, RARE, Corpus, content
from measure import duration, print_table, ratio, timed

from redlane_hub.services.catalogue import Catalogue
from redlane_hub.services.dependencies import Dependencies
from redlane_hub.services.downloads import Downloads

SIZES = (1_000, 100_000)

Call = Callable[[], object]


def main() -> None:
    """Fill both databases, and print one table."""
    sizes = tuple(map(int, sys.argv[1:3])) or SIZES
    with tempfile.TemporaryDirectory() as directory:
        measured = [measure(Path(directory) / str(size), size) for size in sizes]
    small, large = measured
    heads = ("", *(f"{size:,}" for size in sizes), "ratio")
    rows = [
        (name, duration(small[name]), duration(large[name]), grown)
        for name in small
        for grown in [ratio(large[name], small[name])]
    ]
    print_table(heads, rows)


def measure(directory: Path, size: int) -> dict[str, float]:
    """The median of each operation."""
    directory.mkdir()
    corpus = Corpus(directory)
    started = time.perf_counter()
    corpus.fill(size)
    filled = time.perf_counter() - started
    print(f"filled with 2 x {size:,} in {filled:.0f} s")
    found = {name: timed(call).p50 for name, call in operations(corpus, size).items()}
    corpus.database.close()
    return found


def operations(corpus: Corpus, size: int) -> dict[str, Call]:
    """What is measured, by name."""
    downloads = Downloads(corpus.path)
    catalogue = Catalogue(corpus.database, downloads)
    dependencies = Dependencies(corpus.database)
    search = partial(catalogue.search, None)
    own = partial(catalogue.search, corpus.hoarder)
    return {
        "publish": publisher(corpus),
        "fetch": partial(catalogue.fetch, f"artifact-{size // 2}", "1.0.0", None),
        "search, everything": search,
        "search, q common": partial(search, text=COMMON),
        "search, q rare": partial(search, text=RARE),
        "search, q absent": partial(search, text="aardvark"),
        "search, q of common parts": partial(search, text="policy for a policy"),
        "search, q of 2": partial(search, text="ok"),
        "search, q of 2 rare": partial(search, text="qu"),
        "search, q of 2 absent": partial(search, text="zq"),
        "search, q of 1": partial(search, text="o"),
        "search, tag common": partial(search, tag=COMMON),
        "search, tag rare": partial(search, tag=RARE),
        "search, tag absent": partial(search, tag="aardvark"),
        "hoarder, everything": own,
        "hoarder, q common": partial(own, text=COMMON),
        "hoarder, q rare": partial(own, text=RARE),
        "hoarder, q absent": partial(own, text="aardvark"),
        "hoarder, q of 2": partial(own, text="qu"),
        "hoarder, tag common": partial(own, tag=COMMON),
        "resolve": partial(dependencies.resolve, "artifact-900", "1.0.0", None),
    }


def publisher(corpus: Corpus) -> Call:
    """Publishes one more artifact, in a transaction of its own."""
    data = content(4_096)
    names = (f"more-{number}" for number in range(1 << 40))

    def publish() -> None:
        with corpus.database.transaction() as connection:
            corpus.insert(connection, corpus.new(next(names), corpus.author, data))

    return publish


if __name__ == "__main__":
    main()
