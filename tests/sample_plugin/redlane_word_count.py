"""The match type WordCount: content of `minimum` words or more."""

from collections.abc import Iterable, Iterator, Sequence

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

__all__ = ["WordCount", "WordCounts", "redlane_match_types"]


class WordCount:
    """Counts the words of content."""

    name = "WordCount"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields = frozenset({"minimum"})
    decides_lane = False

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """A `minimum` that is missing or no number of words."""
        minimum = policy.options.get("minimum")
        if isinstance(minimum, bool) or not isinstance(minimum, int) or minimum < 1:
            yield Problem(Severity.ERROR, "minimum must be an integer of 1 or more")

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher, so that the words are counted once for all policies."""
        return WordCounts(policies)


class WordCounts:
    """The least numbers of words that match, by load order."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        """Keep the minimum of each policy."""
        self._minima = sorted(
            (policy.order, int(str(policy.options["minimum"]))) for policy in policies
        )

    def answers(
        self,
        content: Content,  # noqa: ARG002  # the views hold all that is matched
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        """The policies that any of the views has words enough for."""
        most = max((len(view.split()) for view in views), default=0)
        for order, minimum in self._minima:
            if order < before and most >= minimum:
                yield Answer(order, Outcome.YES)


@hookimpl
def redlane_match_types() -> Iterable[MatchType]:
    """Offer the match type WordCount."""
    return (WordCount(),)
