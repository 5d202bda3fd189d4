"""The process in which one juror is asked one question, and that ends with it."""

import json
import math
import os
import signal
import sys

from redlane.engine.boundary import fail_closed
from redlane.errors import RedlaneError
from redlane.jury.completion import Completion
from redlane.jury.votes import write_vote
from redlane.model.reviewing import Opinion, Reviewer, ReviewRequest, Vote
from redlane.model.settings import Juror
from redlane.outgoing import not_readable
from redlane.policies.juror_types import HTTP

__all__ = ["WORDS", "main", "question"]

WORDS = (sys.executable, "-I", "-m", "redlane.jury.child")
"""What starts it; `question` is for its standard input."""


def question(juror: Juror, request: ReviewRequest) -> bytes:
    """What is asked of a juror."""
    asked = {
        "type": juror.type,
        "settings": dict(juror.settings),
        "seconds": juror.timeout_seconds,
        "request": request.document(),
    }
    return json.dumps(asked).encode()


def main() -> None:
    """Answer the question; whatever fails is a vote to block."""
    # A key is in this memory, and a vote goes out: nobody is to look in, or to write.
    not_readable()
    # What a plugin writes, or starts, must neither mix with the vote nor be one.
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    opinion = fail_closed(_answered, lambda why: Opinion(Vote.BLOCK, why))
    with os.fdopen(answers, "wb") as file:
        file.write(write_vote(opinion))


def _answered() -> Opinion:
    asked = json.load(sys.stdin.buffer)
    # Whoever has asked ends this process; where that one is gone, nobody does.
    signal.alarm(math.ceil(asked["seconds"]) + 1)
    request = asked["request"]
    request["details"] = tuple(request["details"])
    reviewer = Completion() if asked["type"] == HTTP else _of_plugin(asked["type"])
    opinion: object = reviewer.review(ReviewRequest(**request), asked["settings"])
    if not isinstance(opinion, Opinion) or not isinstance(opinion.vote, Vote):
        raise RedlaneError("its answer is no opinion")
    return Opinion(opinion.vote, str(opinion.reason))


def _of_plugin(kind: str) -> Reviewer:
    from redlane.plugins import find_plugins  # noqa: PLC0415  # imports every plugin

    reviewers = find_plugins().reviewers
    if kind not in reviewers:
        raise RedlaneError(f"no plugin offers jurors of the type {kind!r}")
    return reviewers[kind]


if __name__ == "__main__":
    main()
