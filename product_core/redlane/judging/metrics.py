"""Counters of the daemon in the text format of Prometheus."""

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping

__all__ = ["MEDIA_TYPE", "Metrics", "gauge"]

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 250, 500, 1000, 5000)


class Metrics:
    """What has happened since the daemon started; safe for several threads."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._lock = threading.Lock()
        self._verdicts: Counter[tuple[str, str]] = Counter()
        self._latencies: Counter[int | None] = Counter()
        self._seconds = 0.0
        self._reloads: Counter[str] = Counter()
        self._calls: Counter[str] = Counter()

    def count_verdict(self, context: str, verdict: str, latency_ms: float) -> None:
        """One verdict, and how long it took without the time of a review."""
        place = bisect_left(_BOUNDS_MS, latency_ms)
        bound = _BOUNDS_MS[place] if place < len(_BOUNDS_MS) else None
        with self._lock:
            self._verdicts[context, verdict] += 1
            self._latencies[bound] += 1
            self._seconds += latency_ms / 1000

    def count_reload(self, *, ok: bool) -> None:
        """One reload, which took effect or did not."""
        with self._lock:
            self._reloads["ok" if ok else "failed"] += 1

    def count_calls(self, verdict: str, count: int) -> None:
        """So many system calls that a session's supervisor blocked or flagged."""
        with self._lock:
            self._calls[verdict] += count

    def lines(self) -> Iterable[str]:
        """The counters, a sample a line."""
        with self._lock:
            verdicts, latencies = dict(self._verdicts), Counter(self._latencies)
            seconds, reloads = self._seconds, dict(self._reloads)
            calls = dict(self._calls)
        yield from _head("redlane_verdicts_total", "counter", "Verdicts given.")
        for (context, verdict), count in sorted(verdicts.items()):
            labels = f'context="{context}",verdict="{verdict}"'
            yield f"redlane_verdicts_total{{{labels}}} {count}"
        yield from _histogram(latencies, seconds)
        yield from _head("redlane_reloads_total", "counter", "Reloads of policies.")
        for result in ("ok", "failed"):
            count = reloads.get(result, 0)
            yield f'redlane_reloads_total{{result="{result}"}} {count}'
        text = "System calls that were blocked or flagged."
        yield from _head("redlane_syscall_events_total", "counter", text)
        for verdict in ("BLOCK", "FLAG"):
            count = calls.get(verdict, 0)
            yield f'redlane_syscall_events_total{{verdict="{verdict}"}} {count}'


def gauge(name: str, text: str, values: Mapping[str, int]) -> Iterable[str]:
    """One measure as it is now, by its labels (or "" for none)."""
    yield from _head(name, "gauge", text)
    for labels, value in values.items():
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _histogram(latencies: Counter[int | None], seconds: float) -> Iterable[str]:
    name = "redlane_verdict_seconds"
    yield from _head(name, "histogram", "Time to a verdict, reviews left out.")
    below = 0
    for bound in _BOUNDS_MS:
        below += latencies[bound]
        yield f'{name}_bucket{{le="{bound / 1000}"}} {below}'
    total = below + latencies[None]
    yield f'{name}_bucket{{le="+Inf"}} {total}'
    yield f"{name}_sum {seconds:.6f}"
    yield f"{name}_count {total}"


def _head(name: str, kind: str, text: str) -> Iterable[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
