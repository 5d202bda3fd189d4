"""A session's places for judging: how many, who waits, and who is refused."""

import threading
from contextlib import ExitStack

from redlane.state.concurrency import MOST_AT_ONCE, MOST_WAITING, ConcurrencyLimit


def taken(stack: ExitStack, places: ConcurrencyLimit, session: str) -> list[bool]:
    return [stack.enter_context(places.one(session)) for _ in range(MOST_AT_ONCE)]


def test_one_more_than_there_are_places_is_refused_after_its_wait() -> None:
    places = ConcurrencyLimit(longest_wait=0.01)
    with ExitStack() as stack:
        assert all(taken(stack, places, "a"))
        assert stack.enter_context(places.one("a")) is False
        assert stack.enter_context(places.one("b")) is True
    with places.one("a") as free:
        assert free


def test_who_waits_gets_the_place_that_is_left() -> None:
    places = ConcurrencyLimit(longest_wait=30)
    found = []

    def wait() -> None:
        with places.one("a") as free:
            found.append(free)

    with ExitStack() as stack:
        taken(stack, places, "a")
        threads = [threading.Thread(target=wait) for _ in range(MOST_WAITING)]
        for each in threads:
            each.start()
        while places._waiting["a"] < MOST_WAITING:
            threading.Event().wait(0.005)
        assert not found
        # So many wait that one more is refused at once.
        assert stack.enter_context(places.one("a")) is False
    for each in threads:
        each.join()
    assert found == [True] * MOST_WAITING


def test_sessions_that_are_through_are_forgotten() -> None:
    places = ConcurrencyLimit()
    for number in range(100):
        with places.one(f"s{number}"):
            pass
    assert not places._running
    assert not places._waiting
