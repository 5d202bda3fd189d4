"""A hub that says whatever a test has it say."""

from collections.abc import Iterator

import pytest
from hostile_hub import RoutedHub


@pytest.fixture(scope="module")
def hub() -> Iterator[RoutedHub]:
    with RoutedHub() as made:
        yield made
