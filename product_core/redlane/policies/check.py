"""What a load alone does not show: roles that cannot be compiled."""

from redlane.model.problem import Finding, Severity
from redlane.policies.asking import compile_problem
from redlane.policies.loaded import Loaded

__all__ = ["compile_errors"]


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
