"""What is counted, and how Prometheus reads it.

Requests are counted by operation and by class of status; their durations in buckets.
Operations are known by their declarations, never by what was asked for: a counter for
every path that somebody tries would fill the memory.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redlane_hub.server.counters import Counters

__all__ = ["BUCKETS", "MOST_OPERATIONS", "OTHER", "REFUSED", "Metrics", "counters_for"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds of the durations' buckets, in seconds."""

MOST_OPERATIONS = 128
OTHER = "other"
"""What has no operation: unknown routes, and what the rate limits refuse."""

REFUSED = "refused"
"""What is no request that could be read, so that the application never saw it."""

_CLASSES = ("1xx", "2xx", "3xx", "4xx", "5xx")
_HUNDRED = 100
_NANOSECONDS = 1_000_000_000
_ROW = len(_CLASSES) + len(BUCKETS) + 2
_SUM = _ROW - 1
_TOO_MANY_REQUESTS = 429
_LIMITED = MOST_OPERATIONS * _ROW
_SIZE = _LIMITED + 1


def counters_for(workers: int) -> Counters:
    """Memory for all that so many workers count."""
    return Counters(workers, _SIZE)


class Metrics:
    """The counters with their meaning; every process names the same operations."""

    def __init__(self, counters: Counters, operations: Iterable[str]) -> None:
        names = [OTHER, REFUSED, *sorted(set(operations))][:MOST_OPERATIONS]
        self._rows = {name: place * _ROW for place, name in enumerate(names)}
        self._counters = counters

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count one answer."""
        row = self._rows.get(operation, 0)
        bucket = row + len(_CLASSES) + bisect_left(BUCKETS, seconds)
        kind = min(max(status // _HUNDRED, 1), len(_CLASSES)) - 1
        limited = int(status == _TOO_MANY_REQUESTS)
        self._counters.add(
            (row + kind, 1),
            (bucket, 1),
            (row + _SUM, int(seconds * _NANOSECONDS)),
            (_LIMITED, limited),
        )

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> str:
        """All of it in Prometheus' text format; gauges are names to help and value."""
        sums = self._counters.sums()
        lines = [*self._requests(sums), *self._durations(sums)]
        lines += _metric("rate_limited_total", "counter", "Answers with status 429.")
        lines.append(f"redlane_hub_rate_limited_total {sums[_LIMITED]}")
        for name, (told, value) in gauges.items():
            lines += _metric(name, "gauge", told)
            lines.append(f"redlane_hub_{name} {value:.15g}")
        return "\n".join(lines) + "\n"

    def _requests(self, sums: Sequence[int]) -> Iterator[str]:
        yield from _metric(
            "requests_total", "counter", "Answers by operation and class of status."
        )
        for name, row in self._rows.items():
            for place, kind in enumerate(_CLASSES):
                if sums[row + place]:
                    labels = f'operation="{name}",status="{kind}"'
                    yield f"redlane_hub_requests_total{{{labels}}} {sums[row + place]}"

    def _durations(self, sums: Sequence[int]) -> Iterator[str]:
        metric = "redlane_hub_request_seconds"
        yield from _metric("request_seconds", "histogram", "How long answers took.")
        for name, row in self._rows.items():
            first = row + len(_CLASSES)
            total = 0
            counts = sums[first : first + len(BUCKETS) + 1]
            if not any(counts):
                continue
            for bound, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                yield f'{metric}_bucket{{operation="{name}",le="{bound}"}} {total}'
            spent = sums[row + _SUM] / _NANOSECONDS
            yield f'{metric}_sum{{operation="{name}"}} {spent:.9f}'
            yield f'{metric}_count{{operation="{name}"}} {total}'


def _metric(name: str, kind: str, told: str) -> list[str]:
    return [
        f"# HELP redlane_hub_{name} {told}",
        f"# TYPE redlane_hub_{name} {kind}",
    ]
