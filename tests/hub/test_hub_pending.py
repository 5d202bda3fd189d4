"""Counts that wait to be written: the shared ones are as the own ones."""

import multiprocessing
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.services import pending
from redlane_hub.services.pending import (
    OwnCounts,
    PendingCounts,
    SharedCounts,
    TooManyCountsError,
)

NUMBERS = st.integers(1, 5) | st.sampled_from([8192, 8193, 16384, 2**60])
"""Few, so that they meet; some whose place in the table is the same."""


@given(st.lists(st.lists(NUMBERS)))
def test_counts_are_what_was_counted_and_not_taken(rounds: list[list[int]]) -> None:
    own, shared = OwnCounts(), SharedCounts()
    for taken, numbers in enumerate(rounds, 1):
        for number in numbers:
            assert own.add(number) == shared.add(number)
        assert own.every() == shared.every() == Counter(numbers)
        for each in (own, shared):
            each.take(each.every())
        assert own.flushes == shared.flushes == taken
        assert own.every() == shared.every() == {}


@pytest.mark.parametrize("kind", [OwnCounts, SharedCounts])
def test_what_was_counted_during_a_flush_stays(kind: type[PendingCounts]) -> None:
    counts = kind()
    for number in (1, 8193, 16385):
        counts.add(number)
    written = counts.every()
    counts.add(8193)
    counts.add(7)
    counts.take(written)
    assert counts.every() == {8193: 1, 7: 1}
    assert [counts.of(number) for number in (1, 8193, 16385, 7)] == [0, 1, 0, 1]


def test_full_table_says_so_until_it_is_emptied() -> None:
    counts = SharedCounts()
    for number in range(pending._MOST_TAKEN):
        counts.add(number)
    counts.add(0)
    with pytest.raises(TooManyCountsError):
        counts.add(pending._MOST_TAKEN)
    counts.take(counts.every())
    assert counts.add(pending._MOST_TAKEN) == 1


def count_often(counts: SharedCounts) -> None:
    for _ in range(500):
        with counts.locked():
            counts.add(7)


def test_processes_count_together() -> None:
    counts = SharedCounts()
    forked = multiprocessing.get_context("fork")
    workers = [forked.Process(target=count_often, args=(counts,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counts.every() == {7: 1500}
