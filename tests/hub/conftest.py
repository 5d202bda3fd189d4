"""Two publishers and their hub, for whoever publishes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_publisher import Publisher, new_publisher


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


@pytest.fixture
def bob(running: Running) -> Publisher:
    return new_publisher(running, "bob@example.com")
