"""What holds between files: names given twice, and roles that name what is not there.

A role is whole when its own form is right and every policy that it names is loaded
without error. Only whole roles are enforced.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redlane.model.policy import Role
from redlane.model.problem import Finding, Severity
from redlane.policies.extending import extend
from redlane.policies.nearness import nearest, short
from redlane.policies.parsing import ParsedPolicy, ParsedRole

__all__ = ["Checked", "check_references"]

_MOST_HINTS = 10
"""Missing policies for which a likely one is looked for: each look costs."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The policies and roles that are whole, and what keeps the others from it.

    `findings` are the new ones; `errors_by_role` repeats those of the role's own form
    and of its policies, so that one answer tells why a role cannot be used.
    """

    policies: tuple[ParsedPolicy, ...]
    roles: tuple[ParsedRole, ...]
    findings: tuple[Finding, ...]
    errors_by_role: Mapping[str, tuple[Finding, ...]]


def check_references(
    policies: Sequence[ParsedPolicy],
    roles: Sequence[ParsedRole],
    only_roles: frozenset[str] | None,
) -> Checked:
    """Policies and roles against each other; roles outside `only_roles` stand aside.

    Those may be extended all the same.
    """
    roles, of_extending = extend(roles)
    same_ids = _given_twice("policy id", ((p.id, p.entry.file) for p in policies))
    same_names = _given_twice("role name", ((r.name, r.entry.file) for r in roles))
    broken = _errors_by_subject(_findings_of(policies), same_ids)
    own = _errors_by_subject(_findings_of(roles), same_names, of_extending)
    chosen = [r for r in roles if only_roles is None or r.name in only_roles]
    dangling = _dangling([r.role for r in chosen if r.role], {p.id for p in policies})
    missing = _errors_by_subject(dangling)
    errors = {
        each.name: (*own[each.name], *missing[each.name], *_errors_held(each, broken))
        for each in roles
    }
    return Checked(
        policies=tuple(p for p in policies if p.policy and p.id not in broken),
        roles=tuple(r for r in chosen if r.role and not errors[r.name]),
        findings=(*same_ids, *same_names, *_about(chosen, of_extending), *dangling),
        errors_by_role={name: found for name, found in errors.items() if found},
    )


def _about(
    roles: Iterable[ParsedRole], findings: Iterable[Finding]
) -> Iterator[Finding]:
    names = {each.name for each in roles}
    return (each for each in findings if each.subject in names)


def _given_twice(what: str, named: Iterable[tuple[str, str]]) -> list[Finding]:
    """An error for each use of a name but the first."""
    first: dict[str, str] = {}
    found = []
    for name, file in named:
        if name and name in first:
            where = "this file" if first[name] == file else first[name]
            message = f"{what} {short(name)} is used twice: {where} has it as well"
            found.append(Finding(Severity.ERROR, file, name, message))
        first.setdefault(name, file)
    return found


def _dangling(roles: Iterable[Role], known: Collection[str]) -> list[Finding]:
    """An error for each policy that a role names and no file defines."""
    found: list[Finding] = []
    for role in roles:
        for name in dict.fromkeys(role.policies):
            if name not in known:
                near = nearest(name, known) if len(found) < _MOST_HINTS else None
                hint = f"; did you mean {near!r}?" if near else ""
                message = f"no file defines the policy {short(name)}{hint}"
                found.append(Finding(Severity.ERROR, role.source, role.name, message))
    return found


def _errors_held(
    parsed: ParsedRole, broken: Mapping[str, Sequence[Finding]]
) -> Iterator[Finding]:
    """The errors of the policies that a role names."""
    for name in dict.fromkeys(parsed.role.policies if parsed.role else ()):
        yield from broken.get(name, ())


def _findings_of(parsed: Iterable[ParsedPolicy | ParsedRole]) -> Iterator[Finding]:
    return (finding for each in parsed for finding in each.findings)


def _errors_by_subject(*findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for group in findings:
        for each in group:
            if each.severity is Severity.ERROR:
                found[each.subject].append(each)
    return found
