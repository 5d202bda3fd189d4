"""How much is kept for each session, and when it is counted no longer."""

import pytest

from redlane.proxy.budget import Budget


@pytest.fixture
def budget() -> Budget:
    return Budget(most=100)


def test_shares_of_one_session_have_a_sum(budget: Budget) -> None:
    one, other = budget.reservation("a", "1"), budget.reservation("a", "2")
    assert one.keep(60)
    assert not other.keep(50)
    assert other.size == 0
    assert other.keep(40)
    assert one.keep(50)
    assert other.keep(50)


def test_sessions_do_not_count_for_each_other(budget: Budget) -> None:
    assert budget.reservation("a", "1").keep(100)
    assert budget.reservation("b", "1").keep(100)


def test_one_alone_may_keep_more(budget: Budget) -> None:
    """The settings may allow bodies that are longer than all are together."""
    one = budget.reservation("a", "1")
    assert one.keep(90)
    assert one.keep(500)
    assert not budget.reservation("a", "2").keep(1)


def test_what_is_over_counts_until_it_has_left(budget: Budget) -> None:
    one, other = budget.reservation("a", "1"), budget.reservation("a", "2")
    assert one.keep(100)
    one.is_over = True
    assert not other.keep(50)
    budget.drained("2")
    assert not other.keep(50)
    budget.drained("1")
    assert other.keep(50)
    budget.drained("2")
    assert other.size == 50


def test_connection_that_has_gone_keeps_nothing(budget: Budget) -> None:
    one, other = budget.reservation("a", "1"), budget.reservation("a", "2")
    assert one.keep(100)
    budget.gone("1")
    assert not one.keep(1)
    assert other.keep(100)
