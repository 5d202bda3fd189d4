"""Asks one juror, whatever its type is; whatever is no vote is one to block."""

import json
import sys
import time
from collections.abc import Mapping
from functools import partial

from redlane.engine.boundary import fail_closed
from redlane.errors import RedlaneError
from redlane.execution import Command, Stop, run_all, split_command
from redlane.jury import child
from redlane.jury.votes import MOST_ANSWER, read_vote
from redlane.model.content import TextContent
from redlane.model.matching import MatchType, Outcome
from redlane.model.policy import Action, Context, Policy
from redlane.model.reviewing import Opinion, ReviewRequest, Vote
from redlane.model.settings import Juror
from redlane.plugins import KNOWN_PACKAGES
from redlane.policies.juror_types import COMMAND, MODEL

__all__ = ["opinion_of"]

_CLASSIFIER = "MlClassifier"

MatchTypes = Mapping[str, MatchType]


def opinion_of(
    juror: Juror, request: ReviewRequest, match_types: MatchTypes, stop: Stop
) -> Opinion:
    """What the juror says; never an exception. It is not awaited once `stop` is set."""
    ask = (
        partial(_score, juror, request, match_types)
        if juror.type == MODEL
        else partial(_answer, juror, request, stop)
    )
    return fail_closed(ask, lambda why: Opinion(Vote.BLOCK, why))


def _answer(juror: Juror, request: ReviewRequest, stop: Stop) -> Opinion:
    """What a program answers, in the time that the juror has."""
    words: tuple[str, ...] = child.WORDS
    if juror.type == COMMAND:
        words = split_command(str(juror.settings["command"]))
        asked = json.dumps(request.document()).encode()
    else:
        asked = child.question(juror, request)
    command = Command(words, asked, keeps_output=True, most_output=MOST_ANSWER)
    (ending,) = run_all([command], seconds=juror.timeout_seconds, stop=stop)
    if ending.failure:
        raise RedlaneError(f"it {ending.failure}")
    if ending.status != 0:
        raise RedlaneError(f"it {ending.told}")
    return read_vote(ending.output)


def _score(juror: Juror, request: ReviewRequest, match_types: MatchTypes) -> Opinion:
    """The score of a model, as a policy of the type MlClassifier has it."""
    match_type = match_types.get(_CLASSIFIER)
    if match_type is None:
        package = KNOWN_PACKAGES[_CLASSIFIER]
        raise RedlaneError(f"no classifier can be asked: install {package}")
    model, block_at = str(juror.settings["model"]), juror.settings["block_at"]
    # Below any threshold there would be no answer, and so no score to tell.
    policy = Policy(
        juror.name,
        _CLASSIFIER,
        Action.FLAG,
        model=model,
        block_threshold=float(str(block_at)),
        flag_threshold=0.0,
    )
    texts = tuple(each.encode() for each in (request.content, *request.details))
    content = TextContent(Context.SHELL, texts[0])
    # Others are scored by the same process: it is not to be ended for a short time.
    end = time.monotonic() + juror.timeout_seconds
    matcher = match_type.compile([policy])
    (answer,) = matcher.answers(content, texts, sys.maxsize)
    if time.monotonic() > end:
        raise RedlaneError(f"it was not done within {juror.timeout_seconds:g} seconds")
    if answer.outcome not in (Outcome.BLOCK, Outcome.FLAG) or answer.score is None:
        raise RedlaneError(answer.reason or "it gives no score")
    vote = Vote.BLOCK if answer.outcome is Outcome.BLOCK else Vote.ALLOW
    place = "not below" if vote is Vote.BLOCK else "below"
    told = f"model {model!r} gives {answer.score:.3f}, {place} {block_at}"
    return Opinion(vote, told)
