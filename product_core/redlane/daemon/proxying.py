"""The daemon's proxy: offered to sessions, told the settings, and ended with it."""

import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redlane.contexts.network.authority import Authority
from redlane.contexts.network.installed import MISSING
from redlane.daemon.loopback import address_text
from redlane.daemon.proxy_files import kept_port
from redlane.daemon.proxy_listener import listen_for_proxy
from redlane.daemon.proxy_settings import settings_message
from redlane.daemon.proxy_watch import ProxyState, ProxyWatch
from redlane.errors import DaemonError, RedlaneError
from redlane.judging.proxy_connections import ProxyConnections
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.model.settings import Settings
from redlane.paths import Paths
from redlane.policies.loaded import Loaded
from redlane.policies.traffic import named_traffic

__all__ = ["Proxying"]

Document = Mapping[str, object]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Serving:
    """A listening socket, where it is, and what runs behind it."""

    listener: socket.socket
    host: str
    port: int
    watch: ProxyWatch

    @property
    def address(self) -> str:
        """Host and port, as they stand in an address."""
        return address_text(self.host, self.port)


class Proxying:
    """The proxy from its first session to the daemon's end; safe for several threads.

    Nothing of it is there before a session asks for it, or one of before has it.
    """

    def __init__(
        self,
        paths: Paths,
        loaded: Callable[[], Loaded],
        authority: Authority,
        tokens: ProxyTokens,
        command: Sequence[str] | None,
        connections: ProxyConnections,
        own: Callable[[], Sequence[tuple[str, int]]] = tuple,
    ) -> None:
        """Start it with `command` (None: not installed), and serve `connections`.

        What `own` tells is Redlane's own as well: it leads nobody there.
        """
        self._paths = paths
        self._loaded = loaded
        self._authority = authority
        self._tokens = tokens
        self._command = command
        self._connections = connections
        self._own = own
        self._lock = threading.Lock()
        self._serving: _Serving | None = None
        self._has_authority = False
        self._listens = ""

    def resume(self) -> None:
        """Listen where sessions of a daemon before this one were told to go."""
        if self._command is None or kept_port(self._paths.run) is None:
            return
        try:
            with self._lock:
                self._listen(self._command)
        except DaemonError as error:
            _log.error("%s", error)  # its message says all

    def prepare(self) -> None:
        """Listen, and have an authority to intercept with; raises RedlaneError."""
        if self._command is None:
            return
        settings = self._loaded().settings
        with self._lock:
            serving = self._serving or self._listen(self._command)
            self._ready_authority(settings)
        if serving.watch.problem:
            serving.watch.want()  # it may be mended by now
            raise DaemonError(
                f"the proxy does not start: {serving.watch.problem} (see the log of "
                "the daemon)"
            )

    def offer(self, session_id: str, role: str | None) -> Document | None:
        """Where a session finds the proxy, by what it is known there, whom to trust."""
        serving, loaded = self._serving, self._loaded()
        if serving is None:
            return None
        if named_traffic(loaded.ruleset, role):
            serving.watch.want()  # it will be used: nobody should wait for its start
        credential = self._tokens.credential(session_id)
        intercept = loaded.settings.tls.intercept
        return {
            "url": f"http://{credential}@{serving.address}",
            "bundle": str(self._authority.bundle) if intercept else None,
            "authority": str(self._authority.certificate) if intercept else None,
        }

    @property
    def place(self) -> tuple[str, int] | None:
        """Where it listens, if it does."""
        serving = self._serving
        return None if serving is None else (serving.host, serving.port)

    def status(self) -> Document:
        """How it is now, and what `redlane status` shows of it."""
        serving = self._serving
        state = ProxyState.IDLE if serving is None else serving.watch.state
        problem = MISSING if self._command is None else ""
        if serving is not None and serving.watch.problem:
            state, problem = ProxyState.FAILING, serving.watch.problem
        return {
            "installed": self._command is not None,
            "state": None if self._command is None else state.value,
            "address": None if serving is None else serving.address,
            "pid": None if serving is None else serving.watch.pid,
            "intercepting": self._loaded().settings.tls.intercept,
            "problem": problem or None,
        }

    def regenerate(self) -> Document:
        """Make another authority, and have it signed with from now on."""
        with self._lock:
            self._authority.regenerate()
            self._has_authority = True
            serving = self._serving
        if serving is not None:
            serving.watch.refresh()
        return {
            "bundle": str(self._authority.bundle),
            "authority": str(self._authority.certificate),
        }

    def check(self, settings: Settings) -> None:
        """Refuse settings that the proxy could not be told; raises RedlaneError."""
        self._message(settings, ())
        with self._lock:
            if self._serving is not None:
                self._has_authority = False
                self._ready_authority(settings)
                if settings.proxy.listen != self._listens:
                    _log.warning("proxy.listen takes effect when the daemon restarts")

    def refresh(self) -> None:
        """Tell the proxy what is in force now."""
        serving = self._serving
        if serving is not None:
            serving.watch.refresh()

    def look_again(self) -> None:
        """Have the proxy close what a session may not keep open any more."""
        serving = self._serving
        if serving is not None:
            serving.watch.look_again()

    def stop(self) -> None:
        """End the proxy, and listen no longer."""
        with self._lock:
            serving, self._serving, self._command = self._serving, None, None
        if serving is not None:
            serving.watch.stop()
            serving.listener.close()
        self._connections.close()

    def _listen(self, command: Sequence[str]) -> _Serving:
        """Bind the socket and watch it; to be called with the lock."""
        if self._serving is not None:
            return self._serving
        address = self._loaded().settings.proxy.listen
        listener = listen_for_proxy(address, self._paths.run)
        host, port = listener.getsockname()[:2]

        def message() -> bytes:
            settings = self._loaded().settings
            with self._lock:
                self._ready_authority(settings)
            return self._message(settings, ((host, port), *self._own()))

        watch = ProxyWatch(command, listener, message, self._connections.serve)
        self._serving = _Serving(listener, host, port, watch)
        self._listens = address
        watch.start()
        _log.info("the proxy listens at %s", self._serving.address)
        return self._serving

    def _ready_authority(self, settings: Settings) -> None:
        """Have the authority's files there; to be called with the lock."""
        has_authority = self._has_authority and self._authority.bundle.is_file()
        if has_authority or not settings.tls.intercept:
            return
        try:
            if self._authority.create():
                _log.info("made the certificate authority of TLS interception")
        except RedlaneError as error:
            raise DaemonError(f"tls.intercept: {error}") from error
        self._has_authority = True

    def _message(self, settings: Settings, own: Sequence[tuple[str, int]]) -> bytes:
        authority = self._authority
        return settings_message(settings, authority.key, authority.trusted, own)
