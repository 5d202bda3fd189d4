"""Whoever waits for rules to change is woken by a change, and by nothing else."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from redlane.sessions.changes import Changes

LONG = 60.0


def waiting(
    changes: Changes, name: str | None = None
) -> tuple[threading.Thread, list[Any], threading.Semaphore]:
    """A thread that waits for a second look to find what it wants."""
    looked = threading.Semaphore(0)
    found: list[Any] = []
    looks: list[int] = []

    def look() -> int:
        looks.append(1)
        looked.release()
        return len(looks)

    def wait() -> None:
        found.append(changes.wait_until(look, lambda count: count > 1, LONG, name))

    thread = threading.Thread(target=wait)
    thread.start()
    assert looked.acquire(timeout=20)
    return thread, found, looked


def test_what_is_wanted_already_is_answered_at_once() -> None:
    assert Changes().wait_until(lambda: 7, lambda _: True, LONG) == 7


def test_time_that_is_up_answers_what_there_is() -> None:
    assert Changes().wait_until(lambda: 7, lambda _: False, 0.01) == 7


def test_change_makes_everybody_look_again() -> None:
    changes = Changes()
    threads = [waiting(changes) for _ in range(3)]
    changes.bump()
    for thread, found, _ in threads:
        thread.join(20)
        assert found == [2]


def test_change_during_the_look_is_not_missed() -> None:
    changes = Changes()
    looks: list[int] = []

    def look() -> int:
        looks.append(1)
        if len(looks) == 1:
            changes.bump()
        return len(looks)

    assert changes.wait_until(look, lambda count: count > 1, LONG) == 2


def test_end_lets_everybody_go() -> None:
    changes = Changes()
    thread, found, _ = waiting(changes)
    changes.close()
    thread.join(20)
    assert found == [1]
    assert changes.is_over
    assert changes.wait_until(lambda: 7, lambda _: False, LONG) == 7


CROWDS: dict[str, tuple[Callable[[], Changes], str | None]] = {
    "of all": (lambda: Changes(most_waiting=2), None),
    "of one name": (lambda: Changes(most_of_one=2), "alice"),
}


@pytest.mark.parametrize(("make", "name"), CROWDS.values(), ids=CROWDS)
def test_longest_waiting_goes_when_there_are_too_many(
    make: Callable[[], Changes], name: str | None
) -> None:
    changes = make()
    other = waiting(changes, "bob") if name else None
    first, second, third = (waiting(changes, name) for _ in range(3))
    first[0].join(20)
    assert first[1] == [1]
    assert second[0].is_alive()
    assert other is None or other[0].is_alive()
    changes.bump()
    for thread, found, _ in (second, third, *([other] if other else [])):
        thread.join(20)
        assert found == [2]
