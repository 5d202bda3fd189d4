"""The HTTP server of the control socket: waitress, with the bounds that a guard needs.

It runs in the thread that calls `run`, sleeps without waking while nobody is connected,
makes room for a new connection by closing the one that was idle longest, and stops in
order: no new connections, running requests answered, then the end.
"""

import logging
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.server import UnixWSGIServer

from redlane.control.channel import ControlChannel
from redlane.control.roomy import MakesRoom
from redlane.control.worker_pools import WorkerPools
from redlane.judging.connection_limit import ConnectionLimit, Counted
from redlane.judging.memory_quota import MemoryQuota
from redlane.membership.peers import Peer
from redlane.wire.limits import MOST_BODY_BYTES

__all__ = ["ControlServer"]

_MOST_OF_USER = 48
_IDLE_SECONDS = 60
_CLEANUP_SECONDS = 20
_DRAIN_POLL_SECONDS = 0.05
_LATE_SECONDS = 0.1
_LAST_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Beat:
    """What is called again and again, and when it is due."""

    seconds: float
    function: Callable[[], None]
    due: float

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.due - time.monotonic())

    def call_if_due(self) -> None:
        if not self.seconds_left:
            self.due = time.monotonic() + self.seconds
            self.function()


class ControlServer(MakesRoom, UnixWSGIServer):  # type: ignore[misc]  # waitress has no types
    """Serves `application` on a listening socket until `drain` is called."""

    channel_class = ControlChannel

    def __init__(
        self,
        application: object,
        listener: socket.socket,
        counted: Counted = lambda _: None,
    ) -> None:
        """Serve `listener`, bound and listening; nothing is accepted before `run`.

        By `counted` the connections of one user are bounded, and what they send.
        """
        self.let_stand_for: Callable[[Peer, int], None] = lambda peer, _: peer.close()
        """Told a peer that says for which process it has connected."""
        self.connections_of = ConnectionLimit(_MOST_OF_USER, counted)
        self.quota = MemoryQuota(MOST_BODY_BYTES, counted)
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._listens_until = 0.0
        self._beat: _Beat | None = None
        self._deadline: float | None = None
        self._pools = WorkerPools()
        super().__init__(
            application,
            map={},
            _sock=listener,
            dispatcher=self._pools,
            adj=Adjustments(
                sockets=[listener],
                ident="redlane",
                connection_limit=2 * self.most_connections,
                channel_timeout=_IDLE_SECONDS,
                cleanup_interval=_CLEANUP_SECONDS,
                max_request_body_size=MOST_BODY_BYTES,
                max_request_header_size=64 * 1024,
                log_socket_errors=False,
                clear_untrusted_proxy_headers=False,
            ),
            sockinfo=(listener.family, listener.type, None, None),
            bind_socket=False,
        )

    def call(self, function: Callable[[], None]) -> None:
        """Have the thread of `run` call `function` soon; safe in a signal handler."""
        self._calls.put(function)
        self.pull_trigger()

    def every(self, seconds: float, function: Callable[[], None]) -> None:
        """Have the thread of `run` call `function` every so many seconds."""
        self._beat = _Beat(seconds, function, time.monotonic() + seconds)

    def drain(self, seconds: float) -> None:
        """Accept nothing more; `run` returns when all is answered, or after `seconds`.

        To be called in the thread of `run`, so from elsewhere by way of `call`.
        """
        if self._deadline is None:
            now = time.monotonic()
            self._deadline, self._listens_until = now + seconds, now + _LATE_SECONDS
            self.accepting = False
            self.del_channel()
            self.socket.close()

    def run(self) -> None:
        """Serve until `drain` was called and the last answer is out."""
        while not self._finished():
            wasyncore.poll2(self._longest_sleep(), self._map)
            self._run_calls()
            if self._beat is not None:
                self._beat.call_if_due()
        self._pools.shutdown(_LAST_SECONDS)
        wasyncore.close_all(self._map)

    def _longest_sleep(self) -> float | None:
        """How long to sleep for: without an end when there is nothing to look after."""
        if self._deadline is not None:
            return _DRAIN_POLL_SECONDS
        cleanup = _CLEANUP_SECONDS if self.active_channels else None
        if self._beat is None:
            return cleanup
        left = self._beat.seconds_left
        return left if cleanup is None else min(cleanup, left)

    def _finished(self) -> bool:
        if self._deadline is None:
            return False
        now = time.monotonic()
        if now >= self._deadline:
            return True
        # Who has just connected is about to ask.
        if now < self._listens_until:
            return False
        channels = self.active_channels.values()
        return not any(each.requests or each.total_outbufs_len for each in channels)

    def _run_calls(self) -> None:
        """Do what was asked for; one call that fails does not end the server."""
        while True:
            try:
                function = self._calls.get_nowait()
            except Empty:
                return
            try:
                function()
            except Exception:  # noqa: BLE001  # the server must go on, whatever a call does
                _log.exception("a deferred call failed")
