"""Worker threads in pools, so that the daemon can always be looked at and steered.

Verdicts may be held for a person, or wait for a checker: they have a pool of their
own, and so do the supervisors of sessions that wait for rules to change. The narrow
pool serves everything else, however many verdicts wait.
"""

import re
from typing import Any

from waitress.task import ThreadedTaskDispatcher

__all__ = ["WorkerPools"]

VERDICT_PATHS = frozenset({"/api/analyze"})
_CALLS_PATH = re.compile(r"/api/sessions/[^/]*/(?:addresses|allowed|syscalls)")
_VERDICT_THREADS = 1280
_FOLLOWING_THREADS = 224
_CONTROL_THREADS = 64


class _Pool(ThreadedTaskDispatcher):  # type: ignore[misc]  # waitress has no types
    """A pool that starts a thread when one is missing: an idle daemon has few."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def add_task(self, task: Any) -> None:  # noqa: ANN401  # waitress's signature
        """Queue a connection whose first request is complete."""
        with self.lock:
            waiting = len(self.queue) + 1
            idle = len(self.threads) - self.stop_count - self.active_count
            wanted = min(self._most, len(self.threads) + max(0, waiting - idle))
            growing = self.stop_count == 0 and wanted > len(self.threads)
        if growing:
            self.set_thread_count(wanted)
        super().add_task(task)


class WorkerPools:
    """The task dispatcher of the control server."""

    def __init__(self) -> None:
        """Empty pools; threads come with the work."""
        self._verdicts = _Pool(_VERDICT_THREADS)
        self._following = _Pool(_FOLLOWING_THREADS)
        self._control = _Pool(_CONTROL_THREADS)

    def add_task(self, channel: Any) -> None:  # noqa: ANN401  # waitress's signature
        """Queue a connection in the pool of its first request."""
        request = channel.requests[0]
        path = getattr(request, "path", "")
        pool = self._verdicts if path in VERDICT_PATHS else self._control
        if _CALLS_PATH.fullmatch(path):
            follows = getattr(request, "command", "") == "GET"
            pool = self._following if follows else self._verdicts
        pool.add_task(channel)

    def shutdown(self, timeout: float) -> None:
        """Stop the threads; what is not done within `timeout` seconds is abandoned."""
        self._verdicts.shutdown(timeout=timeout)
        self._following.shutdown(timeout=timeout)
        self._control.shutdown(timeout=timeout)
