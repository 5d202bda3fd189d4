"""What the daemon is asked over connections for many questions, as a value.

Whoever asks makes one and sends it; the daemon reads it back, strictly and once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from redlane.errors import RedlaneError
from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.frames import pack

__all__ = [
    "CalledTool",
    "Listed",
    "Origin",
    "Question",
    "QuestionError",
    "QuestionKind",
    "Recorded",
    "Step",
    "read_question",
]

_MOST_DETAILS = 20
_MOST_WORDS = 4_096
_MALFORMED = "the question has not the form of one"

Value = TypeVar("Value")
Document = Mapping[str, Any]


class QuestionError(RedlaneError):
    """What is asked is no question."""


class QuestionKind(StrEnum):
    """What is wanted to be known."""

    JUDGE = "judge"
    """The verdict: written down, and held for a person where it is a Flag."""
    PREVIEW = "preview"
    """What the verdict would be: nothing may come of it but the question itself."""
    RECORD = "record"
    """That something is written down which settings have decided, and no policy."""
    WHO = "who"
    """Whether the origin's credential is a session's."""
    PARTS = "parts"
    """Which parts of a message are blocked each by itself."""
    TOOLS = "tools"
    """How the tools stand that an MCP server lists."""


class Step(StrEnum):
    """What is to become of the tools of a list."""

    LOOK = "look"
    PIN = "pin"
    BLOCK = "block"


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose traffic the proxy asks about: credentials, and where they came from.

    `client` is a host and a port on this machine; `connection` names the connection
    for as long as it lasts.
    """

    credential: str | None
    client: tuple[str, int]
    connection: str


@dataclass(frozen=True, slots=True)
class CalledTool:
    """What is known of the tool of an MCP call besides the call itself.

    `server_key` tells its server from others of the same name; `left_out` is why the
    client was not shown the tool, or "". `place` is where its server is reached by
    HTTP: `host:port`, or "".
    """

    server_key: str
    left_out: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What settings have decided, and why."""

    verdict: Decision
    reason: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Where listed tools come from: the server's name, and the command or URL.

    `is_last`: nothing of the list follows on another page.
    """

    step: Step
    server: str
    started: tuple[str, ...]
    is_last: bool


@dataclass(frozen=True, slots=True)
class Question:
    """One question; contents are the `blobs`.

    Of a message that a server sent, the first `values` blobs are the texts that a
    Modify may rewrite; the others are seen besides. `parts` says how many of either
    each part of a message has. `details` say, a line each, what a person must know to
    decide; `problem` why the blobs are not all that is to be seen.
    """

    kind: QuestionKind
    context: Context
    blobs: tuple[bytes, ...] = ()
    details: tuple[str, ...] = ()
    problem: str = ""
    values: int = 1
    parts: tuple[tuple[int, int], ...] = ()
    origin: Origin | None = None
    tool: CalledTool | None = None
    recorded: Recorded | None = None
    listed: Listed | None = None
    tells_held: bool = False
    """Whether whoever asks wants to be told that it waits for a decision."""
    request: str = ""
    """Names the request that it is about, where more is asked about that."""

    def pieces(self) -> list[bytes]:
        """What to send, in order: contents are not copied, they may be large."""
        return pack(self._document(), self.blobs)

    def with_blobs(self, blobs: Sequence[bytes]) -> "Question":
        """The question with its contents; raises QuestionError unless they fit."""
        count = len(blobs)
        needed = self.values if self.kind is QuestionKind.JUDGE else 0
        if self.kind is QuestionKind.PARTS:
            needed = sum(values + texts for values, texts in self.parts)
        wants_one = self.kind in {
            QuestionKind.JUDGE,
            QuestionKind.PREVIEW,
            QuestionKind.RECORD,
        }
        if needed > count or (wants_one and not count):
            raise QuestionError(_MALFORMED)
        return replace(self, blobs=tuple(blobs))

    def _document(self) -> dict[str, Any]:
        """The JSON object; what is as usual is left out."""
        document: dict[str, Any] = {"kind": self.kind, "context": self.context}
        if self.details:
            document["details"] = self.details
        if self.problem:
            document["problem"] = self.problem
        if self.values != 1:
            document["values"] = self.values
        if self.parts:
            document["parts"] = self.parts
        if self.request:
            document["request"] = self.request
        if self.tells_held:
            document["tells_held"] = True
        for part in (self.origin, self.tool, self.recorded, self.listed):
            if part is not None:
                document |= {name: getattr(part, name) for name in part.__slots__}
        return document


def read_question(document: Document) -> Question:
    """The question of a frame's JSON object, without its blobs.

    Raises QuestionError for another form.
    """
    try:
        kind, context = QuestionKind(document["kind"]), Context(document["context"])
    except (KeyError, ValueError, TypeError) as error:
        raise QuestionError("there is no question of that kind") from error
    return Question(
        kind,
        context,
        details=_details(document),
        problem=_optional(document, "problem", str) or "",
        values=_count(document.get("values", 1)),
        parts=_parts(document.get("parts") or ()),
        origin=_origin(document),
        request=_optional(document, "request", str) or "",
        tool=_tool(document),
        recorded=_recorded(document) if kind is QuestionKind.RECORD else None,
        listed=_listed(document) if kind is QuestionKind.TOOLS else None,
        tells_held=document.get("tells_held") is True,
    )


def _details(document: Document) -> tuple[str, ...]:
    """So many that a person reads them; the last tells that there are more."""
    details = _texts(document, "details")
    return details if len(details) <= _MOST_DETAILS else (*details[:_MOST_DETAILS], "…")


def _origin(document: Document) -> Origin | None:
    if "connection" not in document and "credential" not in document:
        return None
    client = document.get("client")
    if not isinstance(client, list) or list(map(type, client)) != [str, int]:
        raise QuestionError(_MALFORMED)
    return Origin(
        _optional(document, "credential", str),
        (client[0], client[1]),
        _optional(document, "connection", str) or "",
    )


def _tool(document: Document) -> CalledTool | None:
    key = _optional(document, "server_key", str)
    left_out = _optional(document, "left_out", str) or ""
    place = _optional(document, "place", str) or ""
    return None if key is None else CalledTool(key, left_out, place)


def _recorded(document: Document) -> Recorded:
    try:
        decision = Decision(str(document.get("verdict")))
    except ValueError as error:
        raise QuestionError("there is no verdict of that name to record") from error
    return Recorded(decision, _optional(document, "reason", str) or "")


def _listed(document: Document) -> Listed:
    server = _optional(document, "server", str) or ""
    started = _texts(document, "started")
    if not 0 < len(server) <= _MOST_WORDS or not 0 < len(started) <= _MOST_WORDS:
        raise QuestionError(_MALFORMED)
    try:
        step = Step(str(document.get("step")))
    except ValueError as error:
        raise QuestionError(_MALFORMED) from error
    return Listed(step, server, started, document.get("is_last") is True)


def _parts(given: object) -> tuple[tuple[int, int], ...]:
    if not isinstance(given, list | tuple):
        raise QuestionError(_MALFORMED)
    parts = []
    for part in given:
        if not isinstance(part, list) or len(part) != 2:  # noqa: PLR2004  # a pair
            raise QuestionError(_MALFORMED)
        parts.append((_count(part[0]), _count(part[1])))
    return tuple(parts)


def _count(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise QuestionError(_MALFORMED)
    return given


def _texts(document: Document, name: str) -> tuple[str, ...]:
    texts = document.get(name) or []
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise QuestionError(_MALFORMED)
    return tuple(texts)


def _optional(document: Document, name: str, kind: type[Value]) -> Value | None:
    value = document.get(name)
    if value is not None and not isinstance(value, kind):
        raise QuestionError(_MALFORMED)
    return value
