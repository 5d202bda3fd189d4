"""The rules of one session about system calls, as its supervisor gets and keeps them.

They come from the daemon as documents, and are compiled as they are there: the same
engine then gives the same verdicts. What cannot be used is no rule but a reason for
which everything is refused.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from redlane.contexts.syscall.binding import Binding
from redlane.engine.boundary import fail_closed
from redlane.engine.hiding import Hidden
from redlane.engine.own_files import OwnFiles
from redlane.engine.places import Places
from redlane.errors import RedlaneError
from redlane.model.matching import MatchType
from redlane.model.policy import Policy, Role
from redlane.model.problem import Severity
from redlane.plugins import Plugins
from redlane.policies.parsing import parse_policy
from redlane.policies.restrictions import parse_restrictions
from redlane.policies.ruleset import RoleRules, RuleSet
from redlane.policies.sources import Entry
from redlane.policies.syscalls import checked_calls, named_calls, syscalls_of

__all__ = ["CallRules", "read_rules", "refusing"]

_SECONDS = 5.0
_SOURCE = "the daemon's rules"


@dataclass(frozen=True, slots=True)
class CallRules:
    """What a session's system calls are judged by; with a `reason` all are refused.

    `generation` is the daemon's name for these rules, `known` tells that it has been
    told how they are held, `daemon` is its process and `own_files` are its files.
    Outside of any of the `places` no file may be changed; what is `hidden` may be read
    by nobody else than its owners.
    """

    generation: str
    reason: str = ""
    role: str | None = None
    ruleset: RuleSet = field(default_factory=lambda: RuleSet((), (), {}, ""))
    restrictions: tuple[RoleRules, ...] = ()
    named: Mapping[str, bool] = field(default_factory=lambda: MappingProxyType({}))
    named_by: Mapping[str, tuple[int, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    checked: frozenset[str] = frozenset()
    namespaces: bool = False
    ebpf: bool = False
    timeout_seconds: float = _SECONDS
    known: bool = True
    daemon: int = 0
    own_files: OwnFiles = field(default_factory=OwnFiles)
    places: tuple[Places, ...] = ()
    hidden: tuple[Hidden, ...] = ()


def read_rules(
    document: object,
    types: Mapping[str, MatchType],
    binding: Binding,
    kept: Sequence[str] = (),
) -> CallRules:
    """The rules that the daemon answered; whatever is wrong with them refuses all.

    What they say of places counts beside what `binding` has of the session already.
    What is `kept` is among the own files, by whatever path it is named there.
    """
    return fail_closed(
        lambda: _read(document, types, binding, kept),
        lambda reason: refusing(f"the session's rules cannot be used: {reason}"),
    )


def refusing(reason: str) -> CallRules:
    """Rules by which everything is refused."""
    return CallRules(generation="", reason=reason)


def _read(
    document: object,
    types: Mapping[str, MatchType],
    binding: Binding,
    kept: Sequence[str],
) -> CallRules:
    if not isinstance(document, Mapping):
        raise RedlaneError("they are no object")
    policies = [_policy(each, types) for each in document["policies"]]
    role = document["role"]
    named_role = Role(role or "", tuple(each.id for each in policies))
    ruleset = RuleSet(policies, [named_role], types, str(document["ruleset"]))
    ruleset.rules(named_role.name)  # compiled now, so that no call waits for it
    added = _restrictions(document["restrictions"], types)
    of_user = [each for rules in added for each in rules.policies.values()]
    options = document["options"]
    binding.take(role, options["writable"], options["hidden"])
    return CallRules(
        generation=str(document["generation"]),
        reason=str(document["reason"]),
        role=role,
        ruleset=ruleset,
        restrictions=added,
        named=MappingProxyType(dict(named_calls([*policies, *of_user]))),
        named_by=_named_by([*policies, *of_user]),
        checked=checked_calls(policies, types),
        namespaces=options["namespaces"] is True,
        ebpf=options["ebpf"] is True,
        timeout_seconds=float(document["timeout_seconds"]),
        known=document["known"] is True,
        daemon=int(document["daemon"]),
        own_files=OwnFiles(
            (*document["own_files"]["kept"], *kept),
            tuple(document["own_files"]["closed"]),
        ),
        places=binding.places(options["allowed"]),
        hidden=binding.hidden,
    )


def _named_by(policies: Iterable[Policy]) -> Mapping[str, tuple[int, ...]]:
    """Which policies name each system call, by their places among them."""
    found: dict[str, tuple[int, ...]] = {}
    for place, policy in enumerate(policies):
        for name in dict.fromkeys(syscalls_of(policy)):
            found[name] = (*found.get(name, ()), place)
    return MappingProxyType(found)


def _policy(document: Mapping[str, Any], types: Mapping[str, MatchType]) -> Policy:
    """One policy, at the place in load order that it has in the daemon."""
    given = {name: value for name, value in document.items() if name != "order"}
    parsed = parse_policy(
        Entry(_SOURCE, "", given), int(document["order"]), Plugins(types, ())
    )
    if parsed.policy is None:
        errors = [e.message for e in parsed.findings if e.severity is Severity.ERROR]
        raise RedlaneError(f"policy {parsed.id!r}: {errors[0]}")
    return parsed.policy


def _restrictions(
    documents: Iterable[Mapping[str, Any]], types: Mapping[str, MatchType]
) -> tuple[RoleRules, ...]:
    """What a user added to the role."""
    added = {"policies": list(documents)}
    return parse_restrictions(added, types, math.inf).slices
