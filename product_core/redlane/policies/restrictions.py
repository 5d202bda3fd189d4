"""Restrictions: what a user adds to the rules of one session, to forbid and no more.

They are Blocks and Flags of match types that only look at the content: nobody loosens
rules with them, and nothing of a user runs in a daemon that serves others as well.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from redlane.errors import UsageError
from redlane.model.content import Reader
from redlane.model.matching import MatchType
from redlane.model.policy import Action, Policy, Role
from redlane.model.problem import Finding, Severity
from redlane.plugins import Plugins
from redlane.policies.asking import compile_problem
from redlane.policies.fields import POLICY
from redlane.policies.nearness import short
from redlane.policies.own_fields import own_fields
from redlane.policies.parsing import ParsedPolicy, parse_policy
from redlane.policies.policy_document import document_of
from redlane.policies.ruleset import RoleRules, RuleSet
from redlane.policies.sources import Entry
from redlane.preparing import PreparedType

__all__ = [
    "MOST_BYTES",
    "MOST_POLICIES",
    "MOST_SECONDS",
    "Restrictions",
    "RestrictionsError",
    "TooManyBytesError",
    "parse_restrictions",
    "why_no_restriction",
]

MOST_POLICIES = 1_000
"""The largest number of policies that one session adds."""

MOST_BYTES = 1 << 20
"""The largest size of a session's restrictions, as compact JSON in UTF-8."""

MOST_SECONDS = 5.0
"""The longest time for making them ready."""

_SLICE = 32
"""How many policies are compiled, and asked, together."""

_MOST_TOLD = 100
"""Errors after which the rest is not looked at."""

_Any = TypeVar("_Any")

_LONGEST_TOLD = 300
"""How many characters of an error and of an id are told."""

_NAME = "restrictions"
_ACTIONS = (Action.BLOCK, Action.FLAG)


class RestrictionsError(UsageError):
    """Restrictions that cannot be used; `findings` say why, a policy each."""

    def __init__(self, message: str, findings: Iterable[Finding] = ()) -> None:
        """Keep every finding beside the one line."""
        super().__init__(message)
        self.findings = tuple(findings)


class TooManyBytesError(RestrictionsError):
    """Restrictions that are too large to be looked at."""


@dataclass(frozen=True, slots=True)
class Restrictions:
    """Policies of one session, compiled; `text` is the JSON that gives them again.

    Neither depends on the order in which they were given. They are compiled a slice at
    a time, so that whoever asks them can look at the clock in between.
    """

    digest: str
    text: bytes
    slices: tuple[RoleRules, ...]
    types: frozenset[str]
    """The match types that they need."""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Every policy, in the order of their ids."""
        return tuple(each for rules in self.slices for each in rules.policies.values())


def why_no_restriction(action: str, match_type: MatchType) -> str | None:
    """Why a policy of this action and type is none that a user may add, or None."""
    runs_code = match_type.ignores_action or isinstance(match_type, PreparedType)
    if match_type.reader is not Reader.PATTERN or runs_code:
        name = match_type.name
        return f"a user may add policies that only look at content; {name} runs code"
    if action not in _ACTIONS:
        return (
            f"a user may add Block and Flag policies, and none that is {short(action)}"
        )
    return None


def parse_restrictions(
    value: object,
    types: Mapping[str, MatchType],
    seconds: float = MOST_SECONDS,
    timer: Callable[[], float] = time.monotonic,
) -> Restrictions:
    """The restrictions of `{"policies": [...]}`; RestrictionsError tells what is wrong.

    Nothing of a policy that cannot be one is looked at any further: checking a command
    line would tell which files the daemon sees. What takes longer than `seconds` to
    make ready is refused.
    """
    end = timer() + seconds

    def in_time(found: Iterable[_Any]) -> Iterator[_Any]:
        for each in found:
            if timer() > end:
                raise RestrictionsError(
                    f"the restrictions take longer than {seconds:g} s to make ready: "
                    "use fewer, or simpler patterns"
                )
            yield each

    parsed = _parsed(in_time(enumerate(_members(value))), Plugins(types, ()))
    policies = sorted(_whole(parsed), key=lambda policy: policy.id)
    text = _compact({"policies": [document_of(policy) for policy in policies]})
    digest = hashlib.sha256(text).hexdigest()
    ordered = [replace(each, order=place) for place, each in enumerate(policies)]
    starts = in_time(range(0, len(ordered), _SLICE))
    return Restrictions(
        digest,
        text,
        tuple(
            _compiled(ordered[each : each + _SLICE], types, digest) for each in starts
        ),
        frozenset(policy.type for policy in policies),
    )


def _members(value: object) -> list[Any]:
    """The policies as they were given, no more of them than may be."""
    if not isinstance(value, dict) or not isinstance(value.get("policies"), list):
        raise RestrictionsError('`restrictions` must be {"policies": [...]}')
    unknown = [key for key in value if key != "policies"]
    if unknown:
        raise RestrictionsError(f"`restrictions` has no field {short(unknown[0])}")
    members: list[Any] = value["policies"]
    if len(members) > MOST_POLICIES:
        raise RestrictionsError(
            f"{len(members)} restrictions are more than the {MOST_POLICIES} that a "
            "session may have"
        )
    size = len(_compact(value))
    if size > MOST_BYTES:
        raise TooManyBytesError(
            f"the restrictions have {size} bytes, more than the {MOST_BYTES} that a "
            "session may have"
        )
    return members


def _compact(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode()


def _parsed(
    members: Iterable[tuple[int, object]], plugins: Plugins
) -> list[ParsedPolicy]:
    """Every policy without an error; raises when there is any error."""
    parsed: list[ParsedPolicy] = []
    findings: list[Finding] = []
    seen: set[str] = set()
    for order, member in members:
        one = _parse(Entry(_NAME, f"entry {order + 1}", member), order, plugins)
        parsed.append(one)
        findings += map(_bounded, one.findings)
        if one.id and one.id in seen:
            findings.append(_error(one.id, f"the id {short(one.id)} is used twice"))
        seen.add(one.id)
        if len(findings) >= _MOST_TOLD:
            break
    if findings:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        first = findings[0]
        subject = f"{short(first.subject)}: " if first.subject else ""
        raise RestrictionsError(
            f"a restriction cannot be used: {subject}{first.message}{more}", findings
        )
    return parsed


def _parse(entry: Entry, order: int, plugins: Plugins) -> ParsedPolicy:
    why = _refusal(entry.value, plugins.match_types)
    if why is None:
        parsed = parse_policy(entry, order, plugins)
        why = _unknown_field(entry.value, parsed.policy, plugins.match_types)
        if why is None:
            errors = tuple(e for e in parsed.findings if e.severity is Severity.ERROR)
            return replace(parsed, findings=errors)
    name = entry.value.get("id")
    subject = name if isinstance(name, str) else ""
    return ParsedPolicy(entry, subject, None, (_error(subject, why, entry.place),))


def _refusal(document: object, types: Mapping[str, MatchType]) -> str | None:
    """Why a policy is none that a user may add, as far as that can be told."""
    if not isinstance(document, dict):
        return None
    if document.get("transform") is not None:
        return "a user may add nothing that rewrites: leave `transform` out"
    name, action = document.get("type"), document.get("action")
    match_type = types.get(name) if isinstance(name, str) else None
    if match_type is None:
        return None
    return why_no_restriction(
        action if isinstance(action, str) else Action.BLOCK, match_type
    )


def _unknown_field(
    document: Mapping[str, object],
    policy: Policy | None,
    types: Mapping[str, MatchType],
) -> str | None:
    """Why a policy that is whole is refused all the same: nobody reads a warning."""
    if policy is None:
        return None
    known = {*POLICY, *own_fields(types[policy.type])}
    unknown = next((name for name in document if name not in known), None)
    return None if unknown is None else f"unknown field {short(unknown)}: leave it out"


def _whole(parsed: Iterable[ParsedPolicy]) -> list[Policy]:
    return [each.policy for each in parsed if each.policy is not None]


def _compiled(
    policies: list[Policy], types: Mapping[str, MatchType], digest: str
) -> RoleRules:
    role = Role(_NAME, tuple(each.id for each in policies))
    ruleset = RuleSet(policies, [role], types, digest)
    problem = compile_problem(ruleset, _NAME)
    rules = None if problem else ruleset.rules(_NAME)
    if rules is None:
        raise RestrictionsError(f"the restrictions cannot be used: {problem}")
    return rules


def _bounded(finding: Finding) -> Finding:
    """A finding whose quotations from a user are not told at any length."""
    subject, message = finding.subject, finding.message
    return replace(
        finding, subject=subject[:_LONGEST_TOLD], message=message[:_LONGEST_TOLD]
    )


def _error(subject: str, message: str, place: str = "") -> Finding:
    where = f"{place}: " if place and not subject else ""
    return Finding(Severity.ERROR, _NAME, subject, f"{where}{message}")
