"""The outermost layer: every answer is counted, and logged at level debug."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from redlane_hub.http.operations import OPERATION_KEY
from redlane_hub.nonblocking import WouldWaitError
from redlane_hub.server.metrics import OTHER, Metrics

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication

__all__ = ["MetricsPage", "Observed"]

_FAILED = 500
_TEXT = "text/plain; version=0.0.4; charset=utf-8"

_log = logging.getLogger(__name__)


class Observed:
    """Counts what the application answers, and how long that took."""

    def __init__(self, application: "WSGIApplication", metrics: Metrics) -> None:
        self._application = application
        self._metrics = metrics

    def __call__(
        self, environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """What the application answers."""
        began = time.perf_counter()
        status = _FAILED

        def start(line: str, *rest: Any) -> object:  # noqa: ANN401  # WSGI's
            nonlocal status
            status = int(line[:3])
            return start_response(line, *rest)

        is_answered = True
        try:
            return self._application(environ, start)  # type: ignore[arg-type]  # nobody uses write()
        except WouldWaitError:
            is_answered = False
            raise
        finally:
            if is_answered:
                operation = environ.get(OPERATION_KEY, OTHER)
                self._count(operation, status, time.perf_counter() - began)

    def _count(self, operation: str, status: int, seconds: float) -> None:
        self._metrics.count(operation, status, seconds)
        if _log.isEnabledFor(logging.DEBUG):
            fields = {"operation": operation, "status": status}
            fields["milliseconds"] = round(seconds * 1000, 3)
            _log.debug("A request was answered.", extra=fields)


class MetricsPage:
    """`GET /metrics`, and nothing else."""

    def __init__(
        self,
        metrics: Metrics,
        gauges: Callable[[], Mapping[str, tuple[str, float]]],
    ) -> None:
        self._metrics = metrics
        self._gauges = gauges

    def __call__(
        self, environ: dict[str, Any], start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """The metrics, or 404."""
        if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) != ("GET", "/metrics"):
            status, body = "404 Not Found", b"look at /metrics\n"
        else:
            status, body = "200 OK", self._metrics.text(self._gauges()).encode()
        headers = [("Content-Type", _TEXT), ("Content-Length", str(len(body)))]
        start_response(status, headers)
        return [body]
