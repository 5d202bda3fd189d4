"""The match type: what its policies may say, and how content is asked."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from redlane.api import (
    Action,
    Answer,
    CompiledPattern,
    Content,
    Context,
    Field,
    Kind,
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

__all__ = ["Glob", "GlobMatcher", "fits"]

_BETWEEN = re.compile(r"[\s\"'`=,;:|&<>(){}]+")
"""What may stand beside a path in a command, a request or an answer."""


class Glob:
    """Matches when a word of the content, read as a path, fits one of `globs`."""

    name = "Glob"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields = (Field("globs", Kind.STRINGS, "globs, any of which fits", required=True),)
    ignores_action = False

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """Everything that is wrong with a policy: errors refuse the whole load."""
        if policy.action is Action.ALLOW:
            yield Problem(
                Severity.ERROR,
                "Glob cannot Allow: one word that fits would let all the others pass",
            )
        globs = _globs(policy)
        if not globs:
            yield Problem(Severity.ERROR, "`globs` must not be empty")
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
        words = [word for command in content.commands for word in command.words]
        lines = _lines([*(view.decode(errors="replace") for view in views), *words])
        for order, pattern in self._patterns:
            if order >= before:
                return
            if pattern.search(lines):
                yield Answer(order, Outcome.YES)


def fits(glob: str, text: str) -> bool:
    """Whether a word of a text fits; raises GlobError or PatternError for a bad one."""
    return _compile([glob]).search(_lines([text]))


def _lines(texts: Iterable[str]) -> bytes:
    """Whatever may be a path, as it is written and as the kernel would take it.

    The texts are what the content has for a policy of this action. A command's words
    are among them, because a quoted word may have spaces in it.
    """
    found: set[str] = set()
    for text in texts:
        found.update((text, *text.split(), *_BETWEEN.split(text)))
    # One candidate is one line of the text that is searched.
    lines = {" ".join(each.splitlines()) for each in found}
    forms = {form for line in lines if line for form in (line, _normal(line))}
    return "\n".join(sorted(forms)).encode()


def _normal(path: str) -> str:
    """Without `//`, `/./` and `/../`, which would hide a path from its glob."""
    normal = posixpath.normpath(path)
    # Two slashes at the start are kept by POSIX, and mean one on Linux.
    return re.sub(r"\A//+", "/", normal)


def _globs(policy: Policy) -> Sequence[str]:
    """The globs, whose form Redlane has checked by the table of `fields`."""
    globs = policy.options["globs"]
    return [str(each) for each in globs] if isinstance(globs, Iterable) else []


def _pattern(policy: Policy) -> CompiledPattern:
    return _compile(_globs(policy))


def _compile(globs: Iterable[str]) -> CompiledPattern:
    """Redlane's own engine: its time grows with the text, whatever the text is."""
    return compile_pattern(rf"(?m)^(?:{'|'.join(map(translate, globs))})$")
