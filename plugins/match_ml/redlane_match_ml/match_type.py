"""MlClassifier, as the plugin host sees it (policy format: MlClassifier)."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from redlane.api import (
    Answer,
    Content,
    Context,
    Field,
    Kind,
    Matcher,
    Outcome,
    Policy,
    Preparation,
    Problem,
    Reader,
    Severity,
    scan_limit,
    seconds_left,
)
from redlane_match_ml.errors import NotScoredError
from redlane_match_ml.found import Found

__all__ = ["MlClassifierType", "MlMatcher"]

MOST_SECONDS = 5.0
"""How long the score of one content may take; then it is a Block."""

_SETTINGS = (
    Field("models", Kind.DIRECTORY, "where models are installed", default="models"),
    Field(
        "threads",
        Kind.INTEGER,
        "how many processors a model computes with",
        minimum=1,
        maximum=64,
        default=1,
    ),
    Field(
        "at_once",
        Kind.INTEGER,
        "how many contents are scored at a time",
        minimum=1,
        maximum=64,
        default=2,
    ),
    Field(
        "memory",
        Kind.SIZE,
        "the most memory of the process that holds the models",
        default=2 * 1024**3,
    ),
)


class MlClassifierType:
    """Scores content by models, which are loaded once for each load of the rules."""

    name = "MlClassifier"
    contexts = frozenset({Context.SHELL, Context.NETWORK, Context.INBOUND})
    reader = Reader.CHECKER
    fields: frozenset[str] = frozenset()
    ignores_action = True
    settings = _SETTINGS

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """Thresholds that say nothing: the policy format makes the rest errors."""
        block, flag = policy.block_threshold, policy.flag_threshold
        if block is None and flag is None:
            yield Problem(
                Severity.WARNING,
                "MlClassifier never matches without `block_threshold` and "
                "`flag_threshold`: set one",
            )
        elif block is not None and flag is not None and flag >= block:
            yield Problem(
                Severity.WARNING,
                "`flag_threshold` has no effect: `block_threshold` is not above it",
            )

    def prepare(self, settings: Mapping[str, object]) -> Preparation:
        """A process for the models, which the first policy or content starts."""
        # Whoever only loads policies starts no process.
        from redlane_match_ml.classifier import Classifier  # noqa: PLC0415

        numbers = {
            name: value for name, value in settings.items() if isinstance(value, int)
        }
        return _Prepared(Classifier(Path(str(settings["models"])), **numbers))


class Scorer(Protocol):
    """What holds the models."""

    def load(self, model: str) -> None:
        """Have a model loaded before somebody waits for it."""

    def score(
        self,
        model: str,
        texts: Sequence[str],
        seconds: float,
        stop_at: float,
        *,
        partly: bool = False,
    ) -> Found:
        """The highest score of texts; raises NotScoredError where there is none."""

    def close(self) -> None:
        """Let go of all models."""


class _Prepared:
    """The models of one load of the rules."""

    def __init__(self, classifier: Scorer) -> None:
        self._classifier = classifier

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One matcher for all policies; its models are loaded from now on."""
        for model in dict.fromkeys(each.model or "" for each in policies):
            self._classifier.load(model)
        return MlMatcher(policies, self._classifier)

    def close(self) -> None:
        """End the process."""
        self._classifier.close()


class MlMatcher:
    """The thresholds of many policies; a model is asked once for all of them."""

    def __init__(self, policies: Iterable[Policy], classifier: Scorer) -> None:
        """Sort the policies by their models."""
        self._classifier = classifier
        self._by_model: dict[str, list[Policy]] = defaultdict(list)
        for policy in sorted(policies, key=lambda each: each.order):
            self._by_model[policy.model or ""].append(policy)

    def answers(
        self,
        content: Content,
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterable[Answer]:
        """The lanes that scores fall into, and FAILED where there is no score."""
        asked_about = _Asked.of(content, views)
        if asked_about is None:
            return ()
        found: list[Answer] = []
        for model, policies in self._by_model.items():
            asked = [each for each in policies if each.order < before]
            if asked:
                found += self._of_model(model, asked, asked_about)
        return sorted(found, key=lambda each: each.order)

    def _of_model(
        self, model: str, policies: Sequence[Policy], asked: "_Asked"
    ) -> Iterator[Answer]:
        enough = max(_threshold(each.block_threshold) for each in policies)
        try:
            scored = self._classifier.score(
                model,
                asked.texts,
                seconds_left(asked.seconds),
                enough,
                partly=asked.may_be_part,
            )
        except NotScoredError as error:
            named = f"model {model!r}"
            reason = str(error) if named in str(error) else f"{named}: {error}"
            yield from (Answer(each.order, Outcome.FAILED, reason) for each in policies)
            return
        details = _details(model, scored)
        left_out = asked.length - scored.scored
        for policy in policies:
            lane = _lane(policy, scored.score)
            if lane is not Outcome.BLOCK and left_out:
                told = f"{left_out} of {asked.length} characters were not scored by "
                yield Answer(policy.order, Outcome.PARTLY, f"{told}model {model!r}")
            if lane is not None:
                yield Answer(policy.order, lane, score=scored.score, details=details)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be scored, in how much time, of `length` characters that there are.

    `may_be_part`: what is not done in that time may be left out, and is declared.
    """

    texts: tuple[str, ...]
    seconds: float
    length: int
    may_be_part: bool = False

    @classmethod
    def of(cls, content: Content, views: tuple[bytes, ...]) -> "_Asked | None":
        """Every text; of what comes back the extracted one, as far as is scanned.

        None for what holds no text.
        """
        comes_back = content.context is Context.INBOUND
        limit = scan_limit() if comes_back else None
        if comes_back and content.extracted is not None:
            views = content.extracted
        if not views:
            return None
        texts = tuple(dict.fromkeys(view.decode(errors="replace") for view in views))
        length = sum(map(len, texts))
        if limit is None:
            return cls(texts, MOST_SECONDS, length)
        whole = "\n".join(texts)
        return cls(
            (whole[: limit.characters],), limit.seconds, len(whole), may_be_part=True
        )


def _threshold(value: float | None) -> float:
    return math.inf if value is None else value


def _lane(policy: Policy, score: float) -> Outcome | None:
    if score >= _threshold(policy.block_threshold):
        return Outcome.BLOCK
    return Outcome.FLAG if score >= _threshold(policy.flag_threshold) else None


def _details(model: str, found: Found) -> Mapping[str, object]:
    """What the event tells besides the score: which characters it is of."""
    place = {"window_start": found.start, "window_end": found.end}
    return MappingProxyType({"model": model, **place})
