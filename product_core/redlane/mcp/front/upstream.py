"""Requests to the server, each by a thread of its own, and what it answers.

The standard library's client speaks HTTP: it may block, and so it has a thread. What
comes is handed to the loop in pieces, a few ahead of what the client has taken.
"""

import select
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from errno import ECANCELED, EINVAL
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from typing import Protocol
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from redlane.mcp.front.memory import QuotaExceededError
from redlane.mcp.front.target import Target
from redlane.wire.http1 import Field

__all__ = ["Call", "Listener", "Outgoing", "Upstream"]

_PIECE = 64 * 1024
_AHEAD = 16
_CONNECT_SECONDS = 30.0
_MOST_THREADS = 256


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What is asked."""

    method: str
    target: Target
    fields: Sequence[Field]
    body: bytes | None


class Listener(Protocol):
    """Who is told what comes, in the thread of the loop."""

    def began(self, status: int, fields: Sequence[Field]) -> None:
        """The answer's head is here."""

    def piece(self, data: bytes) -> None:
        """Some of its body is here; `Call.more` asks for more."""

    def ended(self, problem: str | None) -> None:
        """It is over; `problem`: it is not whole."""


class Call:
    """One request; whoever asked may let go of it."""

    def __init__(
        self, post: Callable[[Callable[[], None]], None], listener: Listener
    ) -> None:
        """Tell `listener`, by `post`."""
        self._post = post
        self._listener = listener
        self._room = threading.Semaphore(_AHEAD)
        self._socket: socket.socket | None = None
        self.is_given_up = False

    def more(self) -> None:
        """A piece is done with."""
        self._room.release()

    def give_up(self) -> None:
        """Hang up; nobody is told anything more."""
        self.is_given_up = True
        self._room.release()
        if self._socket is not None:
            with suppress(OSError):
                # Of the plain socket: a thread may be reading from the other.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def uses(self, connection: socket.socket) -> None:
        """Hang this up when it is given up; raises OSError if it was."""
        self._socket = connection
        if self.is_given_up:
            raise OSError(ECANCELED, "given up")

    def began(self, response: HTTPResponse) -> None:
        """Tell of the head."""
        fields = tuple(response.getheaders())
        self._tell(lambda: self._listener.began(response.status, fields))

    def piece(self, data: bytes) -> None:
        """Tell of a piece, once there is room."""
        self._room.acquire()
        self._tell(lambda: self._listener.piece(data))

    def ended(self, problem: str | None) -> None:
        """Tell that it is over."""
        self._tell(lambda: self._listener.ended(problem))

    def _tell(self, what: Callable[[], None]) -> None:
        self._post(lambda: None if self.is_given_up else what())


class Upstream:
    """A connection to the server, used for one request at a time."""

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        post: Callable[[Callable[[], None]], None],
    ) -> None:
        """Connect when something is asked; answers come by `post`."""
        self._tls = tls
        self._post = post
        self._lock = threading.Lock()
        self._idle: HTTPConnection | None = None
        self._is_closed = False

    def ask(self, outgoing: Outgoing, listener: Listener) -> Call:
        """Send a request, and have `listener` told what comes.

        A thread outlives what was given up until its connection has come to something.
        """
        call = Call(self._post, listener)
        run = threading.Thread(target=self._run, args=(outgoing, call), daemon=True)
        if threading.active_count() > _MOST_THREADS:
            raise QuotaExceededError("too much is asked of the server at once")
        try:
            run.start()
        except RuntimeError as error:
            raise QuotaExceededError(
                "this machine has no room for a thread more"
            ) from error
        return call

    def close(self) -> None:
        """Hang up when nothing is asked any more."""
        self._is_closed = True
        self._keep(None)

    def _run(self, outgoing: Outgoing, call: Call) -> None:
        """Ask; what is given up has no connection to leave behind."""
        connection: HTTPConnection | None = None
        try:
            through = _proxy(outgoing.target)
            connection = self._connect(outgoing.target, through)
            call.uses(connection.sock)
            response = _send(connection, outgoing, through)
            call.began(response)
            problem = _read(response, call)
            response.close()
        except (OSError, HTTPException, ValueError, AttributeError) as error:
            problem = _why(error)
        if connection is not None:
            if problem is None and not call.is_given_up:
                self._keep(connection)
            else:
                connection.close()
        call.ended(problem)

    def _keep(self, connection: HTTPConnection | None) -> None:
        """Leave a connection to the next request, in the place of another."""
        with self._lock:
            connection, self._idle = self._idle, connection
            if self._is_closed and self._idle is not None:
                self._idle.close()
                self._idle = None
        if connection is not None:
            connection.close()

    def _connect(self, target: Target, through: "_Proxy | None") -> HTTPConnection:
        with self._lock:
            idle, self._idle = self._idle, None
        if idle is not None and not _is_stale(idle):
            return idle
        if idle is not None:
            idle.close()
        made = _connection(target, self._tls, through)
        made.connect()
        made.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        made.sock.settimeout(None)
        return made


def _send(
    connection: HTTPConnection, outgoing: Outgoing, through: "_Proxy | None"
) -> HTTPResponse:
    path = outgoing.target.path
    extra: tuple[Field, ...] = ()
    if through is not None and outgoing.target.scheme == "http":
        path, extra = outgoing.target.url, through.credentials
    connection.putrequest(
        outgoing.method, path, skip_host=True, skip_accept_encoding=True
    )
    for name, value in (*outgoing.fields, *extra):
        connection.putheader(name, value)
    connection.endheaders(outgoing.body)
    return connection.getresponse()


def _read(response: HTTPResponse, call: Call) -> str | None:
    """Hand the body over; what is wrong with it, if anything is."""
    while piece := response.read1(_PIECE):
        call.piece(piece)
        if call.is_given_up:
            return "given up"
    return "it hung up in the middle" if response.length else None


@dataclass(frozen=True, slots=True)
class _Proxy:
    """What leads to the server by the environment, as for any other client."""

    host: str
    port: int
    credentials: tuple[Field, ...]


def _proxy(target: Target) -> _Proxy | None:
    proxies = getproxies()
    url = proxies.get(target.scheme) or proxies.get("all")
    if not url or proxy_bypass(f"{target.host}:{target.port}"):
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme != "http" or not parts.hostname:
        raise OSError(EINVAL, "the proxy of the environment is none of HTTP")
    credentials: tuple[Field, ...] = ()
    if parts.username is not None:
        known = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        token = b64encode(known.encode()).decode()
        credentials = (("Proxy-Authorization", f"Basic {token}"),)
    return _Proxy(parts.hostname, parts.port or 80, credentials)


def _connection(
    target: Target, tls: ssl.SSLContext | None, through: _Proxy | None
) -> HTTPConnection:
    host, port = target.host, target.port
    if through is not None:
        host, port = through.host, through.port
    if tls is None:
        return HTTPConnection(host, port, timeout=_CONNECT_SECONDS)
    made = HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=tls)
    if through is not None:
        made.set_tunnel(target.host, target.port, dict(through.credentials))
    return made


def _is_stale(connection: HTTPConnection) -> bool:
    """Whether the server has hung up, or says what nobody asked for."""
    if connection.sock is None:
        return True
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return bool(poll.poll(0))


def _why(error: Exception) -> str:
    """What went wrong, in words of this machine alone: the server's are not judged."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no TLS with it: {error.reason}"
    if isinstance(error, IncompleteRead):
        return "it hung up in the middle"
    if isinstance(error, OSError):
        return getattr(error, "strerror", None) or type(error).__name__
    return "it cannot be read as HTTP"
