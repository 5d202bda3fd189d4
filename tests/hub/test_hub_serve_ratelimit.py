"""The rate limiter: exact against a model, among threads and among processes."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.http.shield import EVERYTHING_ELSE, LIMITS
from redlane_hub.security.addresses import client_network, packed_address
from redlane_hub.security.ratelimit import Limit, RateLimiter

SECOND = 1_000_000_000
LOGIN = LIMITS["POST", "/api/v1/login"]
CLIENT = client_network("192.0.2.1")


class Time:
    def __init__(self) -> None:
        self.nanoseconds = 10**15

    def __call__(self) -> int:
        return self.nanoseconds


class Bucket:
    """A token bucket as the textbook has it, in exact numbers."""

    def __init__(self, limit: Limit, now: int) -> None:
        self.limit = limit
        self.tokens = Fraction(limit.burst)
        self.at = now

    def take(self, now: int) -> bool:
        back = Fraction(now - self.at, self.limit.nanoseconds)
        self.tokens = min(Fraction(self.limit.burst), self.tokens + back)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


every_limit = st.sampled_from([*LIMITS.values(), EVERYTHING_ELSE])
any_limit = every_limit | st.builds(
    Limit,
    st.text(max_size=3),
    st.integers(1, 5),
    st.floats(0.001, 100, allow_nan=False),
)
gaps = st.integers(0, 5 * SECOND) | st.sampled_from([0, 1, 6 * SECOND, 300 * SECOND])


@given(limit=any_limit, waits=st.lists(st.tuples(gaps, st.integers(1, 12))))
def test_limiter_decides_as_the_textbook_does(
    limit: Limit, waits: list[tuple[int, int]]
) -> None:
    time = Time()
    limiter = RateLimiter(now=time, sets=1)
    bucket = Bucket(limit, time.nanoseconds)
    for gap, times in waits:
        time.nanoseconds += gap
        for _ in range(times):
            allowed = limiter.take(limit, CLIENT) == 0
            assert allowed == bucket.take(time.nanoseconds)


@given(limit=any_limit, gap=gaps)
def test_who_waits_as_long_as_told_is_let_in_and_nobody_earlier(
    limit: Limit, gap: int
) -> None:
    time = Time()
    limiter = RateLimiter(now=time, sets=1)
    for _ in range(limit.burst):
        assert limiter.take(limit, CLIENT) == 0
    time.nanoseconds += min(gap, limit.nanoseconds - 1)
    wait = limiter.take(limit, CLIENT)
    assert wait >= 1
    time.nanoseconds += (wait - 1) * SECOND
    assert wait == 1 or limiter.take(limit, CLIENT) == 1
    time.nanoseconds += SECOND
    assert limiter.take(limit, CLIENT) == 0


def test_clients_and_scopes_have_buckets_of_their_own() -> None:
    limiter = RateLimiter(now=Time())
    for limit in {*LIMITS.values(), EVERYTHING_ELSE}:
        for number in range(30):
            client = client_network(f"192.0.2.{number}")
            taken = sum(
                limiter.take(limit, client) == 0 for _ in range(limit.burst + 5)
            )
            assert taken == limit.burst


def test_a_flood_of_clients_pushes_out_who_is_nearest_to_full() -> None:
    limiter = RateLimiter(now=Time(), sets=1)
    for _ in range(LOGIN.burst):
        limiter.take(LOGIN, CLIENT)
    for number in range(10_000):
        limiter.take(EVERYTHING_ELSE, number.to_bytes(8, "big"))
    assert limiter.take(LOGIN, CLIENT) > 0


def test_memory_is_bounded_whoever_comes() -> None:
    limiter = RateLimiter(now=Time(), sets=2)
    size = len(limiter._table)
    for number in range(1000):
        limiter.take(LOGIN, number.to_bytes(8, "big"))
    assert len(limiter._table) == size


@pytest.mark.parametrize("processes", [False, True], ids=["threads", "processes"])
def test_threads_get_exactly_what_there_is(processes: bool) -> None:  # noqa: FBT001  # a table's column
    limiter = RateLimiter(processes=processes, now=Time())
    start = threading.Barrier(8)

    def take(_worker: int) -> int:
        start.wait()
        return sum(limiter.take(EVERYTHING_ELSE, CLIENT) == 0 for _ in range(300))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == EVERYTHING_ELSE.burst


FORKED = """
import os, sys
from redlane_hub.security.ratelimit import Limit, RateLimiter
limit = Limit("x", 1000, 10.0)
limiter = RateLimiter(processes=True, now=lambda: 10**15)
read, write = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        taken = sum(limiter.take(limit, b"1234") == 0 for _ in range(500))
        os.write(write, f"{taken}\\n".encode())
        os._exit(0)
for _ in range(4):
    os.wait()
print(sum(map(int, os.read(read, 4096).split())))
"""


def test_processes_get_exactly_what_there_is() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, check=True
    )
    assert run.stdout == "1000\n"


HELD = """
import fcntl, os, signal, time
from redlane_hub.security.ratelimit import Limit, RateLimiter
limit = Limit("x", 3, 10.0)
limiter = RateLimiter(processes=True, now=lambda: 10**15, sets=1)
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    fcntl.lockf(limiter._lock_file, fcntl.LOCK_EX, 1, 0)
    os.write(write, b".")
    time.sleep(60)
os.read(read, 1)
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
signal.setitimer(signal.ITIMER_REAL, 0.2)
print(limiter.take(limit, b"1234"))
os.wait()
"""


def test_process_that_is_killed_keeps_nobody_waiting() -> None:
    run = subprocess.run(
        [sys.executable, "-c", HELD],
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    assert run.stdout == "0\n"


@pytest.fixture
def forked_table() -> Iterator[RateLimiter]:
    limiter = RateLimiter(processes=True)
    yield limiter
    os.close(limiter._lock_file)


def test_lock_file_is_nothing_that_children_get(forked_table: RateLimiter) -> None:
    assert not os.get_inheritable(forked_table._lock_file)


SAME = {
    "IPv4 as IPv6": ("192.0.2.1", "::ffff:192.0.2.1"),
    "IPv4 as IPv6 in hexadecimal": ("192.0.2.1", "::FFFF:c000:201"),
    "one /64": ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"),
    "with a zone": ("fe80::1", "fe80::2%eth0"),
    "no addresses": ("localhost", "unix"),
}
DIFFERENT = {
    "IPv4": ("192.0.2.1", "192.0.2.2"),
    "two /64": ("2001:db8:1:2::1", "2001:db8:1:3::1"),
    "compatible is not mapped": ("192.0.2.1", "::192.0.2.1"),
    "families": ("1.2.3.4", "102:304::"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_addresses_of_one_client(one: str, other: str) -> None:
    assert client_network(one) == client_network(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_addresses_of_two_clients(one: str, other: str) -> None:
    assert client_network(one) != client_network(other)


@pytest.mark.parametrize(
    "text", ["", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4:80", "[::1]", ":::", "a\0b"]
)
def test_what_is_no_address_has_no_bytes(text: str) -> None:
    assert packed_address(text) is None
