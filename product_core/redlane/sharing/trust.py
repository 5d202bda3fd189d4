"""`hub-trust.json`: the publishers whose signatures count here, by their keys."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from redlane.errors import UsageError
from redlane.sharing.documents import as_bytes, read_document, text, texts
from redlane.sharing.names import FINGERPRINT

__all__ = ["Publisher", "Trust", "read_trust"]


@dataclass(frozen=True, slots=True)
class Publisher:
    """Since when a key is trusted (RFC 3339), and what was noted about it.

    `states`: its releases have a statement of their own, so that one without is odd.
    """

    since: str
    note: str | None
    states: bool = False


@dataclass(frozen=True, slots=True)
class Trust:
    """Trusted keys by their fingerprints, and which of them came in place of others."""

    publishers: Mapping[str, Publisher] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    """From a key that a publisher had before to the one that it has now."""

    def trusting(
        self, fingerprint: str, note: str | None, replaces: str | None = None
    ) -> "Trust":
        """With one more; `replaces`, the publisher's key so far, is trusted no more.

        Raises UsageError for a key in place of itself.
        """
        if replaces == fingerprint:
            raise UsageError("a key does not replace itself")
        since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        former = (self.publishers.get(each) for each in (fingerprint, replaces or ""))
        states = any(each is not None and each.states for each in former)
        publishers = {**self.publishers, fingerprint: Publisher(since, note, states)}
        replaced = {
            old: new for old, new in self.replaced.items() if old != fingerprint
        }
        if replaces is not None:
            publishers.pop(replaces, None)
            replaced[replaces] = fingerprint
        return Trust(publishers, replaced)

    def stating(self, fingerprints: Collection[str]) -> "Trust":
        """The same, but that these state what they sign, as far as they are trusted."""
        publishers = {
            key: replace(each, states=True) if key in fingerprints else each
            for key, each in self.publishers.items()
        }
        return Trust(publishers, self.replaced)

    def without(self, fingerprint: str) -> "Trust":
        """Without one; raises UsageError when it is not trusted."""
        if fingerprint not in self.publishers:
            raise UsageError(f"{fingerprint} is not trusted: redlane hub trusted")
        left = {
            key: each for key, each in self.publishers.items() if key != fingerprint
        }
        return Trust(left, self.replaced)

    def is_continued(self, old: str, new: str) -> bool:
        """Whether one key's publisher is known to have the other, trusted one now."""
        if old != new and new not in self.publishers:
            return False
        seen = {""}
        while old != new and old not in seen:
            seen.add(old)
            old = self.replaced.get(old, "")
        return old == new

    def as_bytes(self) -> bytes:
        """The file."""
        publishers = {key: asdict(each) for key, each in self.publishers.items()}
        return as_bytes(
            {"version": 1, "publishers": publishers, "replaced": dict(self.replaced)}
        )


def read_trust(path: Path) -> Trust:
    """Whom a file trusts; nobody without one. Raises LoadError."""
    return read_document(path, _trust, Trust())


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _trust(document: dict[str, Any]) -> Trust:
    publishers = {
        key: Publisher(
            text(each["since"]),
            None if each["note"] is None else text(each["note"]),
            _flag(each.get("states", False)),
        )
        for key, each in document["publishers"].items()
    }
    replaced = texts(document["replaced"])
    keys = (*publishers, *replaced, *replaced.values())
    if not all(FINGERPRINT.fullmatch(each) for each in keys):
        raise ValueError
    return Trust(publishers, replaced)
