"""What one decision of the hub's rate limiter costs.

    python benchmarks/hub_ratelimit.py

Prints microseconds a decision: within one process, and with the lock that several
worker processes share; for one client, and for a hundred thousand.
"""

import time

from redlane_hub.security.addresses import client_network
from redlane_hub.security.ratelimit import Limit, RateLimiter

DECISIONS = 200_000
LIMIT = Limit("everything else", burst=1000, seconds=1 / 17)


def microseconds(limiter: RateLimiter, addresses: list[str]) -> float:
    """How long one decision took on average."""
    count = len(addresses)
    began = time.perf_counter()
    for number in range(DECISIONS):
        limiter.take(LIMIT, client_network(addresses[number % count]))
    return (time.perf_counter() - began) / DECISIONS * 1e6


def main() -> None:
    """Measure and print."""
    crowd = [f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(100_000)]
    print("processes  clients  microseconds")
    for processes in (False, True):
        for addresses in (crowd[:1], crowd):
            best = min(
                microseconds(RateLimiter(processes=processes), addresses)
                for _ in range(3)
            )
            name = "several" if processes else "one"
            print(f"{name:9}  {len(addresses):7}  {best:12.1f}")


if __name__ == "__main__":
    main()
