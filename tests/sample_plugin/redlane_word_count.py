"""The match type WordCount: content of `minimum` words or more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from redlane.api import (
    Answer,
    Content,
    Context,
    Field,
    Kind,
    Matcher,
    Opinion,
    Outcome,
    Policy,
    PreparedMatchType,
    Problem,
    Reader,
    Reviewer,
    ReviewRequest,
    Severity,
    Vote,
    hookimpl,
)

__all__ = [
    "Skimmer",
    "WordCount",
    "WordCounts",
    "WordCountsReady",
    "redlane_match_types",
    "redlane_reviewers",
]

redlane_api = "1.0"

_MOST_SKIMMED = 100


class WordCount:
    """Counts the words of content, but for those that the settings leave out."""

    name = "WordCount"
    contexts = frozenset(Context) - {Context.SYSCALL}
    reader = Reader.PATTERN
    fields = (Field("minimum", Kind.INTEGER, "words that are too many", required=True),)
    ignores_action = False
    settings = (
        Field("ignored", Kind.STRINGS, "words that do not count", default=()),
        Field("most", Kind.INTEGER, "the largest `minimum`", minimum=1),
    )

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """A `minimum` that is no number of words."""
        if int(str(policy.options["minimum"])) < 1:
            yield Problem(Severity.ERROR, "minimum must be an integer of 1 or more")

    def prepare(self, settings: Mapping[str, object]) -> "WordCountsReady":
        """What all policies of a load have in common."""
        return WordCountsReady(settings)


class WordCountsReady:
    """The words that do not count, until it is closed."""

    def __init__(self, settings: Mapping[str, object]) -> None:
        """Read the settings, whose forms have been checked."""
        ignored, most = settings["ignored"], settings.get("most")
        assert isinstance(ignored, Iterable)
        self.ignored: frozenset[bytes] | None = frozenset(
            str(each).encode() for each in ignored
        )
        self._most = most if isinstance(most, int) else None

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher, so that the words are counted once for all policies."""
        minima = [(each.order, int(str(each.options["minimum"]))) for each in policies]
        if self._most is not None and any(least > self._most for _, least in minima):
            raise ValueError(f"a minimum is above {self._most}, the settings' most")
        return WordCounts(self, sorted(minima))

    def close(self) -> None:
        """Nothing may be asked any more."""
        self.ignored = None


class WordCounts:
    """The least numbers of words that match, by load order."""

    def __init__(self, ready: WordCountsReady, minima: list[tuple[int, int]]) -> None:
        """Count as `ready` says."""
        self._ready = ready
        self._minima = minima

    def answers(
        self,
        content: Content,  # noqa: ARG002  # the views hold all that is matched
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        """The policies that any of the views has words enough for."""
        most = max(map(self._count, views), default=0)
        for order, minimum in self._minima:
            if order < before and most >= minimum:
                details = {"words": most, "minimum": minimum}
                yield Answer(order, Outcome.YES, score=most / minimum, details=details)

    def _count(self, view: bytes) -> int:
        ignored = self._ready.ignored
        if ignored is None:
            raise ValueError("it was closed")
        return sum(each not in ignored for each in view.split())


class Skimmer:
    """Votes on what is held by its length: allows what is short, blocks the rest."""

    name = "skimmer"
    settings = (
        Field("most_words", Kind.INTEGER, "words that it reads", minimum=1, default=3),
    )

    def problems(self, settings: Mapping[str, object]) -> Iterator[Problem]:
        """So many words that nobody skims them."""
        if int(str(settings["most_words"])) > _MOST_SKIMMED:
            told = f"nobody skims more than {_MOST_SKIMMED} words"
            yield Problem(Severity.WARNING, told)

    def review(self, request: ReviewRequest, settings: Mapping[str, object]) -> Opinion:
        """What it thinks of it."""
        words = len(request.content.split())
        most = int(str(settings["most_words"]))
        return Opinion(Vote.ALLOW if words <= most else Vote.BLOCK, f"{words} words")


@hookimpl
def redlane_reviewers() -> Iterable[Reviewer]:
    """Offer the type of jurors."""
    return (Skimmer(),)


@hookimpl
def redlane_match_types() -> Iterable[PreparedMatchType]:
    """Offer the match type WordCount."""
    return (WordCount(),)
