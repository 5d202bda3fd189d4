"""The match type Glob for Redlane: policies about paths, written as in a shell."""

from collections.abc import Iterable

from redlane.api import MatchType, hookimpl

from acme_glob.match_type import Glob

__all__ = ["Glob", "redlane_match_types"]

redlane_api = "1.0"


@hookimpl
def redlane_match_types() -> Iterable[MatchType]:
    """Offer the match type to Redlane, which calls this once, when it starts."""
    return (Glob(),)
