"""How a change of policies is shown before it is made, and when it is not made."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from redlane.cli.output import as_text, print_finding
from redlane.errors import LoadError
from redlane.hubclient.signing import canonical
from redlane.model.visible import on_one_line
from redlane.paths import Paths
from redlane.sharing.changes import Change, changed_fields
from redlane.sharing.contents import programs
from redlane.sharing.errors import RefusedError

if TYPE_CHECKING:
    from redlane.model.problem import Finding
    from redlane.sharing.checking import Outcome

__all__ = [
    "finding_as_json",
    "policy_lines",
    "print_change",
    "require_sound",
    "role_lines",
]

_BOUNDS = ("writable", "hidden", "egress", "namespaces", "boundary", "ebpf")
"""What a role says of its sessions, in place of the role that it extends."""

_HEAD = ("id", "action", "context", "type")
_REMARKS = ("description", "tests", "tags", "$schema")
"""What never comes to anybody's eyes or changes a verdict."""


def policy_lines(change: Change) -> Iterator[str]:
    """How policies change, and what they do beside stopping something."""
    yield from _lines(change, _summary)
    if change.is_reordered:
        yield "    ~ its policies come in another order"
    for name, policy in change.arriving.items():
        for what in _effects(policy):
            yield f"    ! {on_one_line(name)} {what}"


def role_lines(change: Change) -> Iterator[str]:
    """How roles change, and what of them is looser than it might be."""
    yield from _lines(change, _role)
    for name, role in change.arriving.items():
        for what in _loosens(role):
            yield f"    ! {on_one_line(name)} {what}"


def print_change(lines: Iterable[str], found: "Outcome") -> None:
    """Print what would change, and what would be wrong then."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()
    for each in (*found.errors, *found.warnings):
        place = ": ".join(filter(None, (each.file, each.subject, each.message)))
        print_finding(f"{each.severity}: {place}")


def require_sound(found: "Outcome", paths: Paths) -> None:
    """Raise what says why nothing is changed: it would not load, or its tests fail."""
    if found.errors:
        first = found.errors[0]
        raise LoadError(
            f"nothing was changed, since this would not load: {first.subject}: "
            f"{first.message}"
        )
    if found.failed:
        from redlane.cli.policy_test import result_line  # noqa: PLC0415  # ditto

        many = f" (and {len(found.failed) - 1} more)" if len(found.failed) > 1 else ""
        raise RefusedError(
            f"nothing was changed, since a test of its own fails{many}: "
            f"{result_line(found.failed[0])}"
        )
    if found.is_legacy_lost:
        raise RefusedError(
            f"{paths.legacy_policies} would not be read any more, for it is only read "
            f"where there are no others: move it to {paths.policies} first"
        )


def finding_as_json(finding: "Finding") -> dict[str, str]:
    """A finding for scripts."""
    return {
        "file": as_text(finding.file),
        "subject": finding.subject,
        "message": finding.message,
    }


def _lines(
    change: Change, summary: Callable[[Mapping[str, Any]], str]
) -> Iterator[str]:
    for name, document in change.added.items():
        yield f"    + {on_one_line(name)}: {summary(document)}"
    for name, (before, after) in change.changed.items():
        fields = ", ".join(
            f"{on_one_line(each.name)} {_value(each.before)} -> {_value(each.after)}"
            for each in changed_fields(before, after)
        )
        yield f"    ~ {on_one_line(name)}: {fields}"
    yield from (f"    - {on_one_line(name)}" for name in change.removed)


def _effects(policy: Mapping[str, Any]) -> Iterator[str]:
    """What a policy does beside stopping something."""
    if policy.get("action") == "Allow":
        yield "PERMITS what it matches, whatever forbids it"
    if policy.get("action") == "Modify":
        yield "REWRITES what it matches"
    yield from (f"RUNS {on_one_line(each)}" for each in programs(policy))


def _summary(policy: Mapping[str, Any]) -> str:
    head = (policy.get("action"), policy.get("context", "All"), policy.get("type"))
    rest = {k: each for k, each in policy.items() if k not in (*_HEAD, *_REMARKS)}
    return on_one_line(f"{' '.join(map(str, head))} {canonical(rest)}")


def _value(value: object) -> str:
    return "nothing" if value is None else on_one_line(canonical(value))


def _loosens(role: Mapping[str, Any]) -> Iterator[str]:
    """What a role takes away, and what it says of its sessions' bounds."""
    if not role.get("extends"):
        yield "extends NO role: it has its own policies, and nothing else"
    policies = role.get("policies")
    for each in policies if isinstance(policies, list) else ():
        if isinstance(each, str) and each.startswith("-") and role.get("extends"):
            yield f"TAKES AWAY {on_one_line(each[1:])}"
    for field in _BOUNDS:
        if role.get(field) is not None:
            yield f"BOUNDS by {field}: {_value(role[field])}"


def _role(role: Mapping[str, Any]) -> str:
    rest = {k: each for k, each in role.items() if k not in ("name", *_REMARKS)}
    return on_one_line(canonical(rest))
