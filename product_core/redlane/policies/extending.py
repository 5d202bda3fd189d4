"""Roles that have what other roles have (`extends`): what each comes to.

`policies` adds, and a name with `-` in front takes away. What a role does not say of
its sessions is as the roles say that it extends; where those differ, it has to say.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from redlane.model.policy import Role
from redlane.model.problem import Finding, Severity
from redlane.policies.nearness import nearest, short
from redlane.policies.parsing import ParsedRole

__all__ = ["comes_to", "extend"]

_INHERITED = {
    "namespaces": "namespaces",
    "ebpf": "ebpf",
    "freeze_on_flag": "freeze_on_flag",
    "writable": "writable",
    "hidden": "hidden",
    "egress": "leaves_by_proxy",
    "boundary": "wants_whole_boundary",
}
"""Fields of a role, and what a `Role` has of them."""

_LONGEST_WAY = 32
"""How many roles a circle may have to be told."""


def extend(
    roles: Sequence[ParsedRole],
) -> tuple[tuple[ParsedRole, ...], tuple[Finding, ...]]:
    """Every role with what it extends, or without a role where that cannot be told.

    Decided once for each, those that are extended first.
    """
    every: dict[str, ParsedRole] = {}
    for each in roles:
        every.setdefault(each.name, each)
    made: dict[str, Role | None] = {}
    findings: list[Finding] = []
    for name in _in_order(every):
        role = every[name].role
        problems = [] if role is None else list(_problems(role, every, made))
        findings += [_error(every[name], message) for message in problems]
        made[name] = None if role is None or problems else _whole(role, made)
    waits = every.keys() - made.keys()
    findings += [_error(every[name], _round(name, every, waits)) for name in waits]
    taken = (
        replace(each, role=made.get(each.name)) if every[each.name] is each else each
        for each in roles
    )
    return tuple(taken), tuple(findings)


def comes_to(role: Role) -> list[object]:
    """All that the roles that it extends have a part in."""
    return [role.policies, *(getattr(role, each) for each in _INHERITED.values())]


def _bases(parsed: ParsedRole) -> tuple[str, ...]:
    return () if parsed.role is None else tuple(dict.fromkeys(parsed.role.extends))


def _in_order(every: Mapping[str, ParsedRole]) -> Iterator[str]:
    """Names of roles, each behind those that it extends; what is in a circle, not."""
    waits = {
        name: sum(base in every for base in _bases(each))
        for name, each in every.items()
    }
    extending: dict[str, list[str]] = defaultdict(list)
    for name, each in every.items():
        for base in _bases(each):
            extending[base].append(name)
    ready = deque(name for name, left in waits.items() if not left)
    while ready:
        name = ready.popleft()
        yield name
        for other in extending[name]:
            waits[other] -= 1
            if not waits[other]:
                ready.append(other)


def _problems(
    role: Role, every: Collection[str], made: Mapping[str, Role | None]
) -> Iterator[str]:
    """Why a role cannot be told from those that it extends."""
    bases = dict.fromkeys(role.extends)
    for name in bases:
        if name not in every:
            near = nearest(name, every)
            hint = f"; did you mean {near!r}?" if near else ""
            yield f"`extends`: there is no role {short(name)}{hint}"
        elif made[name] is None:
            yield f"`extends`: the role {short(name)} has errors"
    found = [each for name in bases if (each := made.get(name)) is not None]
    if len(found) < len(bases):
        return
    there = {each for base in found for each in base.policies}
    for name in _taken_away(role):
        if name not in there:
            yield f"`policies`: there is no {short(name)} to take away"
    for field, attribute in _INHERITED.items():
        values = {_unordered(getattr(each, attribute)) for each in found}
        if field not in role.given and len(values) > 1:
            yield f"`{field}`: the roles that it extends differ in it, so it has to say"


def _unordered(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _taken_away(role: Role) -> tuple[str, ...]:
    marked = (each for each in role.policies if each.startswith("-"))
    return tuple(each[1:] for each in marked) if role.extends else ()


def _whole(role: Role, made: Mapping[str, Role | None]) -> Role:
    """A role with all that it extends."""
    bases = [each for name in role.extends if (each := made[name]) is not None]
    if not bases:
        return role
    away = set(_taken_away(role))
    theirs = (each for base in bases for each in base.policies if each not in away)
    own = (each for each in role.policies if not each.startswith("-"))
    inherited = {
        attribute: getattr(bases[0], attribute)
        for field, attribute in _INHERITED.items()
        if field not in role.given
    }
    return replace(role, policies=tuple(dict.fromkeys((*theirs, *own))), **inherited)


def _round(name: str, every: Mapping[str, ParsedRole], waits: Collection[str]) -> str:
    """How a role extends itself, if that is soon; or which one it extends does."""
    way = [name]
    while len(way) <= _LONGEST_WAY and (len(way) == 1 or way[-1] != name):
        way.append(next(each for each in _bases(every[way[-1]]) if each in waits))
    if way[-1] != name:
        return f"`extends`: the role {short(way[1])} has errors"
    return f"`extends` goes round in a circle: {' -> '.join(map(short, way))}"


def _error(parsed: ParsedRole, message: str) -> Finding:
    return Finding(Severity.ERROR, parsed.entry.file, parsed.name, message)
