"""Immutable rules: the loaded policies and roles, compiled once per role.

A role's policies are split by the context that they name and by action, and each split
is compiled into one matcher per match type, so that thousands of policies cost about
one scan. Nothing here changes after it is made; a reload makes a new `RuleSet`.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from redlane.model.content import Reader
from redlane.model.matching import Matcher, MatchType
from redlane.model.policy import Action, Context, Policy, Role, Scope
from redlane.policies.syscalls import SyscallMatcher, named_calls, takes_part

__all__ = ["BoundMatcher", "RoleRules", "RuleSet"]

Groups = Mapping[tuple[Context, Action], tuple["BoundMatcher", ...]]


@dataclass(frozen=True, slots=True)
class BoundMatcher:
    """A compiled matcher, and which texts it is to be shown."""

    matcher: Matcher
    reader: Reader


@dataclass(frozen=True, slots=True)
class RoleRules:
    """What one role enforces: matchers by context and action, policies by order.

    Classifiers stand under Block, whatever their action says: their answers name the
    lane themselves.
    """

    role: str
    digest: str
    policies: Mapping[int, Policy]
    groups: Groups
    system_calls: Mapping[str, bool] = field(
        default_factory=lambda: MappingProxyType({})
    )
    """Those that the policies name; True where some look at paths."""

    allows_each: tuple[BoundMatcher, ...] = ()
    """The Allows in Shell that have to match each command (`scope`); not in groups."""

    def matchers(self, context: Context, action: Action) -> tuple[BoundMatcher, ...]:
        """The matchers of policies of `context` and of context All."""
        return self.groups.get((context, action), ())

    def rest_on_text(self, context: Context) -> bool:
        """Whether what is said of a text of `context` is said of it the next time."""
        return all(
            bound.reader is Reader.PATTERN
            for action in Action
            for bound in self._every(context, action)
        )

    def _every(self, context: Context, action: Action) -> tuple[BoundMatcher, ...]:
        is_of_each = (context, action) == (Context.SHELL, Action.ALLOW)
        each = self.allows_each if is_of_each else ()
        return (*self.matchers(context, action), *each)


class RuleSet:
    """Every policy and role that was loaded, with the digest of their text."""

    def __init__(
        self,
        policies: Iterable[Policy],
        roles: Iterable[Role],
        match_types: Mapping[str, MatchType],
        digest: str,
    ) -> None:
        """Keep what was loaded; a role is compiled when `rules` first asks for it."""
        self.policies: Mapping[str, Policy] = {each.id: each for each in policies}
        self.roles: Mapping[str, Role] = {each.name: each for each in roles}
        self.digest = digest
        self._match_types = match_types
        self._compiled: dict[str, RoleRules] = {}
        self._lock = threading.Lock()

    @property
    def match_types(self) -> Mapping[str, MatchType]:
        """The match types that policies may have, by name."""
        return self._match_types

    def rules(self, role: str) -> RoleRules | None:
        """The compiled rules of `role`, or None when there is no such role.

        Raises KeyError when the role names a policy that is not there: such a set has
        load errors and must not be asked for that role.
        """
        compiled = self._compiled.get(role)
        if compiled is None and role in self.roles:
            with self._lock:
                compiled = self._compiled.get(role) or self._compile(self.roles[role])
                self._compiled[role] = compiled
        return compiled

    def _compile(self, role: Role) -> RoleRules:
        policies = sorted(
            (self.policies[each] for each in set(role.policies)),
            key=lambda policy: policy.order,
        )
        groups, allows_each = _group(policies, self._match_types)
        return RoleRules(
            role=role.name,
            digest=self.digest,
            policies={policy.order: policy for policy in policies},
            groups=groups,
            allows_each=allows_each,
            system_calls=named_calls(
                each for each in policies if takes_part(each, self._match_types)
            ),
        )


def _group(
    policies: list[Policy], match_types: Mapping[str, MatchType]
) -> tuple[Groups, tuple[BoundMatcher, ...]]:
    """Compile every split once; contexts share the matchers of context All.

    Besides, those of the Allows in Shell that have to match each command.
    """
    splits: dict[tuple[Context, Action, Scope, str], list[Policy]] = defaultdict(list)
    for policy in policies:
        match_type = match_types[policy.type]
        action = Action.BLOCK if match_type.ignores_action else policy.action
        scope = policy.scope if action is Action.ALLOW else Scope.CONTENT
        if policy.context is not Context.SYSCALL:
            splits[policy.context, action, scope, policy.type].append(policy)
        if takes_part(policy, match_types):
            key = Context.SYSCALL, action, Scope.CONTENT, policy.type
            splits[key].append(policy)
    groups: dict[tuple[Context, Action], list[BoundMatcher]] = defaultdict(list)
    of_each: list[BoundMatcher] = []
    for (context, action, scope, type_name), members in splits.items():
        bound = _bind(match_types[type_name], members, context)
        for each in _contexts_of(context) & match_types[type_name].contexts:
            if scope is Scope.EACH and each is Context.SHELL:
                of_each.append(bound)
            else:
                groups[each, action].append(bound)
    return {key: tuple(some) for key, some in groups.items()}, tuple(of_each)


def _bind(
    match_type: MatchType, policies: list[Policy], context: Context
) -> BoundMatcher:
    if context is Context.SYSCALL:
        return BoundMatcher(SyscallMatcher(match_type, policies), match_type.reader)
    return BoundMatcher(match_type.compile(policies), match_type.reader)


def _contexts_of(context: Context) -> frozenset[Context]:
    """The contexts that a policy's context stands for; Syscall needs `syscall`."""
    if context is not Context.ALL:
        return frozenset({context})
    return frozenset(Context) - {Context.SYSCALL, Context.ALL}
