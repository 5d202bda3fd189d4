"""Names of a project: its own begin with its name, so that they are nobody else's.

What it does not have itself, it means of the home: `developer`, the starter's policies.
"""

from collections.abc import Iterable
from typing import Any

from redlane.projects.folder import Said

__all__ = ["named_for"]


def named_for(project: str, said: Said) -> Said:
    """The same, with each name of its own as it is from outside: `PROJECT/NAME`."""
    own = (
        _Names(project, [each.get("id") for each in _objects(said.policies)]),
        _Names(project, [each.get("name") for each in _objects(said.roles)]),
    )
    return Said(
        tuple(_policy(each, *own) for each in said.policies),
        tuple(_role(each, *own) for each in said.roles),
    )


def _objects(values: Iterable[Any]) -> Iterable[dict[str, Any]]:
    return (each for each in values if isinstance(each, dict))


class _Names:
    """The names of a kind that a project has, and how they are known outside."""

    def __init__(self, project: str, own: Iterable[object]) -> None:
        self._project = project
        self._own = {each for each in own if isinstance(each, str)}

    def outside(self, name: Any) -> Any:  # noqa: ANN401  # any JSON value
        """A name as it is known outside, and what is no name as it is."""
        if not isinstance(name, str) or name not in self._own:
            return name
        return f"{self._project}/{name}"


def _policy(policy: Any, policies: _Names, roles: _Names) -> Any:  # noqa: ANN401
    if not isinstance(policy, dict):
        return policy
    named = {**policy, "id": policies.outside(policy.get("id"))}
    tests = policy.get("tests")
    if isinstance(tests, dict) and isinstance(tests.get("verdicts"), list):
        verdicts = [_verdict(each, roles) for each in tests["verdicts"]]
        named["tests"] = {**tests, "verdicts": verdicts}
    elif isinstance(tests, list):
        named["tests"] = [_verdict(each, roles) for each in tests]
    return named


def _verdict(told: Any, roles: _Names) -> Any:  # noqa: ANN401  # any JSON value
    if not isinstance(told, dict) or "role" not in told:
        return told
    return {**told, "role": roles.outside(told["role"])}


def _role(role: Any, policies: _Names, roles: _Names) -> Any:  # noqa: ANN401  # as above
    if not isinstance(role, dict):
        return role
    name = role.get("name")
    named: dict[str, Any] = {**role, "name": roles.outside(name)}
    if isinstance(role.get("policies"), list):
        named["policies"] = [_listed(each, policies) for each in role["policies"]]
    bases = role.get("extends")
    if isinstance(bases, str):
        named["extends"] = _base(bases, name, roles)
    elif isinstance(bases, list):
        named["extends"] = [_base(each, name, roles) for each in bases]
    return named


def _base(base: Any, role: object, roles: _Names) -> Any:  # noqa: ANN401  # as above
    """A role that another extends: one of its own name is that of the home."""
    return base if base == role else roles.outside(base)


def _listed(name: Any, policies: _Names) -> Any:  # noqa: ANN401  # as above
    """A policy of a role, or one that is taken away: `-NAME`."""
    if isinstance(name, str) and name.startswith("-"):
        return f"-{policies.outside(name[1:])}"
    return policies.outside(name)
