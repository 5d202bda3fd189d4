"""Policies in context Syscall: by name, and by path (policy format: Syscall rules)."""

import json
from collections.abc import Iterable, Sequence

from redlane.model.content import Content, Reader, SystemCall
from redlane.model.matching import Answer, Matcher, MatchType, Outcome
from redlane.model.policy import Action, Context, Policy

__all__ = ["SyscallMatcher", "is_path_filter", "syscalls_of"]


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


class SyscallMatcher:
    """The policies of one match type and one action, asked about a system call."""

    def __init__(self, match_type: MatchType, policies: Sequence[Policy]) -> None:
        """Compile one matcher for each system call that the policies name."""
        self._checks = match_type.reader is Reader.CHECKER
        self._every_path = bool(policies) and policies[0].action is Action.ALLOW
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
        if self._checks:
            return self._checked(content, call, before)
        named = [Answer(o, Outcome.YES) for o in self._named.get(call.name, ())]
        found = [*named, *self._by_path(content, call)]
        return sorted(
            (answer for answer in found if answer.order < before),
            key=lambda answer: answer.order,
        )

    def _checked(
        self, content: Content, call: SystemCall, before: int
    ) -> Iterable[Answer]:
        """Ask the checkers of this system call, with its description as the text.

        An Allow never matches a path that could not be read, whatever a checker says.
        """
        if call.name not in self._filters or (self._every_path and None in call.paths):
            return []
        matcher, _ = self._filters[call.name]
        return matcher.answers(content, (_description(call),), before)

    def _by_path(self, content: Content, call: SystemCall) -> Iterable[Answer]:
        """The path filters that match: any candidate, or for an Allow every one.

        An unreadable path matches, except for an Allow, which it never matches. What a
        matcher answers other than YES stands, whichever path it was about: a failure
        for one path must not be outvoted by the others.
        """
        if call.name not in self._filters or not call.paths:
            return []
        matcher, orders = self._filters[call.name]
        if None in call.paths:
            return [] if self._every_path else [Answer(o, Outcome.YES) for o in orders]
        failed: dict[int, Answer] = {}
        matched: list[frozenset[int]] = []
        for path in {_path_text(each) for each in call.paths if each is not None}:
            answers = list(matcher.answers(content, (path,), max(orders) + 1))
            matched.append(
                frozenset(a.order for a in answers if a.outcome is Outcome.YES)
            )
            failed |= {a.order: a for a in answers if a.outcome is not Outcome.YES}
        combine = frozenset.intersection if self._every_path else frozenset.union
        matching = combine(*matched) - failed.keys()
        return [*failed.values(), *(Answer(o, Outcome.YES) for o in matching)]


def _compiled(
    match_type: MatchType, filters: dict[str, list[Policy]]
) -> dict[str, tuple[Matcher, frozenset[int]]]:
    """A matcher for each system call; calls with the same policies share it."""
    shared: dict[frozenset[int], Matcher] = {}
    made = {}
    for name, members in filters.items():
        orders = frozenset(each.order for each in members)
        if orders not in shared:
            shared[orders] = match_type.compile(members)
        made[name] = (shared[orders], orders)
    return made


def _path_text(path: str) -> bytes:
    """A path as valid UTF-8: undecodable bytes arrive as surrogates."""
    return path.encode(errors="surrogateescape").decode(errors="replace").encode()


def _description(call: SystemCall) -> bytes:
    """The JSON object that a checker reads on its standard input."""
    described = {"syscall": call.name, "paths": list(call.paths), **call.details}
    return json.dumps(described, ensure_ascii=True).encode()
