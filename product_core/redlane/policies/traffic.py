"""Policies about what a session sends and gets back, and whether anything asks them.

Like policies about system calls, they load everywhere, so that `redlane validate`
judges them; where there is no proxy, a person has to know.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from redlane.model.policy import Context, Policy, Role
from redlane.model.problem import Finding, Severity
from redlane.policies.loaded import Loaded
from redlane.policies.ruleset import RoleRules, RuleSet

__all__ = ["TRAFFIC", "is_asked", "named_traffic", "with_proxy"]

TRAFFIC = frozenset({Context.NETWORK, Context.INBOUND})
"""The contexts that the proxy judges."""

_ASKED = TRAFFIC | {Context.MCP}
"""Those of policies that are about what is sent or comes back."""

_NAMED = 3
"""How many names a message lists before it counts the rest."""


def with_proxy(loaded: Loaded, missing: str | None) -> Loaded:
    """What was loaded, where `missing` says why there is no proxy, or None."""
    if missing is None:
        return loaded
    findings = _findings(loaded.ruleset.policies.values(), missing)
    return replace(
        loaded, missing_proxy=missing, findings=(*loaded.findings, *findings)
    )


def named_traffic(
    ruleset: RuleSet, role: str | None, restrictions: Iterable[RoleRules] = ()
) -> tuple[str, ...]:
    """The policies of a role, and of what a user adds, that name such a context."""
    found = ruleset.roles.get(role or "")
    of_role = (ruleset.policies.get(each) for each in (found.policies if found else ()))
    of_user = (policy for rules in restrictions for policy in rules.policies.values())
    every = (*of_role, *of_user)
    return tuple(each.id for each in every if each and each.context in TRAFFIC)


def is_asked(
    ruleset: RuleSet, role: Role, restrictions: Iterable[RoleRules] = ()
) -> bool:
    """Whether any policy of a role, or that a user adds, is about requests.

    One of context All may be asked about them, too, and says nothing of them.
    """
    of_role = (ruleset.policies.get(each) for each in role.policies)
    of_user = (policy for rules in restrictions for policy in rules.policies.values())
    return any(each and each.context in _ASKED for each in (*of_role, *of_user))


def _findings(policies: Iterable[Policy], missing: str) -> Iterator[Finding]:
    contexts = {each.id: each.context for each in policies}
    named = [name for name, context in contexts.items() if context in TRAFFIC]
    general = [name for name, context in contexts.items() if context is Context.ALL]
    what = "what sessions send and get back"
    if named:
        it = "it" if len(named) == 1 else "them"
        yield _warning(
            f"nothing asks {_listed(named)} about {what}, because {missing}; "
            f"`redlane run` refuses roles that hold {it}"
        )
    elif general:
        yield _warning(f"{_listed(general)} cannot see {what}, because {missing}")


def _warning(message: str) -> Finding:
    subject = f"contexts {Context.NETWORK} and {Context.INBOUND}"
    return Finding(Severity.WARNING, "", subject, message)


def _listed(names: list[str]) -> str:
    """`policy a`, or `policies a, b, c and 4 more`."""
    listed = ", ".join(names[:_NAMED])
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{'policy' if len(names) == 1 else 'policies'} {listed}{rest}"
