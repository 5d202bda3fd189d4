"""The match type Simple: `pattern` is a substring of the content."""

from collections.abc import Iterable, Iterator, Sequence

import re2

from redlane.api import (
    Answer,
    Content,
    Context,
    Matcher,
    MatchType,
    Outcome,
    Policy,
    Problem,
    Reader,
    Severity,
    hookimpl,
)

__all__ = ["SimpleMatcher", "SimpleType", "redlane_match_types"]

_END = b"\xff"
"""Stands between and after the texts of a scan. No UTF-8 holds it, so no pattern can
reach over it; and as it is a pattern itself, an answer without it was cut short."""

_HEAD = 64
"""How many bytes of a pattern the automaton knows: the rest is compared when they are
found. A long pattern that begins again within itself would take its states' square."""

_MEMORY = (64 << 20, 256 << 20, 1 << 30)
"""What the automaton may use, in bytes: the first that is enough is taken."""


class SimpleType:
    """Simple, as the plugin host sees it."""

    name = "Simple"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields: frozenset[str] = frozenset()
    ignores_action = False

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """A missing pattern is an error, an empty one matches everything: a warning.

        In context Syscall the pattern filters paths; without `syscall` it is the name
        of a system call, and with it, it may be left out.
        """
        syscall = policy.context is Context.SYSCALL
        if policy.pattern is None and not (syscall and policy.syscalls):
            yield Problem(Severity.ERROR, "Simple needs a `pattern`: add the substring")
        elif not policy.pattern and not syscall:
            yield Problem(Severity.WARNING, "an empty `pattern` matches everything")
        elif not policy.pattern and not policy.syscalls:
            yield Problem(
                Severity.ERROR,
                "an empty `pattern` names no system call: write its name",
            )
        elif not _is_text(policy.pattern or ""):
            yield Problem(
                Severity.ERROR,
                "`pattern` holds half a surrogate pair: write the character itself",
            )

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One automaton for every pattern."""
        return SimpleMatcher(
            [(each.order, (each.pattern or "").encode()) for each in policies]
        )


class SimpleMatcher:
    """All patterns of a group, found in one pass over the content.

    Policies whose patterns begin alike share a place in the automaton.
    """

    def __init__(self, patterns: Iterable[tuple[int, bytes]]) -> None:
        """Compile `patterns`, each with the order of its policy."""
        policies: dict[bytes, list[tuple[int, bytes]]] = {}
        for order, pattern in patterns:
            policies.setdefault(pattern[:_HEAD], []).append((order, pattern))
        self._heads = list(policies)
        self._policies = list(policies.values())
        self._set = _automaton((*self._heads, _END))

    def answers(
        self,
        content: Content,  # noqa: ARG002  # the texts are all that a pattern sees
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterable[Answer]:
        """The policies whose pattern is in any of `views`, lowest order first."""
        if not views:
            return []
        text = b"".join([part for view in views for part in (view, _END)])
        found = sorted(
            order
            for index in self._found(text)
            for order, pattern in self._policies[index]
            if order < before and (len(pattern) <= _HEAD or pattern in text)
        )
        return [Answer(order, Outcome.YES) for order in found]

    def _found(self, text: bytes) -> Sequence[int]:
        """The heads that are in the text, by index."""
        end = len(self._heads)
        found = self._set.Match(text) if self._set else None
        if found and end in found:
            return [index for index in found if index != end]
        return [index for index, head in enumerate(self._heads) if head in text]


def _automaton(patterns: Iterable[bytes]) -> "re2.Set | None":
    """RE2's automaton for literal patterns, or None when no memory is enough.

    An automaton that runs out of memory while it scans finds nothing and says nothing,
    so callers look for `_END` in its answer and search plainly when it is not there.
    """
    for memory in _MEMORY:
        options = re2.Options()
        options.literal = True
        options.encoding = re2.Options.Encoding.LATIN1
        options.log_errors = False
        options.max_mem = memory
        automaton = re2.Set.SearchSet(options)
        for pattern in patterns:
            automaton.Add(pattern)
        try:
            automaton.Compile()
        except re2.error:
            continue
        return automaton
    return None


def _is_text(pattern: str) -> bool:
    try:
        pattern.encode()
    except UnicodeEncodeError:
        return False
    return True


@hookimpl
def redlane_match_types() -> tuple[MatchType, ...]:
    """Offer the match type to the plugin host."""
    return (SimpleType(),)
