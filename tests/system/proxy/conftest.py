"""A proxy with a judge behind it, and a server before it, for each test."""

from collections.abc import Iterator

import pytest
from proxy_process import PROXY, ProxyProcess, proxy_process
from proxy_roads import Origin


@pytest.fixture
def proxy() -> Iterator[ProxyProcess]:
    with proxy_process() as made:
        yield made


@pytest.fixture
def started() -> Iterator[ProxyProcess]:
    """One with no memory but its own."""
    with proxy_process(program=PROXY) as made:
        yield made


@pytest.fixture
def origin() -> Iterator[Origin]:
    made = Origin()
    yield made
    made.server.close()
