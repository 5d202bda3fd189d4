"""One process that serves: the hub, its web server, and their orderly end."""

import logging
import resource
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redlane_hub.app import Hub
from redlane_hub.security.ratelimit import RateLimiter
from redlane_hub.server.counters import Counters
from redlane_hub.server.metrics import REFUSED, Metrics
from redlane_hub.server.observed import MetricsPage, Observed
from redlane_hub.server.web import WebServer
from redlane_hub.services.pending import PendingCounts
from redlane_hub.settings import Settings

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = ["Shared", "Worker"]

_MOST_DESCRIPTORS = 8192
"""For a thousand connections, their bodies on the disk, and the database."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Shared:
    """What all workers have in common, made before they are forked."""

    settings: Settings
    listeners: Sequence[socket.socket]
    metrics_listeners: Sequence[socket.socket]
    limiter: RateLimiter
    downloads: PendingCounts
    counters: Counters


class Worker:
    """Serves in the thread that calls `run`, until `stop`."""

    def __init__(self, shared: Shared, number: int = 0) -> None:
        _raise_descriptor_limit()
        self._shared = shared
        shared.counters.work_as(number)
        self._hub = Hub(
            shared.settings, limiter=shared.limiter, downloads=shared.downloads
        )
        metrics = Metrics(shared.counters, self._hub.operations)
        self._server = WebServer(
            self._served(metrics),
            self._hub.largest_body,
            shared.settings.trusted_proxies,
            is_quick_path=self._hub.quick_paths.has,
            count_refusal=lambda status: metrics.count(REFUSED, status, 0.0),
        )

    def run(self, ready: Callable[[], None], each_turn: Callable[[], None]) -> None:
        """Serve; `ready` is called when all works, `each_turn` at least every second.

        Returns when `stop` was called, what was under way is answered and what was
        counted is written.
        """
        self._hub.start()
        _log.info("A worker serves.")
        ready()
        self._server.run(each_turn)
        _log.info("A worker stops.")
        self._hub.stop()

    def stop(self) -> None:
        """Have `run` return; safe in a signal handler."""
        self._server.stop()

    def _served(
        self, metrics: Metrics
    ) -> list[tuple[socket.socket, "WSGIApplication"]]:
        application = Observed(self._hub.wsgi, metrics)
        page = MetricsPage(metrics, self._gauges)
        served: list[tuple[socket.socket, WSGIApplication]] = [
            (listener, application) for listener in self._shared.listeners
        ]
        served += [(listener, page) for listener in self._shared.metrics_listeners]
        return served

    def _gauges(self) -> dict[str, tuple[str, float]]:
        workers = ("Processes that serve.", float(self._shared.settings.workers))
        return {"workers": workers, **self._hub.gauges()}


def _raise_descriptor_limit() -> None:
    """Take as many descriptors as we may, up to what we can need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard
    wanted = min(wanted, _MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
