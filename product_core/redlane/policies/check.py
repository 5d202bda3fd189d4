"""What a load alone does not show: roles that cannot be compiled, and idle policies."""

from redlane.model.policy import Action
from redlane.model.problem import Finding, Severity
from redlane.policies.asking import compile_problem
from redlane.policies.loaded import Loaded

__all__ = ["compile_errors", "idle_blocks"]


def compile_errors(loaded: Loaded) -> tuple[Finding, ...]:
    """An error for each role whose rules a match type fails to compile.

    Without this a daemon would start with a role that blocks everything. What compiles
    here is kept in the rule set: the first verdict does not pay for it again.
    """
    return tuple(
        Finding(Severity.ERROR, role.source, role.name, problem)
        for role in loaded.ruleset.roles.values()
        if (problem := compile_problem(loaded.ruleset, role.name))
    )


def idle_blocks(loaded: Loaded) -> tuple[Finding, ...]:
    """A warning for each Block that no role has, where all roles are known."""
    roles = loaded.ruleset.roles.values()
    if loaded.errors or not roles:
        return ()
    named = {name for role in roles for name in role.policies}
    message = "it is in no role, and so it blocks nothing"
    return tuple(
        Finding(Severity.WARNING, each.source, each.id, message)
        for each in loaded.ruleset.policies.values()
        if each.action is Action.BLOCK and each.id not in named
    )
