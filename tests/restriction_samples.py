"""Restrictions for tests: documents, compiled sets, and verdicts with them."""

from typing import Any

from engine_samples import rules, sample_types

from redlane.contexts.parse import parse_contents
from redlane.engine.judge import judge
from redlane.model.matching import MatchType
from redlane.model.policy import Context, Policy
from redlane.model.verdict import Verdict
from redlane.plugins import find_plugins
from redlane.policies.restrictions import Restrictions, parse_restrictions

TYPES: dict[str, MatchType] = {**find_plugins().match_types, **sample_types()}


def block(pattern: str = "bad", **fields: Any) -> dict[str, Any]:
    plain = {"id": "mine", "type": "Simple", "action": "Block", "pattern": pattern}
    return {**plain, **fields}


def added(*documents: object) -> Restrictions:
    return parse_restrictions({"policies": list(documents)}, TYPES)


def verdict(
    role: list[Policy],
    restrictions: Restrictions | None,
    text: str,
    context: Context = Context.NETWORK,
) -> Verdict:
    contents = parse_contents(context, text.encode())
    extra = () if restrictions is None else restrictions.slices
    return judge(rules(*role, types=TYPES), "r", contents, extra)
