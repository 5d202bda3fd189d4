"""Keeps the restrictions of sessions, compiled in memory and as text over a kill.

Sessions name theirs by digest, so that the session table stays small and sessions with
the same restrictions share them. What cannot be had again is no rules but an error: the
session that needs it gets nothing but Blocks.
"""

import hashlib
import math
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from redlane.errors import RedlaneError, UsageError
from redlane.model.matching import MatchType
from redlane.policies.restrictions import Restrictions, parse_restrictions
from redlane.policies.ruleset import RoleRules
from redlane.state.session_file import write_whole
from redlane.wire.strict_json import parse_json

__all__ = ["RestrictionStore", "Slices"]

Slices = tuple[RoleRules, ...]
"""Compiled restrictions; empty for a session that has none."""


class RestrictionStore:
    """Restrictions by digest, each in a file of its own; safe for several threads."""

    def __init__(self, directory: Path) -> None:
        """Keep the files in `directory`, which need not be there yet."""
        self._directory = directory
        self._kept: dict[str, Restrictions] = {}
        self._loading: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def put(self, restrictions: Restrictions) -> None:
        """Keep `restrictions`; raises UsageError when that is not possible."""
        file = self._file(restrictions.digest)
        try:
            if restrictions.digest not in self._kept or not file.exists():
                write_whole(file, restrictions.text)
        except OSError as error:
            raise UsageError(
                f"{self._directory}: the session's restrictions cannot be kept "
                f"({error.strerror}), so there is no session"
            ) from error
        self._kept[restrictions.digest] = restrictions

    def rules(self, digest: str, types: Mapping[str, MatchType]) -> Slices:
        """The compiled restrictions; raises RedlaneError when they cannot be had.

        All of their match types must be among `types`, which are those in force.
        """
        kept = self._kept.get(digest)
        if kept is None:
            with self._loading[digest]:  # no other user's may have to wait for it
                kept = self._kept.get(digest) or self._load(digest, types)
                self._kept[digest] = kept
        missing = kept.types.difference(types)
        if missing:
            raise RedlaneError(
                "the session's restrictions cannot be judged: no plugin offers the "
                f"match type {min(missing)!r} any more"
            )
        return kept.slices

    def keep_only(self, digests: Collection[str]) -> None:
        """Forget all others."""
        for digest in self._kept.keys() - digests:
            del self._kept[digest]
            self._loading.pop(digest, None)
            with suppress(OSError):  # a start clears what is left over
                self._file(digest).unlink()

    def clear_files(self, digests: Collection[str]) -> None:
        """Remove the files of a daemon before this one that no session needs."""
        with suppress(OSError):
            for file in self._directory.iterdir():
                if file.stem not in digests:
                    file.unlink()

    def _load(self, digest: str, types: Mapping[str, MatchType]) -> Restrictions:
        """What the file holds, if it is what was written there."""
        try:
            text = self._file(digest).read_bytes()
        except OSError as error:
            raise RedlaneError(
                f"the session's restrictions cannot be read ({error.strerror})"
            ) from error
        if hashlib.sha256(text).hexdigest() != digest:
            raise RedlaneError("the session's restrictions have been changed on disk")
        return parse_restrictions(parse_json(text), types, math.inf)

    def _file(self, digest: str) -> Path:
        return self._directory / f"{digest}.json"
