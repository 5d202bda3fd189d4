"""Fixtures of the core's tests."""

import signal
from collections.abc import Iterator

import pytest
from core.children import open_descriptors, our_children, wait_until


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    children, descriptors = our_children(), open_descriptors()
    yield
    wait_until(lambda: our_children() <= children)
    assert open_descriptors() <= descriptors


@pytest.fixture
def twenty_seconds_of_work() -> Iterator[None]:
    """Fail what works for longer; waiting for a busy machine is no work."""

    def give_up(*_: object) -> None:
        pytest.fail("20 s of the processor's time are not enough")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, 20)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
