"""The policies that an artifact holds, before anything of them is checked."""

from collections.abc import Mapping
from typing import Any

from redlane.errors import LoadError
from redlane.hubclient import Artifact

__all__ = ["Policies", "by_id", "policies_of", "programs", "runs_programs"]

Policies = Mapping[str, Mapping[str, Any]]
"""Policies as they are written, by their ids, in their order."""

_SET, _PROGRAM = "set", "executable"


def policies_of(artifact: Artifact) -> Policies:
    """What an artifact holds; a set need not hold any of its own.

    Raises LoadError for one that holds something else.
    """
    named = f"{artifact.name}@{artifact.version}"
    if artifact.artifact_type == _SET and not _looks_like_policies(artifact.content):
        return {}
    try:
        found = by_id(artifact.content)
    except ValueError as error:
        raise LoadError(f"{named} holds no policies that load: {error}") from error
    if not found:
        raise LoadError(f"{named} holds no policies")
    return found


def by_id(content: object) -> Policies:
    """A policy, or an array of them, by their ids; raises ValueError."""
    listed = content if isinstance(content, list) else [content]
    found: dict[str, Mapping[str, Any]] = {}
    for each in listed:
        if not isinstance(each, dict) or not isinstance(name := each.get("id"), str):
            raise ValueError("there is something without an id in it")  # noqa: TRY004  # as below
        if name in found:
            raise ValueError(f"there are two with the id {name!r} in it")
        found[name] = each
    return found


def programs(policy: Mapping[str, Any]) -> list[str]:
    """The command lines that a policy starts."""
    transform = policy.get("transform")
    found = []
    if str(policy.get("type")).lower() == _PROGRAM:
        found.append(str(policy.get("pattern")))
    if isinstance(transform, dict) and str(transform.get("type")).lower() == _PROGRAM:
        found.append(str(transform.get("command")))
    return found


def runs_programs(policies: Policies) -> list[str]:
    """The ids of those that start a program."""
    return [name for name, each in policies.items() if programs(each)]


def _looks_like_policies(content: object) -> bool:
    """Whether a set's content is more than a remark of its own."""
    if isinstance(content, list):
        return bool(content)
    return isinstance(content, dict) and bool({"id", "type", "action"} & content.keys())
