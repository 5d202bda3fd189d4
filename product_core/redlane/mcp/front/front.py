"""A server over HTTP and its clients, from the first connection to the end."""

import resource
import select
import signal
import socket
import ssl
import time
from collections.abc import Sequence
from http import HTTPStatus
from operator import itemgetter

from redlane.mcp.daemon import find_socket, questions
from redlane.mcp.front.access import check_head, may_connect
from redlane.mcp.front.bridge import Bridge
from redlane.mcp.front.client_connection import ClientConnection
from redlane.mcp.front.context import MESSAGES, FrontContext
from redlane.mcp.front.exchange import Exchange
from redlane.mcp.front.heads import HttpRequest
from redlane.mcp.front.listening import Ending, Listening
from redlane.mcp.front.memory import Memory
from redlane.mcp.front.posting import Posting
from redlane.mcp.front.reply import Reply
from redlane.mcp.front.sessions import Session, Sessions
from redlane.mcp.front.target import Target
from redlane.mcp.front.upstream import Upstream
from redlane.mcp.loop import Loop
from redlane.mcp.served import Served
from redlane.messages import tell
from redlane.wire.http1 import HttpError

__all__ = ["Front"]

_MOST_VISITORS = 128
_MOST_BYTES = 128 * 1024 * 1024
_TICK_SECONDS = 1.0
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Front:
    """Listens, and has every message judged that passes."""

    def __init__(self, name: str, target: Target, listener: socket.socket) -> None:
        """Judge what passes between clients at `listener` and the server `name`."""
        _raise_limit()
        self._loop = Loop()
        self._listener = listener
        self._bridge = Bridge(self._loop)
        self._questions = questions()
        self._memory = Memory(_MOST_BYTES)
        secure = target.scheme == "https"
        self._context = FrontContext(
            served=Served(name, (target.url,), f"{target.host}:{target.port}"),
            target=target,
            tls=ssl.create_default_context() if secure else None,
            sessions=Sessions(lambda: Session(self._loop, self._questions)),
            post=self._bridge.post,
            tell=_tell,
            memory=self._memory,
        )
        self._connections: set[ClientConnection] = set()
        self._host, self._port = listener.getsockname()[:2]
        self._path = target.path.partition("?")[0]
        self._listens = self._over = False
        self._ticked = time.monotonic()
        for number in _ENDING:
            signal.signal(number, lambda *_: self._bridge.post(self._end))

    @property
    def url(self) -> str:
        """What a client is to be told."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}{self._path}"

    def run(self) -> int:
        """Serve until a signal ends it; the status to exit with."""
        while not self._over:
            self._listen(wanted=self._has_room())
            self._loop.turn(_TICK_SECONDS if self._connections else None)
            self._look()
        for each in list(self._connections):
            each.close()
        self._questions.close()
        self._listener.close()
        return 0

    def _end(self) -> None:
        self._over = True

    def _listen(self, *, wanted: bool) -> None:
        """Take connections, or let them wait."""
        if wanted == self._listens:
            return
        self._listens = wanted
        if wanted:
            self._loop.watch(self._listener.fileno(), select.POLLIN, self._accept)
        else:
            self._loop.unwatch(self._listener.fileno())

    def _has_room(self) -> bool:
        """Whether another may come, perhaps in the place of one that is idle."""
        return len(self._connections) < _MOST_VISITORS or any(
            each.idle_since is not None for each in self._connections
        )

    def _make_room(self) -> None:
        idle = [
            (each.idle_since, each)
            for each in self._connections
            if each.idle_since is not None
        ]
        if len(self._connections) >= _MOST_VISITORS and idle:
            _, longest = min(idle, key=itemgetter(0))
            longest.close()
            self._connections.discard(longest)

    def _look(self) -> None:
        now = time.monotonic()
        is_due = now - self._ticked >= _TICK_SECONDS
        if is_due:
            self._ticked = now
        for each in list(self._connections):
            each.look()
            if is_due:
                each.tick(now)
            if each.is_gone:
                self._connections.discard(each)

    def _accept(self) -> None:
        try:
            connection, client = self._listener.accept()
        except OSError:
            return
        if not may_connect(client[:2], (self._host, self._port), find_socket):
            connection.close()
            self._context.note("a connection not known to be of this user was hung up")
            return
        self._make_room()
        upstream = self._context.connection()
        room = self._memory
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            served = ClientConnection(
                self._loop, connection, self._serve, upstream, room
            )
        except OSError:  # it has gone, or there are no descriptors left
            connection.close()
        else:
            self._connections.add(served)

    def _serve(
        self, request: HttpRequest, reply: Reply, upstream: Upstream
    ) -> Exchange:
        """The exchange for a request; raises HttpError."""
        head, context = request.head, self._context
        check_head(head, self._port)
        path = head.target.partition("?")[0]
        if path.startswith(MESSAGES) and path != self._path:
            session = context.sessions.stream(path.removeprefix(MESSAGES))
            if session is None:
                raise HttpError(HTTPStatus.NOT_FOUND, "there is no such session")
            _check_method(head.method, ("POST",))
            return Posting(context, request, reply, upstream, session)
        if head.target not in (self._path, context.target.path):
            raise HttpError(HTTPStatus.NOT_FOUND, f"it is served at {self._path}")
        _check_method(head.method, tuple(_KINDS))
        return _KINDS[head.method](context, request, reply, upstream)


_KINDS: dict[str, type[Posting | Listening | Ending]] = {
    "POST": Posting,
    "GET": Listening,
    "DELETE": Ending,
}


def _check_method(method: str, known: Sequence[str]) -> None:
    if method not in known:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, f"no method {method} here")


def _raise_limit() -> None:
    """Each client takes a few descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 4096) if hard != resource.RLIM_INFINITY else 4096
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _tell(text: str) -> None:
    tell(text.encode("utf-8", "replace"))
