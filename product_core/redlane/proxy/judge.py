"""Has the daemon judge: one question for each request, response, message or event.

Whatever goes wrong on the way is a refusal.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from redlane.control.proxy_frames import ProxyFrame, ProxyFrameError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.proxy.lanes import Asking, Lanes

__all__ = ["Answer", "Asker", "Judge", "Judged"]

_LONGEST_EXCERPT = 64 * 1024
_QUICK_BYTES = 32 * 1024
"""Contents of up to this size are worked out at once, larger ones in a thread."""

_MOST_KNOWN = 8192

_log = logging.getLogger(__name__)


class _GoneError(Exception):
    """The client has hung up while its question was under way."""


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


@dataclass(frozen=True, slots=True)
class Asker:
    """Who sends a request: the credentials given, and the connection they came by."""

    credential: str | None
    client: tuple[str, int]
    connection: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What becomes of it.

    `content` is what it was rewritten to. `refused`: the credentials are nobody's.
    `failed`: there is no verdict, for nobody could be asked. `reviewed`: a person has
    decided it. `flagged`: it is blocked for nobody has held it.
    """

    blocked: bool
    policy: str | None = None
    reason: str = ""
    suggestion: str | None = None
    event: str | None = None
    content: bytes | None = None
    refused: bool = False
    failed: bool = False
    reviewed: bool = False
    flagged: bool = False


class Judge:
    """Asks on behalf of connections; one that has gone asks no longer."""

    def __init__(self, lanes: Lanes) -> None:
        """Ask over `lanes`."""
        self._lanes = lanes
        self._waiting: dict[str, set[asyncio.Task[ProxyFrame]]] = {}
        self._known: dict[str, str] = {}

    async def judge(
        self,
        asker: Asker,
        context: Context,
        make: Callable[[], Judged],
        size: int,
        details: Sequence[str] = (),
        *,
        kind: str = "judge",
    ) -> Answer:
        """The verdict on what `make` makes out of `size` bytes.

        Of the kind `preview` it is neither written down nor held.
        """
        try:
            content = make() if size <= _QUICK_BYTES else await asyncio.to_thread(make)
            data, texts = content.data, tuple(content.texts)
            blobs = (data,) if texts == (data,) else (data, *texts)
            problem = content.problem
        except Exception:  # noqa: BLE001  # fails closed
            _log.exception("a content cannot be read")
            return Answer(blocked=True, reason="it cannot be read", failed=True)
        document = _document(kind, asker, context, details)
        return await self._answer(asker, {**document, "problem": problem}, blobs)

    async def who(self, asker: Asker) -> Answer:
        """Whether the credentials are a session's: asked once for a connection.

        They may be worth nothing by the time that something is judged, which tells.
        """
        if asker.credential is not None and self._knows(asker):
            return Answer(blocked=False)
        document = _document("who", asker, Context.NETWORK, ())
        return await self._answer(asker, document, ())

    def _knows(self, asker: Asker) -> bool:
        return self._known.get(asker.connection) == asker.credential

    def _note(self, asker: Asker, answer: Answer) -> None:
        """Know who has asked on a connection, as long as that is worth something."""
        if answer.refused or asker.credential is None:
            self._known.pop(asker.connection, None)
            return
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known[asker.connection] = asker.credential

    async def record(
        self,
        asker: Asker,
        context: Context,
        decision: Decision,
        reason: str,
        excerpt: bytes,
    ) -> Answer:
        """Write down what the settings have decided."""
        document = _document("record", asker, context, ())
        document |= {"verdict": decision.value, "reason": reason}
        return await self._answer(asker, document, (excerpt[:_LONGEST_EXCERPT],))

    def gone(self, connection: str) -> None:
        """Ask nothing more for a connection."""
        self._known.pop(connection, None)
        for task in self._waiting.get(connection, ()):
            task.cancel()

    async def _answer(
        self, asker: Asker, document: Mapping[str, Any], blobs: Sequence[bytes]
    ) -> Answer:
        try:
            asking = self._lanes.ask(document, blobs)
            soon = _soon(asking)
            answer = _read(soon or await self._later(asker, asking))
        except _GoneError:
            return Answer(blocked=True, reason="the client has gone", failed=True)
        except (OSError, EOFError, ProxyFrameError, KeyError, ValueError) as error:
            _log.warning("the daemon does not answer: %s", error)
            reason = "the daemon does not answer (see: redlane status)"
            return Answer(blocked=True, reason=reason, failed=True)
        self._note(asker, answer)
        return answer

    async def _later(self, asker: Asker, asking: Asking) -> ProxyFrame:
        """Wait for an answer as long as the client does; raises _GoneError."""
        task = asyncio.ensure_future(asking.later())
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


def _soon(asking: Asking) -> ProxyFrame | None:
    try:
        return asking.soon()
    except BaseException:
        asking.hang_up()
        raise


def _document(
    kind: str, asker: Asker, context: Context, details: Sequence[str]
) -> dict[str, Any]:
    return {
        "kind": kind,
        "context": context.value,
        "credential": asker.credential,
        "client": list(asker.client),
        "connection": asker.connection,
        "details": list(details),
    }


def _read(frame: ProxyFrame) -> Answer:
    document = frame.document
    decision = Decision(document["verdict"])
    # A flag that comes back was not held: it is no permission.
    return Answer(
        blocked=decision in {Decision.BLOCK, Decision.FLAG},
        policy=document["policy"],
        reason=str(document["reason"]),
        suggestion=document["suggestion"],
        event=document["event"],
        content=frame.blobs[0] if frame.blobs else None,
        refused=document["refused"] is not None,
        reviewed=document.get("reviewed") is True,
        flagged=decision is Decision.FLAG,
    )
