"""Sessions of the server: ids of messages are those of one client in one of them."""

from collections import OrderedDict
from collections.abc import Callable
from secrets import token_urlsafe

from redlane.client.questions import Questions
from redlane.mcp.asked import Asked
from redlane.mcp.asking import Asking, giving_up
from redlane.mcp.front.target import Target
from redlane.mcp.loop import Loop
from redlane.mcp.ordered_writer import Writer
from redlane.mcp.pending import PendingFrames, Writers

__all__ = ["Session", "Sessions"]

_MOST = 1_000


class Session:
    """What is under way between one client and the server."""

    def __init__(self, loop: Loop, questions: Questions) -> None:
        """Nothing yet; judged by `questions`."""
        self.asked = Asked()
        self.calls = PendingFrames(loop, questions)
        self.results = PendingFrames(loop, questions)
        self.asking = Asking(giving_up(self.calls, self.results))
        self.calls.watch = self.results.watch = self.asking
        self.to_client: Writer | None = None
        """The one stream of HTTP+SSE; others answer each request by itself."""
        self.target: Target | None = None
        """Where its messages go, by HTTP+SSE."""

    @property
    def is_unused(self) -> bool:
        """Whether nothing is held in it."""
        return self.calls.is_empty and self.results.is_empty

    def close(self, owner: Writers | None = None) -> None:
        """Take back what is held, all of it or its owner's."""
        for pending in (self.calls, self.results):
            for case in pending.close(owner):
                pending.send(case, b"")


class Sessions:
    """All that are known, by the server's id; those of HTTP+SSE by one of ours."""

    def __init__(self, make: Callable[[], Session]) -> None:
        """`make` makes new ones."""
        self._make = make
        self._known: OrderedDict[str, Session] = OrderedDict()
        self._streams: dict[str, Session] = {}

    def of(self, id_: str) -> Session:
        """The session of an id; one without an id lasts for one request."""
        if not id_:
            return self._make()
        found = self._known.get(id_)
        if found is None:
            found = self._make()
            self.add(id_, found)
        self._known.move_to_end(id_)
        return found

    def add(self, id_: str, session: Session) -> None:
        """The server has named a session; two of one name are one."""
        self._known.setdefault(id_, session)
        while len(self._known) > _MOST:
            unused = (id_ for id_, each in self._known.items() if each.is_unused)
            self.drop(next(unused, next(iter(self._known))))

    def drop(self, id_: str) -> None:
        """The session has ended."""
        found = self._known.pop(id_, None)
        if found is not None:
            found.close()

    def open_stream(self, session: Session) -> str:
        """Have messages sent to the session of a stream, by the id that is returned."""
        id_ = token_urlsafe(16)
        self._streams[id_] = session
        return id_

    def stream(self, id_: str) -> Session | None:
        """The session of a stream."""
        return self._streams.get(id_)

    def close_stream(self, id_: str) -> None:
        """The stream has ended, and its session with it."""
        found = self._streams.pop(id_, None)
        if found is not None:
            found.close()
