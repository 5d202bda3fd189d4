"""Has the daemon judge: one question for each request, response, message or event.

Whatever goes wrong on the way is a refusal.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from redlane.client.questions import PendingAnswer, Questions
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer, WhyUnjudged
from redlane.wire.question import CalledTool, Origin, Question, QuestionKind, Recorded

__all__ = ["QUICK_BYTES", "About", "Judge", "Judged"]

_LONGEST_EXCERPT = 64 * 1024
QUICK_BYTES = 32 * 1024
"""Contents of up to this size are worked out at once, larger ones in a thread."""

_MOST_KNOWN = 8192

_UNANSWERED = "the daemon does not answer (see: redlane status)"

_log = logging.getLogger(__name__)


class _GoneError(Exception):
    """The client has hung up while its question was under way."""


@dataclass(frozen=True, slots=True)
class About:
    """What further questions are about as well: a request, or a call in one.

    A call has the `place` of its server: `host:port`.
    """

    request: str
    place: str = ""

    @property
    def tool(self) -> CalledTool | None:
        """What is known of the tool that is called, if one is."""
        return CalledTool("", place=self.place) if self.place else None


class Judged(Protocol):
    """A content with the texts that policies see."""

    @property
    def data(self) -> bytes:
        """The content itself."""
        ...

    @property
    def texts(self) -> Sequence[bytes]:
        """What Block and Flag see besides."""
        ...

    @property
    def problem(self) -> str | None:
        """Why that is not all there is to see, or None."""
        ...


class Judge:
    """Asks on behalf of connections; one that has gone asks no longer."""

    def __init__(self, questions: Questions) -> None:
        """Have `questions` asked."""
        self._questions = questions
        self._waiting: dict[str, set[asyncio.Task[Answer]]] = {}
        self._known: dict[str, str] = {}

    async def judge(
        self,
        asker: Origin,
        context: Context,
        make: Callable[[], Judged],
        size: int,
        details: Sequence[str] = (),
        *,
        kind: QuestionKind = QuestionKind.JUDGE,
        about: About | None = None,
    ) -> Answer:
        """The verdict on what `make` makes out of `size` bytes.

        As a PREVIEW it is neither written down nor held. `about` tells what several
        questions have in common.
        """
        try:
            content = make() if size <= QUICK_BYTES else await asyncio.to_thread(make)
            data, texts = content.data, tuple(content.texts)
            blobs = (data,) if texts == (data,) else (data, *texts)
            problem = content.problem or ""
        except Exception:  # noqa: BLE001  # fails closed
            _log.exception("a content cannot be read")
            return Answer.unanswered("it cannot be read")
        question = Question(
            kind,
            context,
            blobs,
            tuple(details),
            problem,
            origin=asker,
            request="" if about is None else about.request,
            tool=None if about is None else about.tool,
        )
        return await self._answer(asker, question)

    async def who(self, asker: Origin) -> Answer:
        """Whether the credentials are a session's: asked once for a connection.

        They may be worth nothing by the time that something is judged, which tells.
        """
        if asker.credential is not None and self._knows(asker):
            return Answer(Decision.ALLOW)
        question = Question(QuestionKind.WHO, Context.NETWORK, origin=asker)
        return await self._answer(asker, question)

    def _knows(self, asker: Origin) -> bool:
        return self._known.get(asker.connection) == asker.credential

    def _note(self, asker: Origin, answer: Answer) -> None:
        """Know who has asked on a connection, as long as that is worth something."""
        if answer.refused is WhyUnjudged.CREDENTIAL or asker.credential is None:
            self._known.pop(asker.connection, None)
            return
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known[asker.connection] = asker.credential

    async def record(
        self,
        asker: Origin,
        context: Context,
        decision: Decision,
        reason: str,
        excerpt: bytes,
    ) -> Answer:
        """Write down what the settings have decided."""
        question = Question(
            QuestionKind.RECORD,
            context,
            (excerpt[:_LONGEST_EXCERPT],),
            origin=asker,
            recorded=Recorded(decision, reason),
        )
        return await self._answer(asker, question)

    def gone(self, connection: str) -> None:
        """Ask nothing more for a connection."""
        self._known.pop(connection, None)
        for task in self._waiting.get(connection, ()):
            task.cancel()

    async def _answer(self, asker: Origin, question: Question) -> Answer:
        try:
            answer = self._questions.ask(question)
            if isinstance(answer, PendingAnswer):
                answer = await self._later(asker, answer)
        except _GoneError:
            return Answer.unanswered("the client has gone")
        if answer.refused is WhyUnjudged.UNANSWERED:
            _log.warning("the daemon does not answer: %s", answer.reason)
            return Answer.unanswered(_UNANSWERED)
        self._note(asker, answer)
        return answer

    async def _later(self, asker: Origin, pending: PendingAnswer) -> Answer:
        """Wait for an answer as long as the client does; raises _GoneError."""
        task = asyncio.ensure_future(pending.later())
        waiting = self._waiting.setdefault(asker.connection, set())
        waiting.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task.cancelled():
                raise _GoneError from None
            task.cancel()
            raise
        finally:
            waiting.discard(task)
            if not waiting:
                self._waiting.pop(asker.connection, None)
