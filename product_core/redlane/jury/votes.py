"""The votes of jurors, as they write them down: one JSON object, and nothing else."""

import json

from redlane.engine.boundary import one_line
from redlane.errors import RedlaneError
from redlane.model.reviewing import Opinion, Vote
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["MOST_ANSWER", "NoVoteError", "read_vote", "write_vote"]

MOST_ANSWER = 64 * 1024
"""The most bytes of an answer; a longer one is no vote."""


class NoVoteError(RedlaneError):
    """What a juror answered is no vote, or there is no answer."""


def read_vote(data: bytes) -> Opinion:
    """The opinion that `data` says; raises NoVoteError.

    A juror that was talked into saying more than its vote has been talked into
    something: so text around the object makes it none.
    """
    try:
        found = parse_json(data)
    except JsonError as error:
        raise NoVoteError(f"its answer is no JSON object: {error}") from None
    if not isinstance(found, dict) or not data.lstrip().startswith(b"{"):
        raise NoVoteError("its answer is no JSON object")
    vote, reason = found.get("vote"), found.get("reason")
    if vote not in ("allow", "block"):
        raise NoVoteError('its answer has no `vote` that is "allow" or "block"')
    if not isinstance(reason, str):
        raise NoVoteError("its answer has no `reason` that is a string")
    return Opinion(Vote(vote), one_line(reason.strip()))


def write_vote(opinion: Opinion) -> bytes:
    """The same as `read_vote` reads it."""
    return json.dumps({"vote": opinion.vote, "reason": opinion.reason}).encode()
