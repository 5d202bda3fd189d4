"""The service as a whole: what `redlane-hub serve` starts, in order."""

import dataclasses
import logging
import os
import signal
from collections.abc import Callable, Mapping
from types import FrameType

from redlane_hub import __version__
from redlane_hub.security.ratelimit import RateLimiter
from redlane_hub.security.secrets import load_secrets
from redlane_hub.server import readiness
from redlane_hub.server.logs import start_logging
from redlane_hub.server.master import Master
from redlane_hub.server.metrics import counters_for
from redlane_hub.server.notify import Notifier
from redlane_hub.server.sockets import (
    listening_sockets,
    loopback_sockets,
    url_of,
)
from redlane_hub.server.worker import Shared, Worker
from redlane_hub.services.pending import OwnCounts, SharedCounts
from redlane_hub.settings import Settings
from redlane_hub.store.migrations import migrate

__all__ = ["serve"]

_AT_ONCE = 1
"""The exit code when a second signal leaves no time to end in order."""

_log = logging.getLogger(__name__)


def serve(
    settings: Settings, environ: Mapping[str, str], announce: Callable[[str], None]
) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.

    `announce` gets the line that says where, once connections are accepted. Raises
    OperatorError for what the operator can mend.
    """
    start_logging(settings.log_level, environ)
    shared = _prepare(settings, environ)
    for each in readiness.warnings(settings, environ):
        _log.warning(each)
    settings = shared.settings
    places = ", ".join(url_of(each) for each in shared.listeners)
    notifier = Notifier(environ)

    def ready() -> None:
        fields = {"version": __version__, "workers": settings.workers}
        _log.info("The hub listens.", extra=fields)
        notifier.ready()
        for each in shared.metrics_listeners:
            announce(f"redlane-hub: metrics at {url_of(each)}/metrics")
        announce(f"redlane-hub: listening on {places}")

    if settings.workers == 1:
        return _serve_alone(shared, ready, notifier)
    master = Master(
        settings.workers,
        lambda number, serves: _serve_with_others(shared, number, serves),
        ready=ready,
        stopping=notifier.stopping,
        each_turn=notifier.alive,
    )
    return master.run()


def _prepare(settings: Settings, environ: Mapping[str, str]) -> Shared:
    """All that can be wrong with the machine is found here, before anything starts."""
    metrics = settings.metrics_listen
    metrics_listeners = loopback_sockets(metrics) if metrics else []
    listeners = listening_sockets(settings.listen, environ)
    migrate(settings.database_path)
    load_secrets(settings)
    place = url_of(listeners[0])
    if place.startswith("http://"):
        # The port that was got, where any was asked for: links are made of it.
        listen = place.removeprefix("http://")
        settings = dataclasses.replace(settings, listen=listen)
    several = settings.workers > 1
    return Shared(
        settings,
        listeners,
        metrics_listeners,
        RateLimiter(processes=several),
        SharedCounts() if several else OwnCounts(),
        counters_for(settings.workers),
    )


def _serve_alone(shared: Shared, ready: Callable[[], None], notifier: Notifier) -> int:
    worker = Worker(shared)
    asked = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os._exit(_AT_ONCE)
        asked = True
        notifier.stopping()
        worker.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    worker.run(ready, notifier.alive)
    return 0


def _serve_with_others(shared: Shared, number: int, serves: Callable[[], None]) -> None:
    """Serve as one of several, in a process of its own."""
    worker = Worker(shared, number)
    # Ctrl-C reaches every process; it is the master that passes on what it means. And
    # a service manager may send SIGTERM to all: the second one is then no hurry.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: worker.stop())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    worker.run(serves, lambda: None)
