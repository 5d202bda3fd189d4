"""One object of a policy or role file to a value, with everything wrong about it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from redlane.model.matching import MatchType
from redlane.model.policy import Action, Context, Policy, Role, Scope, Transform
from redlane.model.problem import Finding, Problem, Severity
from redlane.plugins import Plugins
from redlane.policies.asking import problems_of, service_problems
from redlane.policies.documents import Violation, check_document
from redlane.policies.effects import policy_effects
from redlane.policies.fields import CONDITIONS, FORMAT_TYPES, POLICY, ROLE, Table
from redlane.policies.nearness import nearest, short
from redlane.policies.own_fields import own_fields
from redlane.policies.places import PLACES, place_problem
from redlane.policies.secrets import SECRETS
from redlane.policies.sources import Entry
from redlane.policies.syscall_names import SYSCALL_NAMES
from redlane.policies.syscalls import syscalls_of
from redlane.policies.transforms import check_transform, parse_transform
from redlane.policies.unknown import unknown_type

__all__ = [
    "ParsedPolicy",
    "ParsedRole",
    "form_violations",
    "parse_policy",
    "parse_role",
]

_NONE: Table = MappingProxyType({})

_NOT_ASKED_ABOUT = frozenset(
    {
        "id",
        "transform",
        "kill",
        "description",
        "reason",
        "suggestion",
        "tags",
        "$schema",
    }
)
"""Fields that no match type reads: errors in them do not keep it from being asked."""


@dataclass(frozen=True, slots=True)
class ParsedPolicy:
    """A policy, or None when it has an error; its id, or "" when it has none."""

    entry: Entry
    id: str
    policy: Policy | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class ParsedRole:
    """A role, or None when it has an error; its name, or "" when it has none."""

    entry: Entry
    name: str
    role: Role | None
    findings: tuple[Finding, ...]


def parse_policy(entry: Entry, order: int, plugins: Plugins) -> ParsedPolicy:
    """Check one member of a policy file in every respect but its neighbours."""
    document = entry.value
    if not isinstance(document, dict):
        problem = _error(f"a policy must be an object, not {short(document)}")
        return ParsedPolicy(entry, "", None, _findings(entry, "", [problem]))
    name = _name(document, "id")
    match_type = _match_type(document, plugins)
    own = own_fields(match_type) if match_type else {}
    violations = form_violations(document, own)
    problems = [each.problem for each in violations]
    wrong = {each.field for each in violations if each.is_error}
    if match_type is None and "type" not in wrong:
        problems.append(_error(unknown_type(document["type"], plugins)))
        wrong.add("type")
    transform = None
    if document.get("transform") is not None and "transform" not in wrong:
        transform, unworkable = parse_transform(document["transform"])
        problems.extend(unworkable)
    policy = None
    if match_type is not None and wrong <= _NOT_ASKED_ABOUT:
        policy = _policy(document, entry, order, name, transform, match_type, wrong)
        problems.extend(_meaning(policy, match_type))
        problems.extend(_enforcement(policy, match_type, plugins))
        problems.extend(_warning(each) for each in policy_effects(document))
    broken = any(each.severity is Severity.ERROR for each in problems)
    findings = _findings(entry, name, problems)
    return ParsedPolicy(entry, name, None if broken else policy, findings)


def parse_role(entry: Entry) -> ParsedRole:
    """Check one member of a role file in every respect but its neighbours."""
    document = entry.value
    if not isinstance(document, dict):
        problem = _error(f"a role must be an object, not {short(document)}")
        return ParsedRole(entry, "", None, _findings(entry, "", [problem]))
    name = _name(document, "name")
    violations = check_document(ROLE, (), document)
    problems = [each.problem for each in violations]
    malformed = {each.field for each in violations}
    for field, sets in _PLACES.items():
        if field not in malformed:
            problems += _misplaced(field, document.get(field) or (), sets)
    role = None
    if not any(each.severity is Severity.ERROR for each in problems):
        role = Role(
            name=name,
            policies=tuple(document["policies"]),
            is_dynamic=bool(document.get("is_dynamic")),
            namespaces=document.get("namespaces") == "allow",
            ebpf=bool(document.get("ebpf")),
            freeze_on_flag=bool(document.get("freeze_on_flag")),
            writable=_places(document.get("writable")),
            hidden=tuple(document.get("hidden") or ()),
            leaves_by_proxy=_BY_PROXY.get(document.get("egress")),
            wants_whole_boundary=document.get("boundary") == "whole",
            extends=_names(document.get("extends")),
            given=frozenset(each for each in document if document[each] is not None),
            description=document.get("description"),
            source=entry.file,
        )
        if role.is_dynamic:
            reserved = "`is_dynamic` is reserved: the role is used as it stands"
            problems.append(_warning(reserved))
    return ParsedRole(entry, name, role, _findings(entry, name, problems))


def _names(given: str | list[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given or ())


def _places(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(given)


_BY_PROXY: Mapping[str | None, bool] = MappingProxyType({"proxy": True, "any": False})

_PLACES: Mapping[str, Collection[str]] = MappingProxyType(
    {"writable": PLACES, "hidden": SECRETS}
)
"""The fields of a role that list places, and the names that each knows."""


def _misplaced(
    field: str, entries: Iterable[str], sets: Collection[str]
) -> Iterator[Problem]:
    """What is wrong with a role's places."""
    for entry in entries:
        problem = place_problem(entry, sets)
        if problem:
            yield _error(f"`{field}`: {problem}")


def _name(document: dict[str, Any], field: str) -> str:
    """The name under which findings about an object are told."""
    value = document.get(field)
    return value if isinstance(value, str) else ""


def _match_type(document: dict[str, Any], plugins: Plugins) -> MatchType | None:
    type_name = document.get("type")
    return plugins.match_types.get(type_name) if isinstance(type_name, str) else None


def form_violations(document: dict[str, Any], own: Table = _NONE) -> list[Violation]:
    """What is wrong with the form of a policy and its transform, as the schema has it.

    `own` are the fields that only its match type knows.
    """
    table = {**POLICY, **own} if own else POLICY
    violations = check_document(table, CONDITIONS, document)
    if isinstance(document.get("transform"), dict):
        violations.extend(check_transform(document["transform"]))
    return violations


def _policy(
    document: dict[str, Any],
    entry: Entry,
    order: int,
    name: str,
    transform: Transform | None,
    match_type: MatchType,
    wrong: set[str],
) -> Policy:
    """The policy, with what is `wrong` left out; no match type reads that."""
    value = {k: v for k, v in document.items() if k not in wrong} if wrong else document
    syscall = value.get("syscall") or ()
    return Policy(
        id=name,
        type=match_type.name,
        action=Action(value["action"]),
        context=Context(value.get("context") or Context.ALL),
        order=order,
        source=entry.file,
        pattern=value.get("pattern"),
        kill=bool(value.get("kill")),
        syscalls=(syscall,) if isinstance(syscall, str) else tuple(syscall),
        transform=transform,
        server=value.get("server"),
        tool=value.get("tool"),
        model=value.get("model"),
        block_threshold=value.get("block_threshold"),
        flag_threshold=value.get("flag_threshold"),
        description=value.get("description"),
        reason=value.get("reason"),
        suggestion=value.get("suggestion"),
        tags=tuple(value.get("tags") or ()),
        options=_options(value, match_type) if match_type.fields else {},
        scope=Scope(value.get("scope") or Scope.CONTENT),
    )


def _options(document: dict[str, Any], match_type: MatchType) -> dict[str, Any]:
    """The fields that only the policy's match type knows, or their defaults."""
    options = {}
    for name, field in own_fields(match_type).items():
        value = document.get(name)
        if value is not None:
            options[name] = value
        elif field.default is not None:
            options[name] = field.default
    return options


def _meaning(policy: Policy, match_type: MatchType) -> Iterator[Problem]:
    """What is wrong with a policy whose form is right."""
    if policy.type not in FORMAT_TYPES and policy.context not in match_type.contexts:
        supported = ", ".join(each for each in Context if each in match_type.contexts)
        yield _error(f"{policy.type} policies support only the contexts {supported}")
    for name in syscalls_of(policy):
        if name not in SYSCALL_NAMES:
            near = nearest(name, sorted(SYSCALL_NAMES))
            hint = f"; did you mean {near!r}?" if near else ""
            yield _error(f"`pattern`: {short(name)} is no system call{hint}")
    problems = problems_of(match_type, policy)
    yield from problems
    if policy.pattern == "" and policy.type in ("Simple", "Regex") and not problems:
        yield _warning("an empty `pattern` matches everything")


def _enforcement(
    policy: Policy, match_type: MatchType, plugins: Plugins
) -> Iterable[Problem]:
    """What this machine cannot enforce of a policy about system calls."""
    service = plugins.contexts.get(Context.SYSCALL)
    if service is None or Context.SYSCALL not in match_type.contexts:
        return ()
    return service_problems(service, policy) if syscalls_of(policy) else ()


def _findings(
    entry: Entry, subject: str, problems: Iterable[Problem]
) -> tuple[Finding, ...]:
    """Problems with their place; an object without a name is told by its position."""
    place = f"{entry.place}: " if entry.place and not subject else ""
    return tuple(
        Finding(each.severity, entry.file, subject, f"{place}{each.message}")
        for each in problems
    )


def _error(message: str) -> Problem:
    return Problem(Severity.ERROR, message)


def _warning(message: str) -> Problem:
    return Problem(Severity.WARNING, message)
