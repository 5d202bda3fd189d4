"""Fixtures of the core's tests."""

from collections.abc import Iterator

import pytest
from core.children import open_descriptors, our_children, wait_until


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    children, descriptors = our_children(), open_descriptors()
    yield
    wait_until(lambda: our_children() <= children)
    assert open_descriptors() <= descriptors
