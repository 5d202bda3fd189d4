"""How a plan is shown: what comes, goes and changes, and what that permits or runs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from redlane.cli.policy_changes import finding_as_json, policy_lines
from redlane.model.visible import on_one_line, shortened
from redlane.sharing.changes import Change, changed_fields
from redlane.sharing.contents import programs

if TYPE_CHECKING:
    from redlane.sharing.checking import Outcome
    from redlane.sharing.planning import Plan

__all__ = ["plan_as_json", "plan_lines"]


def plan_lines(plan: "Plan", outcome: "Outcome") -> Iterator[str]:
    """A plan for people; each line is one, whatever was published."""
    if plan.former_hub not in ("", plan.lock.hub):
        yield f"! all that is here is held against {plan.lock.hub} from now on"
    for change in plan.changes:
        if change.is_any:
            yield from _change_lines(change)
    for path in plan.files:
        if path.startswith("roles/"):
            yield f"= {path}: the role, made anew"
    yield from (f"- {path}" for path in plan.gone)
    for role, policy in outcome.named:
        yield f"! the role {on_one_line(role)} names {on_one_line(policy)} already"
    yield from (
        f"! {path} was changed by hand: it stays, and is kept up no more"
        for path in plan.kept_roles
    )


def plan_as_json(plan: "Plan", outcome: "Outcome") -> dict[str, object]:
    """The same for scripts."""
    return {
        "hub": plan.lock.hub,
        "artifacts": [_change_as_json(each) for each in plan.changes if each.is_any],
        "roles": [each for each in plan.files if each.startswith("roles/")],
        "removed_roles": list(plan.gone),
        "kept_roles": list(plan.kept_roles),
        "named": [{"role": role, "policy": name} for role, name in outcome.named],
        "errors": list(map(finding_as_json, outcome.errors)),
        "warnings": list(map(finding_as_json, outcome.warnings)),
    }


def _change_lines(change: Change) -> Iterator[str]:
    yield _heading(change)
    for name, version in change.needs:
        yield f"    needs {name}@{version} from now on"
    yield from policy_lines(change)


def _heading(change: Change) -> str:
    by = f"signed by {change.key}" if change.key else "not signed"
    if change.key and not change.is_stated:
        by = f"{by}, says the hub"
    shown = shortened(change.owner or "")
    owner = f", published by {shown}" if shown else ""
    if change.after is None:
        return f"- {change.name}@{change.before}"
    if change.before is None:
        return f"+ {change.name}@{change.after}  {by}{owner}"
    was = f" (was {change.before})" if change.before != change.after else ""
    return f"~ {change.name}@{change.after}{was}  {by}{owner}"


def _change_as_json(change: Change) -> dict[str, object]:
    arriving = change.arriving
    return {
        "name": change.name,
        "before": change.before,
        "after": change.after,
        "key_fingerprint": change.key,
        "checked": change.is_stated,
        "owner": change.owner,
        "new_needs": dict(change.needs),
        "added": list(change.added.values()),
        "removed": list(change.removed),
        "changed": {
            name: [asdict(each) for each in changed_fields(*both)]
            for name, both in change.changed.items()
        },
        "reordered": change.is_reordered,
        "allows": [k for k, each in arriving.items() if each.get("action") == "Allow"],
        "rewrites": [
            k for k, each in arriving.items() if each.get("action") == "Modify"
        ],
        "executable": [k for k, each in arriving.items() if programs(each)],
    }
