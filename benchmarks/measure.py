"""Timing a callable, percentiles and plain tables, for every benchmark."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Timing", "duration", "percentile", "print_table", "ratio", "timed"]


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a call took, in seconds: the first time, and the times after it."""

    first: float
    p50: float
    p99: float
    runs: int


def timed(
    call: Callable[[], object],
    *,
    seconds: float = 0.5,
    most: int = 300,
    warm: bool = True,
) -> Timing:
    """Call again and again for about `seconds`.

    With `warm` the first time, when caches are empty, does not count, and there is at
    least one more.
    """
    first = _once(call)
    taken = [_once(call)] if warm else [first]
    while sum(taken) < seconds and len(taken) < most:
        taken.append(_once(call))
    return Timing(first, percentile(taken, 50), percentile(taken, 99), len(taken))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of the values do not exceed."""
    ordered = sorted(values)
    place = -(-len(ordered) * percent // 100) - 1
    return ordered[max(0, int(place))]


def duration(seconds: float | None) -> str:
    """A duration for people, or a dash for a cell that was left out."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def ratio(slower: float | None, faster: float | None) -> str:
    """How many times one duration is the other."""
    return "-" if not slower or not faster else f"{slower / faster:.3g}x"


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A Markdown table with aligned columns."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, ["-" * width for width in widths], *rows):
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")


def _once(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
