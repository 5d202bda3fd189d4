"""Redlane's proxy, with a thousand policies active, against bare mitmproxy.

    .venv/bin/python benchmarks/proxy.py [ROUNDS]

Both stand before one origin and take turns on kept-alive connections, so that what else
the machine does meets both alike. Processor time is that of all the processes of a
proxy, the daemon's included. Then: the first event of a stream whose events are 0.4 s
apart, and the most memory that the proxy took for a body of 200 MB.
"""

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from measure import duration, percentile, print_table, ratio
from proxies import Origin, Proxy, bare, origin, redlane

ROUNDS = 20
REQUESTS = 50
POLICIES = 1_000
BIG = 200 * 1024 * 1024
STREAMS = 3


@dataclass(slots=True)
class Figures:
    """What one proxy took."""

    taken: list[float] = field(default_factory=list)
    seconds: float = 0.0


def main() -> None:
    """Print the three tables."""
    rounds = int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        base = Path(name)
        source = running.enter_context(origin(base / "origin"))
        proxies = (
            running.enter_context(bare(base / "bare", source)),
            running.enter_context(redlane(base / "home", source, POLICIES)),
        )
        latency(proxies, source, rounds)
        print()
        events(proxies, source)
        print()
        memory(proxies, source)


def latency(proxies: tuple[Proxy, ...], source: Origin, rounds: int) -> None:
    """Requests on kept-alive connections, in turns."""
    rows = []
    for secure in (False, True):
        port = source.secure if secure else source.plain
        figures = {each.name: Figures() for each in proxies}
        for proxy in proxies:
            turn(proxy, port, secure)  # what is made on first use does not count
        for _ in range(rounds):
            for proxy in proxies:
                before = proxy.seconds()
                figures[proxy.name].taken += turn(proxy, port, secure)
                figures[proxy.name].seconds += proxy.seconds() - before
        rows += [row(proxy, figures, secure) for proxy in proxies]
    heads = ("kept alive", "proxy", "p50", "p95", "CPU", "x p50", "x p95", "x CPU")
    print_table(heads, rows)


def turn(proxy: Proxy, port: int, secure: bool) -> list[float]:  # noqa: FBT001  # one of two kinds
    """How long each of some requests takes."""
    times = proxy.times("/small", port, secure=secure, count=REQUESTS, keep=True)
    return [last for _, last in times]


def row(proxy: Proxy, figures: dict[str, Figures], secure: bool) -> tuple[str, ...]:  # noqa: FBT001  # one of two kinds
    """A proxy's line, with ratios to the bare one's."""
    mine, floor = figures[proxy.name], figures["mitmproxy"]
    pairs = [
        (percentile(mine.taken, 50), percentile(floor.taken, 50)),
        (percentile(mine.taken, 95), percentile(floor.taken, 95)),
        (mine.seconds / len(mine.taken), floor.seconds / len(floor.taken)),
    ]
    kind = "HTTPS" if secure else "HTTP"
    own = [duration(each) for each, _ in pairs]
    return (kind, proxy.name, *own, *(ratio(*pair) for pair in pairs))


def events(proxies: tuple[Proxy, ...], source: Origin) -> None:
    """When the first event of a stream is there; bare mitmproxy waits for the last."""
    rows = []
    for proxy in proxies:
        times = [
            proxy.times("/events", source.secure, secure=True)[0][0]
            for _ in range(STREAMS)
        ]
        rows.append((proxy.name, duration(min(times)), duration(max(times))))
    print_table(("first event of a stream", "shortest", "longest"), rows)


def memory(proxies: tuple[Proxy, ...], source: Origin) -> None:
    """A body of 200 MB, and what it took at most."""
    rows = []
    for proxy in proxies:
        before = proxy.peak()
        ((first, last),) = proxy.times(f"/big/{BIG}", source.secure, secure=True)
        peaks = [f"{each / 2**20:.0f} MB" for each in (before, proxy.peak())]
        rows.append((proxy.name, duration(first), duration(last), *peaks))
    heads = ("body of 200 MB", "first byte", "last byte", "peak before", "peak")
    print_table(heads, rows)


if __name__ == "__main__":
    main()
