"""Questions to the daemon: as many at a time as are needed, each on its own connection.

Who asks again asks over a connection that was used before. Whatever fails on the way is
an answer too: a Block that says that nobody could be asked.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from redlane.client.connection import ConnectionLostError, QuestionConnection
from redlane.errors import RedlaneError
from redlane.wire.answer import Answer
from redlane.wire.held import HeldNotice
from redlane.wire.question import Question

__all__ = ["Connect", "PendingAnswer", "Questions"]

_MOST_IDLE = 32


class Connect(Protocol):
    """Opens a connection for questions."""

    def __call__(self) -> QuestionConnection:
        """Connect; raises RedlaneError where there is no daemon to ask."""
        ...


class PendingAnswer:
    """An answer that is not there yet; `cancel` asks no more."""

    def __init__(
        self,
        connection: QuestionConnection,
        finish: Callable[[QuestionConnection, "Answer | None"], None],
    ) -> None:
        """`finish` gets the connection back, with the answer or without one."""
        self._connection = connection
        self._finish = finish

    def fileno(self) -> int:
        """The descriptor to wait for, until it is ready for one of `events`."""
        return self._connection.fileno()

    @property
    def events(self) -> int:
        """What is waited for, as poll(2) has it."""
        return self._connection.events

    @property
    def held(self) -> HeldNotice | None:
        """That it waits for a decision, where that was asked for and is so."""
        return self._connection.held

    def advance(self) -> Answer | None:
        """The answer, if it is there now; None: wait again."""
        try:
            answer = self._connection.advance()
        except ConnectionLostError as error:
            self.cancel()
            return _unanswered(error)
        if answer is not None:
            self._finish(self._connection, answer)
        return answer

    async def later(self) -> Answer:
        """The answer, whenever it comes; a task that is cancelled hangs up."""
        try:
            while True:
                await self._ready()
                answer = self.advance()
                if answer is not None:
                    return answer
        except asyncio.CancelledError:
            self.cancel()
            raise

    async def _ready(self) -> None:
        """Wait until the connection is ready for what is to be done next."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        descriptor = self.fileno()
        writes = self._connection.wants_to_write
        watch, unwatch = (
            (loop.add_writer, loop.remove_writer)
            if writes
            else (loop.add_reader, loop.remove_reader)
        )
        watch(descriptor, _resolve, ready)
        try:
            await ready
        finally:
            unwatch(descriptor)

    def cancel(self) -> None:
        """Hang up: what is held for it is taken back."""
        self._finish(self._connection, None)


def _unanswered(error: RedlaneError) -> Answer:
    return Answer.unanswered(f"the daemon cannot be asked: {error}")


def _resolve(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)


class Questions:
    """Asks the daemon that `connect` connects to; for one thread."""

    def __init__(self, connect: Connect, most: int = 1 << 30) -> None:
        """At most `most` questions are under way at a time."""
        self._connect = connect
        self._most = most
        self._open = 0
        self._idle: list[QuestionConnection] = []

    def ask(self, question: Question) -> Answer | PendingAnswer:
        """The answer where it comes at once, else how it is waited for."""
        try:
            return self._ask(question)
        except RedlaneError as error:
            return _unanswered(error)

    def close(self) -> None:
        """Hang up every connection that nobody uses."""
        while self._idle:
            self._hang_up(self._idle.pop())

    def _ask(self, question: Question) -> Answer | PendingAnswer:
        if self._idle:
            connection = self._idle.pop()
            try:
                return self._asked(connection, question)
            except ConnectionLostError:  # the daemon was started again, perhaps
                self._hang_up(connection)
        if self._open >= self._most:
            raise RedlaneError("too much of it is held or judged at once")
        connection = self._connect()
        self._open += 1
        try:
            return self._asked(connection, question)
        except ConnectionLostError:
            self._hang_up(connection)
            raise

    def _asked(
        self, connection: QuestionConnection, question: Question
    ) -> Answer | PendingAnswer:
        connection.ask(question)
        answer = connection.soon()
        if answer is None:
            return PendingAnswer(connection, self._finish)
        self._finish(connection, answer)
        return answer

    def _finish(self, connection: QuestionConnection, answer: Answer | None) -> None:
        """Keep a connection that is free again; hang up one without its answer."""
        if answer is not None and len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            self._hang_up(connection)

    def _hang_up(self, connection: QuestionConnection) -> None:
        if connection.fileno() >= 0:
            connection.close()
            self._open -= 1
