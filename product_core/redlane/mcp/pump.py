"""A client and a server, and what passes between them, from the start to the end."""

import time
from contextlib import suppress

from redlane.contexts.mcp.answers import abandoned, broken, refusals
from redlane.contexts.mcp.frames import (
    Lines,
    MessageError,
    MessageFrame,
    MessageKind,
    read_frame,
)
from redlane.mcp.asked import Asked
from redlane.mcp.asking import Asking, giving_up
from redlane.mcp.child import Server, end_server
from redlane.mcp.client_side import ClientSide
from redlane.mcp.daemon import questions
from redlane.mcp.loop import Inlet, Loop, Outlet
from redlane.mcp.ordered_writer import OrderedWriter
from redlane.mcp.pending import PendingFrame, PendingFrames, Writers
from redlane.mcp.schemas import Schemas
from redlane.mcp.served import Served
from redlane.mcp.server_side import ServerSide
from redlane.mcp.waiting import Waiting
from redlane.messages import tell
from redlane.wire.answer import Answer

__all__ = ["Pump"]

_ENOUGH_BYTES = 4 * 1024 * 1024
"""So much may wait to go out before no more is read."""

_MOST_BYTES = 128 * 1024 * 1024
"""So much waits for a side only that will never read."""

_FLUSH_SECONDS = 5.0
_HOSTILE = 1


class Pump:
    """Passes messages on until the server has ended, or one side is hostile."""

    def __init__(self, served: Served, server: Server, client: tuple[int, int]) -> None:
        """Judge what passes between `client`, two descriptors, and `server`.

        `served` is what that is called.
        """
        assert server.stdin is not None  # noqa: S101  # they are pipes, as it was started
        assert server.stdout is not None  # noqa: S101
        self._server = server
        self._name = served.name
        self._loop = loop = Loop()
        self._questions = questions()
        self._asked = Asked()
        self._client_out = Outlet(loop, client[1], self._lose_client)
        self._server_in = Outlet(loop, server.stdin.fileno(), self._lose_input)
        self._to_client = OrderedWriter(self._client_out)
        self._to_server = OrderedWriter(self._server_in)
        ways = Writers(self._to_client, self._to_server)
        calls = PendingFrames(loop, self._questions)
        results = PendingFrames(loop, self._questions)
        self._calls, self._results = calls, results
        self._asking = Asking(giving_up(calls, results))
        calls.watch = results.watch = self._waiting = Waiting(self._asking)
        schemas = Schemas()
        self._client = ClientSide(served, self._asked, calls, results, ways, schemas)
        self._answers = ServerSide(served, self._asked, results, ways, schemas, _note)
        self._lines = Lines(), Lines()
        self._from_client = Inlet(loop, client[0], self._take, self._end_client)
        out = server.stdout.fileno()
        self._from_server = Inlet(loop, out, self._take_back, self._end_server)
        self._client_ended = self._server_ended = self._over = False
        self._status: int | None = None

    def run(self) -> int:
        """Serve; the status to exit with, which is the server's."""
        while not self._over:
            self._loop.turn(self._waiting.seconds_left)
            self._waiting.tick()
            self._look()
        self._flush()
        for each in (self._calls, self._results, self._questions):
            each.close()
        self._close_input()
        gone = self._status is not None or not self._client_out.is_open
        status = end_server(self._server, at_once=gone)
        return status if self._status is None else self._status

    def _look(self) -> None:
        """Read as long as the other side takes it; end what has come to its end."""
        back, on = self._to_client.pending, self._to_server.pending
        if max(back, on) > _MOST_BYTES:
            self._give_up("more than is kept waits to be read")
        self._from_server.want(wanted=back < _ENOUGH_BYTES)
        self._from_client.want(wanted=max(back, on) < _ENOUGH_BYTES)
        if self._client_ended and self._calls.is_empty and self._to_server.is_empty:
            self._close_input()
        if self._server_ended and self._results.is_empty and self._to_client.is_empty:
            self._over = True

    def _take(self, piece: bytes) -> None:
        try:
            for line in self._lines[0].feed(piece):
                if line.strip():
                    self._take_frame(read_frame(line))
                if self._over:
                    return
        except MessageError as error:
            self._to_client.send(broken(str(error)))
            self._give_up(f"the client sent {error}")

    def _take_frame(self, frame: MessageFrame) -> None:
        if not self._asking.takes(frame):
            self._asking.learn(frame)
            self._client.take(frame)

    def _take_back(self, piece: bytes) -> None:
        try:
            for line in self._lines[1].feed(piece):
                self._answers.take(line)
                if self._over:
                    return
        except MessageError as error:
            self._give_up(f"MCP server {self._name} sent {error}")

    def _end_client(self) -> None:
        if self._lines[0].rest:
            _note("the client ended in the middle of a message, which is left out")
        self._client_ended = True

    def _end_server(self) -> None:
        if self._lines[1].rest.lstrip()[:1] in {b"{", b"["}:
            _note(f"MCP server {self._name} ended in the middle of a message")
        self._server_ended = True
        self._from_client.close()
        self._abandon(f"MCP server {self._name} has ended", self._calls)

    def _lose_client(self) -> None:
        self._over = True

    def _lose_input(self) -> None:
        """The server takes no more; what it still writes is passed on."""
        self._from_client.close()
        self._client_ended = True

    def _close_input(self) -> None:
        self._server_in.close()
        with suppress(OSError):
            if self._server.stdin is not None:
                self._server.stdin.close()

    def _give_up(self, reason: str) -> None:
        """End it all; who waits for an answer is told that there is none."""
        if self._over:
            return
        self._over, self._status = True, _HOSTILE
        _note(f"{reason}: ended")
        self._abandon(reason, self._calls, self._results)
        for each in self._asked.ids:
            self._to_client.send(abandoned(each, reason))

    def _abandon(self, reason: str, *pending: PendingFrames) -> None:
        """Take back what is held, and say so to who waits for it."""
        answer = Answer.unanswered(reason)
        for direction in pending:
            for case in direction.close():
                self._refuse(direction, case, answer)

    def _refuse(
        self, direction: PendingFrames, case: PendingFrame, answer: Answer
    ) -> None:
        is_call = direction is self._calls
        kind = MessageKind.REQUEST if is_call else MessageKind.RESPONSE
        direction.send(case, b"")
        line = refusals(case.frame, kind, answer)
        if line is not None:
            self._to_client.send(line)

    def _flush(self) -> None:
        """Let the client have what it is to be told, if it takes it."""
        self._from_client.close()
        self._from_server.close()
        end = time.monotonic() + _FLUSH_SECONDS
        while self._client_out.pending and time.monotonic() < end:
            self._loop.turn(end - time.monotonic())


def _note(text: str) -> None:
    tell(text.encode("utf-8", "replace"))
