"""Match types that are prepared: once for each load, and closed behind its last use.

A load gives such a type its settings. It is prepared when a role that needs it is
compiled, and closed when neither rules nor anyone who judges by them hold it any more:
a reload never takes a model from a verdict under way.
"""

import contextlib
import sys
import threading
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence

from redlane.errors import LoadError
from redlane.model.content import Content, Reader
from redlane.model.field import Field
from redlane.model.matching import Answer, Matcher, Preparation, PreparedMatchType
from redlane.model.policy import Context, Policy
from redlane.model.problem import Problem

__all__ = ["PreparedType"]


class PreparedType:
    """A match type that a plugin prepares, with the settings of one load.

    Without settings, because they are wrong or nobody has read them, nothing compiles.
    """

    def __init__(
        self,
        match_type: PreparedMatchType,
        values: Mapping[str, object] | None = None,
    ) -> None:
        """Read what the match type says of itself; prepare nothing yet."""
        self._match_type = match_type
        self._values = values
        self._lock = threading.Lock()
        self._ready: Preparation | None = None
        self.name: str = match_type.name
        self.contexts: frozenset[Context] = match_type.contexts
        self.reader: Reader = match_type.reader
        self.fields: Collection[str | Field] = match_type.fields
        self.ignores_action: bool = match_type.ignores_action
        self.settings: tuple[Field, ...] = tuple(match_type.settings)

    def with_settings(self, values: Mapping[str, object] | None) -> "PreparedType":
        """The same match type for another load; None says that they are wrong."""
        return PreparedType(self._match_type, values)

    def problems(self, policy: Policy) -> Iterable[Problem]:
        """What the match type finds wrong with a policy."""
        return self._match_type.problems(policy)

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """A matcher that keeps what it was prepared from; may raise anything."""
        return _KeepingMatcher(self._prepared().compile(policies), self)

    def _prepared(self) -> Preparation:
        with self._lock:
            if self._ready is None:
                if self._values is None:
                    raise LoadError(f"the settings of {self.name!r} cannot be used")
                # What a library prints while it loads must not mix with an answer.
                with contextlib.redirect_stdout(sys.stderr):
                    self._ready = self._match_type.prepare(self._values)
                weakref.finalize(self, _close, self._ready, self.name)
            return self._ready


class _KeepingMatcher:
    """A matcher, and what must not be closed while it can be asked."""

    __slots__ = ("_matcher", "_prepared")

    def __init__(self, matcher: Matcher, prepared: PreparedType) -> None:
        self._matcher = matcher
        self._prepared = prepared

    def answers(
        self, content: Content, views: tuple[bytes, ...], before: int
    ) -> Iterable[Answer]:
        """What the matcher answers."""
        return self._matcher.answers(content, views, before)


def _close(ready: Preparation, name: str) -> None:
    """Close what was prepared; a plugin that fails to is told, and harms nobody."""
    try:
        ready.close()
    except (Exception, SystemExit):
        import logging  # noqa: PLC0415  # only for this message

        log = logging.getLogger(__name__)
        log.exception("the plugin of %r failed to close what it had prepared", name)
