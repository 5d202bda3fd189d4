"""What is remembered of the tools of MCP servers: values, and how they are written.

A pin is a tool as it was when it was first seen, or accepted. A finding is what was
seen instead, and waits for a person; its id stands for exactly that definition.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from redlane.errors import RedlaneError

__all__ = [
    "FindingKind",
    "Pin",
    "PinnedServer",
    "PinsError",
    "ToolFinding",
    "canonical",
    "record_of",
    "server_key",
    "server_of",
    "short",
]

_VERSION = 1
_LONGEST_ID = 16
_LONGEST_KEY = 32
_WEIGHT = 2_000
"""What a tool takes besides its texts, in characters."""


class PinsError(RedlaneError):
    """Tools cannot be pinned, or compared with their pins: nothing passes."""


class FindingKind(StrEnum):
    """Why a tool waits for a person."""

    CHANGED = "changed"
    """It is not what was pinned."""
    ADDED = "added"
    """Its server was pinned without it."""
    SHADOWED = "shadowed"
    """It has the name of another server's tool."""
    LOOK_ALIKE = "look-alike"
    """Its name could be taken for that of another tool."""
    BLOCKED = "blocked"
    """It was never pinned, because a policy blocks what it says."""
    PROGRAM = "other-program"
    """Its server has the name of one that was started by another command."""


@dataclass(frozen=True, slots=True)
class ToolFinding:
    """What was seen of a tool; `like` names the tool or server that it is like.

    `text` is its definition. `session` is where it was seen, "" outside of any.
    """

    kind: FindingKind
    text: str
    like: str = ""
    seen: str = ""
    session: str = ""

    def id(self, key: str, tool: str) -> str:
        """Another one for every server, tool, reason and definition."""
        return _digest([key, tool, self.kind.value, self.like, self.text])


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool by its canonical definition; None: it has never been accepted."""

    text: str | None
    since: str = ""
    found: ToolFinding | None = None

    @property
    def size(self) -> int:
        """About how many characters it takes to keep."""
        found = "" if self.found is None else self.found.text
        return _WEIGHT + len(self.text or "") + len(found)


@dataclass(frozen=True, slots=True)
class PinnedServer:
    """A server and its tools; `key` is made of its name and what is started.

    `started` shows that, without secrets. `session` is where it was first seen.
    """

    key: str
    name: str
    started: str
    seen: str = ""
    session: str = ""
    tools: Mapping[str, Pin] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def id(self) -> str:
        """What a person names it by."""
        return short(self.key)

    @property
    def findings(self) -> dict[str, tuple[str, ToolFinding]]:
        """What waits for a person: by id, the tool and what was found."""
        return {
            each.found.id(self.key, tool): (tool, each.found)
            for tool, each in self.tools.items()
            if each.found is not None
        }

    @property
    def revision(self) -> str:
        """An id for all that waits for a person now, together; "" for nothing."""
        found = sorted(self.findings)
        return _digest([self.key, *found]) if found else ""

    @property
    def size(self) -> int:
        """About how many characters it takes to keep."""
        return _WEIGHT + sum(each.size + len(name) for name, each in self.tools.items())

    @property
    def is_accepted(self) -> bool:
        """Whether any tool of it is pinned."""
        return any(each.text is not None for each in self.tools.values())


def server_key(name: str, started: Sequence[str]) -> str:
    """What a server is known by: its name, and the command or URL that is started."""
    parts = json.dumps([name, *started]).encode()
    return hashlib.sha256(parts).hexdigest()[:_LONGEST_KEY]


def short(key: str) -> str:
    """What a person names a server by, of its key."""
    return key[:_LONGEST_ID]


def canonical(definition: object) -> str:
    """The definition of a tool, so that the order of its keys does not matter."""
    return json.dumps(
        definition, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def record_of(server: PinnedServer) -> dict[str, object]:
    """How a server is written down."""
    return {
        "version": _VERSION,
        "key": server.key,
        "name": server.name,
        "started": server.started,
        "seen": server.seen,
        "session": server.session,
        "tools": {name: _pin_record(each) for name, each in server.tools.items()},
    }


def server_of(record: object) -> PinnedServer:
    """The server of a record; raises PinsError for what is none."""
    fields = _object(record)
    if fields.get("version") != _VERSION:
        raise PinsError("it is of another version")
    key, name, started, seen, session = _texts(
        fields, ("key", "name", "started", "seen", "session")
    )
    tools = {each: _pin_of(pin) for each, pin in _object(fields.get("tools")).items()}
    return PinnedServer(key, name, started, seen, session, MappingProxyType(tools))


def _pin_record(pin: Pin) -> dict[str, object]:
    found = pin.found
    return {
        "definition": pin.text,
        "since": pin.since,
        "found": None
        if found is None
        else {
            "kind": found.kind.value,
            "definition": found.text,
            "like": found.like,
            "seen": found.seen,
            "session": found.session,
        },
    }


def _pin_of(record: object) -> Pin:
    fields = _object(record)
    text, found = fields.get("definition"), fields.get("found")
    if not isinstance(text, str | None) or (text is None and found is None):
        raise PinsError("a tool has no definition")
    (since,) = _texts(fields, ("since",))
    return Pin(text, since, None if found is None else _finding_of(found))


def _finding_of(record: object) -> ToolFinding:
    kind, text, like, seen, session = _texts(
        _object(record), ("kind", "definition", "like", "seen", "session")
    )
    if kind not in set(FindingKind):
        raise PinsError(f"{kind!r} is no kind of finding")
    return ToolFinding(FindingKind(kind), text, like, seen, session)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise PinsError("it has not the form of one")
    return value


def _texts(fields: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    values = [fields.get(each) for each in names]
    if not all(isinstance(each, str) for each in values):
        raise PinsError(f"a field is missing or no text (of: {', '.join(names)})")
    return [str(each) for each in values]


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:_LONGEST_ID]
