"""Turns: bounded, fair between callers, and given back."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from redlane_hub.conformance.turns import Turns
from redlane_hub.errors import BusyError


def turns(**changed: float) -> Turns:
    limits = {"at_once": 2, "waiting": 2, "waiting_each": 1, "seconds": 20.0}
    limits |= changed
    return Turns(**limits)  # type: ignore[arg-type]  # whole numbers but for seconds


@contextmanager
def waiter(turns: Turns, caller: str, ran: list[str]) -> Iterator[None]:
    """A thread that waits for its turn, gone at the end."""

    def run() -> None:
        with turns.turn(caller):
            ran.append(caller)

    thread = threading.Thread(target=run)
    before = turns._waiting.total()
    thread.start()
    while turns._waiting.total() == before and thread.is_alive():
        pass
    yield
    thread.join()


def test_one_caller_has_one_turn_at_a_time() -> None:
    made, ran = turns(), list[str]()
    with waiting_behind(made, "a", "a", ran):
        assert ran == []
    assert ran == ["a"]


@contextmanager
def waiting_behind(
    made: Turns, running: str, waiting: str, ran: list[str]
) -> Iterator[None]:
    held = made.turn(running)
    held.__enter__()
    with waiter(made, waiting, ran):
        yield
        held.__exit__(None, None, None)


def test_another_caller_goes_past() -> None:
    made, ran = turns(), list[str]()
    with waiting_behind(made, "a", "a", ran), made.turn("b"):
        assert ran == []


def test_callers_wait_for_a_free_place() -> None:
    made, ran = turns(at_once=1), list[str]()
    with waiting_behind(made, "a", "b", ran):
        assert ran == []
    assert ran == ["b"]


def test_one_caller_cannot_fill_the_queue() -> None:
    made, ran = turns(), list[str]()
    with (
        waiting_behind(made, "a", "a", ran),
        pytest.raises(BusyError, match="try again"),
        made.turn("a"),
    ):
        pass
    assert ran == ["a"]


def test_queue_is_bounded() -> None:
    made, ran = turns(at_once=1, waiting=1), list[str]()
    with (
        waiting_behind(made, "a", "b", ran),
        pytest.raises(BusyError),
        made.turn("c"),
    ):
        pass


def test_waiting_ends() -> None:
    made = turns(seconds=0.01)
    with made.turn("a"), pytest.raises(BusyError), made.turn("a"):
        pass
    assert not made._waiting.total()


def test_turn_is_given_back_when_its_check_fails() -> None:
    made = turns(at_once=1)
    with pytest.raises(LookupError), made.turn("a"):
        raise LookupError
    with made.turn("b"):
        pass
