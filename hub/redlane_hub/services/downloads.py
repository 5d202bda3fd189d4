"""Download counts: kept in memory, written to the database every half second.

What is shown is what is stored and what is pending. A flush moves counts from one to
the other at one moment, the commit; whoever has read the one before it and the other
after it is told so, and reads again. What is pending is lost when all processes that
share it are killed.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

from redlane_hub.errors import BusyError
from redlane_hub.services.pending import (
    OwnCounts,
    PendingCounts,
    TooManyCountsError,
)
from redlane_hub.store import downloads
from redlane_hub.store.database import Database, StoreError

__all__ = ["FLUSH_SECONDS", "Downloads"]

FLUSH_SECONDS = 0.5
"""How often what is pending is written."""

_log = logging.getLogger(__name__)


class Downloads:
    """The counts that are still to be written.

    `start` and `stop` the thread that writes them; stopping writes what is pending.
    """

    def __init__(
        self, database_path: Path, pending: PendingCounts | None = None
    ) -> None:
        # Of no more worth than a few counts: a commit need not wait for the disk.
        self._database = Database(database_path, durable=False)
        self._pending = pending or OwnCounts()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def mark(self) -> int:
        """Take it before reading stored counts: it tells if a flush came between."""
        return self._pending.flushes

    def count(self, number: int, mark: int) -> int | None:
        """Count one download, and say how many are pending with it.

        None, and nothing is counted, when the stored count must be read again.
        """
        with self._pending.locked():
            if mark != self._pending.flushes:
                return None
            with suppress(TooManyCountsError):
                return self._pending.add(number)
        self.flush()
        return None

    def pending(self, numbers: Iterable[int], mark: int) -> dict[int, int] | None:
        """How many are pending; None when the stored counts must be read again."""
        with self._pending.locked():
            if mark != self._pending.flushes:
                return None
            return {number: self._pending.of(number) for number in numbers}

    def flush(self) -> None:
        """Write what is pending; when that fails (StoreError) it stays pending."""
        with self._pending.locked():
            if not self._pending.every():
                return
        with ExitStack() as committing:
            with self._database.transaction() as connection:
                # In the transaction: another process may have written them meanwhile.
                with self._pending.locked():
                    written = self._pending.every()
                downloads.add(connection, written)
                # Nobody may look between the commit and what follows it.
                committing.enter_context(self._pending.locked())
            self._pending.take(written)

    def start(self) -> None:
        """Start writing in the background."""
        self._thread = threading.Thread(target=self._run, name="downloads", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what is pending, and stop."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        else:
            self._try(self.flush)
            self._database.close()

    def _run(self) -> None:
        # From the start, so that it is known which files they were.
        self._try(self._database.reading)
        while not self._stopping.wait(FLUSH_SECONDS):
            self._try(self.flush)
        self._try(self.flush)
        self._database.close()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except (StoreError, BusyError) as error:
            _log.warning(
                "Download counts could not be written and stay pending.",
                extra={"reason": str(error)},
            )
