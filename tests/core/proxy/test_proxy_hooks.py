"""Hooks reach what handles them, in order, and a request that one fails on goes on no
further."""

import asyncio
import logging

import pytest
from mitmproxy.proxy.layers.http import HttpRequestHook
from mitmproxy.test import tflow

from redlane.proxy.hooks import Hooks


class Telling:
    """Tells that it was asked, at once and later."""

    def __init__(self, told: list[str], name: str) -> None:
        self._told, self._name = told, name

    async def request(self, _flow: object) -> None:
        await asyncio.sleep(0)
        self._told.append(self._name)


class Failing:
    """Fails in a hook that is no coroutine."""

    def request(self, _flow: object) -> None:
        raise LookupError("nothing is there")


def run(*addons: object) -> bool:
    """Whether a request goes on after its hook."""
    flow = tflow.tflow()
    asyncio.run(Hooks(addons).run(HttpRequestHook(flow)))
    return flow.error is None


def test_everybody_is_asked_in_order() -> None:
    told: list[str] = []

    assert run(Telling(told, "first"), object(), Telling(told, "second"))
    assert told == ["first", "second"]


def test_a_request_that_a_hook_fails_on_goes_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told: list[str] = []
    with caplog.at_level(logging.ERROR):
        assert not run(Failing(), Telling(told, "behind"))
    assert not told
    assert "the hook request of the proxy failed" in caplog.text
