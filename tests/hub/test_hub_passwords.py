"""Hashing: right and wrong passwords, equal work, and a bounded crowd."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from redlane_hub.errors import BusyError
from redlane_hub.security import passwords
from redlane_hub.security.passwords import MOST_WAITING, Passwords


@pytest.fixture(scope="module")
def hashing() -> Iterator[Passwords]:
    made = Passwords(threads=1)
    yield made
    made.close()


@pytest.fixture
def full() -> Iterator[tuple[Passwords, threading.Event]]:
    """A single busy thread, and as many callers waiting for it as may wait."""
    made = Passwords(threads=1)
    done = threading.Event()
    made._threads.submit(done.wait)
    with ThreadPoolExecutor(1 + MOST_WAITING) as callers:
        waiting = [callers.submit(made.hash, "x") for _ in range(1 + MOST_WAITING)]
        await_(lambda: made._room._value == 0)
        yield made, done
        done.set()
        assert all(each.result() for each in waiting)
    made.close()


def await_(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize(
    "password",
    ["hunter2000", "pässwörd", "a\0b\0c\0d\0", "k" * 1024, "\U0001f600" * 256, " " * 8],
    ids=["ascii", "umlauts", "NULs", "1024 bytes", "emoji", "spaces"],
)
def test_only_the_password_itself_is_right(hashing: Passwords, password: str) -> None:
    stored = hashing.hash(password)
    assert hashing.verify(stored, password)
    assert not hashing.verify(stored, password + " ")
    assert not hashing.verify(stored, password[:-1])


def test_the_same_password_never_has_the_same_hash(hashing: Passwords) -> None:
    assert hashing.hash("hunter2000") != hashing.hash("hunter2000")


def test_a_hash_says_nothing_of_the_password(hashing: Passwords) -> None:
    assert "hunter2000" not in hashing.hash("hunter2000")


def test_nobodys_hash_is_never_right(hashing: Passwords) -> None:
    assert not hashing.verify(None, "hunter2000")
    assert not hashing.verify(None, "")


def test_nobodys_hash_costs_what_everybody_s_does(hashing: Passwords) -> None:
    algorithm = slice(4)
    made = hashing.hash("hunter2000").split("$")
    nobodys = passwords._NOBODYS.split("$")
    assert nobodys[algorithm] == made[algorithm]
    assert list(map(len, nobodys)) == list(map(len, made))


def test_whoever_comes_when_all_places_are_taken_is_told_so(
    full: tuple[Passwords, threading.Event],
) -> None:
    hashing, _ = full
    with pytest.raises(BusyError):
        hashing.hash("hunter2000")
    with pytest.raises(BusyError):
        hashing.verify(None, "hunter2000")


def test_places_are_free_again_afterwards(
    full: tuple[Passwords, threading.Event],
) -> None:
    hashing, done = full
    done.set()
    await_(lambda: hashing._room._value == 1 + MOST_WAITING)
    assert hashing.hash("hunter2000")


def test_a_place_is_given_back_after_a_failure(hashing: Passwords) -> None:
    free = hashing._room._value
    with pytest.raises(UnicodeEncodeError):
        hashing.hash("\ud800")
    assert hashing._room._value == free


def test_hashing_gives_way_to_answering(hashing: Passwords) -> None:
    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    assert hashing._threads.submit(niceness).result() > niceness()


WHERE_NOBODY_MAY_GIVE_WAY = """
import errno, pyseccomp
from redlane_hub.security.passwords import Passwords

rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "setpriority")
rules.load()
hashing = Passwords(threads=1)
print(hashing.verify(hashing.hash("hunter2000"), "hunter2000"))
hashing.close()
"""


def test_passwords_are_hashed_where_a_sandbox_lets_nobody_give_way() -> None:
    words = [sys.executable, "-c", WHERE_NOBODY_MAY_GIVE_WAY]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
