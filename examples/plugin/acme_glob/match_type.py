"""The match type: what its policies may say, and how content is asked."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeGuard

from redlane.api import (
    Action,
    Answer,
    CompiledPattern,
    Content,
    Context,
    Matcher,
    Outcome,
    PatternError,
    Policy,
    Problem,
    Reader,
    Severity,
    compile_pattern,
)

from acme_glob.translate import GlobError, translate

__all__ = ["Glob", "GlobMatcher"]

_BETWEEN = re.compile(r"[\s\"'`=,;:|&<>(){}]+")
"""What may stand beside a path in a command, a request or an answer."""


class Glob:
    """Matches when a word of the content, read as a path, fits one of `globs`."""

    name = "Glob"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields = frozenset({"globs"})
    decides_lane = False

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """Everything that is wrong with a policy: errors refuse the whole load."""
        if policy.action is Action.ALLOW:
            yield Problem(
                Severity.ERROR,
                "Glob cannot Allow: one word that fits would let all the others pass",
            )
        globs = policy.options.get("globs")
        if not _are_globs(globs):
            yield Problem(
                Severity.ERROR, "`globs` must be an array of strings, not empty"
            )
            return
        for glob in globs:
            try:
                _compile([glob])
            except (GlobError, PatternError) as error:
                yield Problem(Severity.ERROR, f"`globs`: {error}")

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher for all policies of a role, a context and an action."""
        return GlobMatcher(policies)


class GlobMatcher:
    """One expression a policy, searched in a list of everything that may be a path."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        ordered = sorted(policies, key=lambda policy: policy.order)
        self._patterns = [(each.order, _pattern(each)) for each in ordered]

    def answers(
        self, content: Content, views: tuple[bytes, ...], before: int
    ) -> Iterator[Answer]:
        """The policies that match, lowest order first; `before` ends the search."""
        lines = "\n".join(sorted(_candidates(content, views))).encode()
        for order, pattern in self._patterns:
            if order >= before:
                return
            if pattern.search(lines):
                yield Answer(order, Outcome.YES)


def _candidates(content: Content, views: Iterable[bytes]) -> set[str]:
    """Whatever may be a path, as it is written and as the kernel would take it.

    The views hold what the content has for a policy of this action. A command's words
    are asked for besides, because a quoted word may have spaces in it.
    """
    texts = [view.decode(errors="replace") for view in views]
    words = [word for command in content.commands for word in command.words]
    found = {*texts, *words}
    for text in (*texts, *words):
        found.update(text.split())
        found.update(_BETWEEN.split(text))
    # One candidate is one line of the text that is searched.
    lines = {" ".join(each.splitlines()) for each in found}
    return {form for line in lines if line for form in (line, _normal(line))}


def _normal(path: str) -> str:
    """Without `//`, `/./` and `/../`, which would hide a path from its glob."""
    normal = posixpath.normpath(path)
    # Two slashes at the start are kept by POSIX, and mean one on Linux.
    return re.sub(r"\A//+", "/", normal)


def _are_globs(value: object) -> TypeGuard[Sequence[str]]:
    if not isinstance(value, (list, tuple)) or not value:
        return False
    return all(isinstance(each, str) for each in value)


def _pattern(policy: Policy) -> CompiledPattern:
    globs = policy.options.get("globs")
    if not _are_globs(globs):  # `problems` has refused it: so nobody asked for them
        raise ValueError(f"policy {policy.id}: `globs` cannot be used")
    return _compile(globs)


def _compile(globs: Iterable[str]) -> CompiledPattern:
    """Redlane's own engine: its time grows with the text, whatever the text is."""
    return compile_pattern(rf"(?m)^(?:{'|'.join(map(translate, globs))})$")
