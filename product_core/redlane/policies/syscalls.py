"""Policies in context Syscall: by name, and by path (policy format: Syscall rules)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from redlane.model.content import Content, Reader, SystemCall
from redlane.model.matching import Answer, Matcher, MatchType, Outcome
from redlane.model.policy import Action, Context, Policy

__all__ = [
    "SyscallMatcher",
    "checked_calls",
    "is_path_filter",
    "named_calls",
    "syscalls_of",
    "takes_part",
]

_DETAILS = ("args", "pid", "ppid", "command", "session")


def syscalls_of(policy: Policy) -> tuple[str, ...]:
    """The system calls that a policy names; none if it takes no part in Syscall.

    A Simple policy of context Syscall without `syscall` names it in `pattern`; one of
    context All takes part only when it has `syscall`.
    """
    if policy.context not in (Context.SYSCALL, Context.ALL):
        return ()
    if policy.syscalls:
        return policy.syscalls
    if policy.context is Context.SYSCALL and policy.type == "Simple" and policy.pattern:
        return (policy.pattern,)
    return ()


def is_path_filter(policy: Policy) -> bool:
    """Whether the policy's pattern is matched against paths, not every invocation."""
    if policy.type == "Simple":
        return bool(policy.syscalls and policy.pattern)
    return True


def takes_part(policy: Policy, match_types: Mapping[str, MatchType]) -> bool:
    """Whether a policy has a say about system calls."""
    return Context.SYSCALL in match_types[policy.type].contexts and bool(
        syscalls_of(policy)
    )


def named_calls(policies: Iterable[Policy]) -> Mapping[str, bool]:
    """The system calls that policies name; True where some look at paths."""
    named: dict[str, bool] = {}
    for policy in policies:
        for name in syscalls_of(policy):
            named[name] = named.get(name, False) or is_path_filter(policy)
    return named


def checked_calls(
    policies: Iterable[Policy], match_types: Mapping[str, MatchType]
) -> frozenset[str]:
    """The system calls on which a program or a model is asked."""
    return frozenset(
        name
        for policy in policies
        if match_types[policy.type].reader is not Reader.PATTERN
        for name in syscalls_of(policy)
    )


class SyscallMatcher:
    """The policies of one match type and one action, asked about a system call."""

    def __init__(self, match_type: MatchType, policies: Sequence[Policy]) -> None:
        """Compile one matcher for the policies that each system call has."""
        self._checks = match_type.reader is not Reader.PATTERN
        self._allows = bool(policies) and policies[0].action is Action.ALLOW
        self._named: dict[str, list[int]] = {}
        filters: dict[str, list[Policy]] = {}
        for policy in policies:
            for name in dict.fromkeys(syscalls_of(policy)):
                if self._checks or is_path_filter(policy):
                    filters.setdefault(name, []).append(policy)
                else:
                    self._named.setdefault(name, []).append(policy.order)
        self._filters = _compiled(match_type, filters)

    def answers(
        self,
        content: Content,
        views: tuple[bytes, ...],  # noqa: ARG002  # paths are read from the call
        before: int,
    ) -> Iterable[Answer]:
        """The policies that match the call, lowest order first."""
        call = content.system_call
        if call is None:
            return []
        found = [Answer(each, Outcome.YES) for each in self._named.get(call.name, ())]
        if call.name in self._filters:
            matcher, orders = self._filters[call.name]
            limit = min(before, max(orders) + 1)
            found += self._filtered(content, call, matcher, orders, limit)
        return sorted(
            (each for each in found if each.order < before), key=attrgetter("order")
        )

    def _filtered(
        self,
        content: Content,
        call: SystemCall,
        matcher: Matcher,
        orders: Sequence[int],
        limit: int,
    ) -> list[Answer]:
        """The answers of what looks at paths; an unreadable one matches all but Allow.

        A checker is told of the call all the same: it must not fail unnoticed.
        """
        unreadable = None in call.paths
        answers: Iterable[Answer] = ()
        if self._checks:
            answers = matcher.answers(content, (_description(call),), limit)
        elif not unreadable:
            answers = self._by_path(content, call, matcher, limit)
        if not unreadable:
            return list(answers)
        found = [each for each in answers if each.outcome is not Outcome.YES]
        if not self._allows:
            found += [Answer(order, Outcome.YES) for order in orders]
        return found

    def _by_path(
        self, content: Content, call: SystemCall, matcher: Matcher, before: int
    ) -> list[Answer]:
        """Filters match when any candidate does, those of an Allow when every one does.

        Without a path nothing matches. An answer that is no match at all goes through.
        """
        matches: list[set[int]] = []
        others: list[Answer] = []
        for path in dict.fromkeys(call.paths):
            matched: set[int] = set()
            if path is not None:
                for each in matcher.answers(content, (_path_text(path),), before):
                    if each.outcome is Outcome.YES:
                        matched.add(each.order)
                    else:
                        others.append(each)
            matches.append(matched)
        if not matches:
            return []
        combine = set.intersection if self._allows else set.union
        return [*others, *(Answer(each, Outcome.YES) for each in combine(*matches))]


def _compiled(
    match_type: MatchType, filters: Mapping[str, list[Policy]]
) -> dict[str, tuple[Matcher, Sequence[int]]]:
    """A matcher for each system call; calls with the same policies share one."""
    shared: dict[tuple[int, ...], Matcher] = {}
    compiled: dict[str, tuple[Matcher, Sequence[int]]] = {}
    for name, members in filters.items():
        orders = tuple(each.order for each in members)
        if orders not in shared:
            shared[orders] = match_type.compile(members)
        compiled[name] = (shared[orders], orders)
    return compiled


def _path_text(path: str) -> bytes:
    """A path as valid UTF-8: undecodable bytes arrive as surrogates."""
    return path.encode(errors="surrogateescape").decode(errors="replace").encode()


def _description(call: SystemCall) -> bytes:
    """The JSON object that a checker reads on its standard input; null is unknown."""
    described = {
        "syscall": call.name,
        "paths": list(call.paths),
        **{key: call.details.get(key) for key in _DETAILS},
    }
    return json.dumps(described, ensure_ascii=True).encode()
