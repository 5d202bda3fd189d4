"""Whether the filter of a session's processes stops all that its rules name.

A filter is loaded once, before the first program of a session runs, and stays as it is.
Rules that name more than it stops cannot be enforced: then nothing goes on.
"""

from collections.abc import Iterator, Mapping, Sequence

from redlane.model.policy import Role
from redlane.policies.places import EXCEPT
from redlane.policies.ruleset import RoleRules, RuleSet
from redlane.state.boundary import why_not_whole
from redlane.state.sessions import Session

__all__ = ["listed", "names_of", "why_not_held"]

_TOLD = 5
"""How many names a message lists before it counts the rest."""


def names_of(
    ruleset: RuleSet, role: str | None, restrictions: Sequence[RoleRules] = ()
) -> dict[str, bool]:
    """The system calls that rules name; True where some look at paths."""
    rules = ruleset.rules(role) if role is not None else None
    named: dict[str, bool] = {}
    for each in (*restrictions, *([] if rules is None else [rules])):
        for name, by_path in each.system_calls.items():
            named[name] = named.get(name, False) or by_path
    return named


def why_not_held(
    session: Session, ruleset: RuleSet, restrictions: Sequence[RoleRules] = ()
) -> str:
    """Why the rules of a session cannot be enforced on its processes, or "".

    A session without processes of its own has none to hold: only content is judged.
    """
    if session.root_pid is None:
        return ""
    named = names_of(ruleset, session.role, restrictions)
    if not named:
        return _why_not_bound(session, ruleset.roles.get(session.role or ""), named)
    again = "end it and start it again"
    missing = sorted(named.keys() - set(session.filtered or ()))
    if session.filtered is None:
        return (
            f"nothing holds {listed(missing)} in the session yet, which its rules "
            f"name: unless it is just starting, {again}"
        )
    if missing:
        return (
            f"the session was started without a filter for {listed(missing)}, which "
            f"its rules name: {again}"
        )
    return _why_not_bound(session, ruleset.roles.get(session.role or ""), named)


def _why_not_bound(
    session: Session, role: Role | None, named: Mapping[str, bool]
) -> str:
    """Why what a role says beside its policies cannot be enforced, or ""."""
    return "" if role is None else next(_unbound(session, role, named), "")


def _unbound(session: Session, role: Role, named: Mapping[str, bool]) -> Iterator[str]:
    """Each thing that a role says beside its policies and that cannot be enforced."""
    again = "end it and start it again"
    if role.wants_whole_boundary and (missing := why_not_whole()):
        yield f"role {role.name!r} wants the whole boundary, and {missing}"
    denies = not role.namespaces and (role.is_held_by_run or bool(named))
    if session.sandboxes and denies:
        yield (
            "the session was started with a filter that lets it into namespaces, which "
            f"role {role.name!r} denies: {again}"
        )
    if session.filtered is None and not _is_as_hidden(session.concealed, role.hidden):
        yield (
            f"nothing hides from the session what role {role.name!r} hides, unless it "
            f"is just starting: {again}"
        )
    if role.leaves_by_proxy and not session.by_proxy:
        yield (
            "nothing keeps the session from leaving this machine past its proxy, as "
            f"role {role.name!r} wants, unless it is just starting: {again}"
        )
    if role.writable is not None and not session.places:
        yield from _not_placed(session, role, role.writable)


def _not_placed(session: Session, role: Role, writable: Sequence[str]) -> Iterator[str]:
    """Why `redlane-run` does not hold a session where its role lets it write."""
    again = "end it and start it again"
    if session.placed is None:
        yield (
            f"nothing holds the session to the places where role {role.name!r} lets it "
            f"write, unless it is just starting: {again}"
        )
    elif not _is_as_tight(session.placed, writable):
        yield (
            f"the session was started before role {role.name!r} let it write to fewer "
            f"places: {again}"
        )


def _is_as_tight(held: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether places that a session is held to are none but those that are `wanted`."""
    exceptions = {each for each in wanted if each.startswith(EXCEPT)}
    places = {each for each in held if not each.startswith(EXCEPT)}
    return exceptions <= set(held) and places <= set(wanted)


def _is_as_hidden(held: Sequence[str] | None, wanted: Sequence[str]) -> bool:
    """Whether what a session is kept from reading is all that is `wanted`, or more."""
    exceptions = {each for each in held or () if each.startswith(EXCEPT)}
    places = {each for each in wanted if not each.startswith(EXCEPT)}
    return exceptions <= set(wanted) and places <= set(held or ())


def listed(names: Sequence[str]) -> str:
    """`a`, or `a, b, c, d, e and 4 more`."""
    rest = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
    return ", ".join(names[:_TOLD]) + rest
