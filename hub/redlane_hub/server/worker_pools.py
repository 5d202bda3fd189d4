"""Two pools of threads, so that who reads never waits behind who writes.

What writes may hash a password, check a schema, ask the payment provider or wait for
the disk; what reads takes a fraction of a millisecond. Few threads read: more of them
only take the interpreter from each other, and that costs a fifth of the rate. What
takes but a moment never comes here: to hand it over would cost more than to answer it.
"""

from typing import Any

from waitress.task import ThreadedTaskDispatcher

__all__ = ["READERS", "WRITERS", "WorkerPools"]

READERS = 4
WRITERS = 16

_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class WorkerPools:
    """Takes connections with a request to answer, as waitress's dispatcher does."""

    def __init__(self) -> None:
        self._reading = _pool(READERS)
        self._writing = _pool(WRITERS)

    def add_task(self, connection: Any) -> None:  # noqa: ANN401  # waitress has no types
        """Have the connection's next request answered."""
        reads = connection.requests[0].command in _READING
        (self._reading if reads else self._writing).add_task(connection)

    def shutdown(self, timeout: float) -> None:
        """End the threads, and give up on those that go on for longer."""
        for each in (self._reading, self._writing):
            each.shutdown(timeout=timeout)


def _pool(threads: int) -> Any:  # noqa: ANN401  # waitress has no types
    made = ThreadedTaskDispatcher()
    made.set_thread_count(threads)
    return made
