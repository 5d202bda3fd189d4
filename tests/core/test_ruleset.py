"""Rules compiled per role: who is asked in which context, and about system calls."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PLUGINS, PolicyHome, regex, simple

from redlane.model.content import Content, Reader, SystemCall, TextContent
from redlane.model.matching import Answer, Matcher, Outcome
from redlane.model.policy import Action, Context, Policy, Role
from redlane.model.problem import Problem
from redlane.policies.ruleset import RoleRules, RuleSet
from redlane.policies.syscalls import SyscallMatcher


class CallContent(TextContent):
    """A system call, as a context service offers it."""

    def __init__(self, name: str, *paths: str | None) -> None:
        super().__init__(Context.SYSCALL, b"")
        object.__setattr__(self, "_call", SystemCall(name, paths))

    __slots__ = ("_call",)

    @property
    def system_call(self) -> SystemCall:
        call: SystemCall = self._call
        return call


def rules(root: Path, *policies: dict[str, Any]) -> RoleRules:
    home = PolicyHome(root)
    home.policies(*policies)
    home.role("r", *(each["id"] for each in policies))
    loaded = home.load()
    assert not loaded.errors
    compiled = loaded.ruleset.rules("r")
    assert compiled is not None
    return compiled


def matched(compiled: RoleRules, action: Action, content: Content) -> list[str]:
    """The ids that match, asked as the engine asks."""
    limit = max(compiled.policies, default=0) + 1
    orders = [
        answer.order
        for bound in compiled.matchers(content.context, action)
        for answer in bound.matcher.answers(
            content, content.views(action, bound.reader), limit
        )
        if answer.outcome is Outcome.YES
    ]
    return [compiled.policies[order].id for order in sorted(orders)]


TEXTUAL = [Context.SHELL, Context.NETWORK, Context.INBOUND, Context.MCP]


@pytest.mark.parametrize("context", TEXTUAL)
def test_a_policy_is_asked_in_its_own_context_and_in_all(
    tmp_path: Path, context: Context
) -> None:
    compiled = rules(
        tmp_path,
        simple("everywhere"),
        *(simple(f"in-{each}", context=each) for each in TEXTUAL),
    )

    found = matched(compiled, Action.BLOCK, TextContent(context, b"rm"))

    assert found == ["everywhere", f"in-{context}"]


def test_actions_are_asked_apart(tmp_path: Path) -> None:
    compiled = rules(tmp_path, simple("b"), simple("a", action="Allow"))
    content = TextContent(Context.SHELL, b"rm")

    assert matched(compiled, Action.BLOCK, content) == ["b"]
    assert matched(compiled, Action.ALLOW, content) == ["a"]
    assert matched(compiled, Action.FLAG, content) == []


def test_only_the_roles_own_policies_are_asked(tmp_path: Path) -> None:
    home = PolicyHome(tmp_path)
    home.policies(simple("a"), simple("b"))
    home.role("r", "b")
    home.role("nothing")
    ruleset = home.load().ruleset
    content = TextContent(Context.SHELL, b"rm")

    held, empty = ruleset.rules("r"), ruleset.rules("nothing")

    assert held is not None
    assert empty is not None
    assert matched(held, Action.BLOCK, content) == ["b"]
    assert matched(empty, Action.BLOCK, content) == []
    assert ruleset.rules("nobody") is None
    assert ruleset.rules("r") is held


def test_a_policy_of_context_all_needs_syscall_to_see_system_calls(
    tmp_path: Path,
) -> None:
    compiled = rules(
        tmp_path, regex("no", "."), regex("yes", "^/etc/", syscall=["open", "openat"])
    )

    assert matched(compiled, Action.BLOCK, CallContent("openat", "/etc/x")) == ["yes"]
    assert matched(compiled, Action.BLOCK, CallContent("unlink", "/etc/x")) == []
    assert matched(compiled, Action.BLOCK, TextContent(Context.SHELL, b"/etc/")) == [
        "no",
        "yes",
    ]


def test_a_match_type_is_not_asked_in_contexts_it_does_not_support() -> None:
    match_type = Unsure(contexts=frozenset({Context.SHELL, Context.ALL}))
    policy = Policy("u", "Unsure", Action.BLOCK, syscalls=("open",))
    role = Role("r", ("u",))

    compiled = RuleSet([policy], [role], {"Unsure": match_type}, "").rules("r")

    assert compiled is not None
    assert compiled.matchers(Context.SHELL, Action.BLOCK)
    assert not compiled.matchers(Context.MCP, Action.BLOCK)
    assert not compiled.matchers(Context.SYSCALL, Action.BLOCK)


NAMED = simple("p", "open", context="Syscall")
ALWAYS = simple("p", None, context="Syscall", syscall=["open", "unlink"])
FILTER = simple("p", "/etc", context="Syscall", syscall="open")
PATTERN = regex("p", "^/etc/", context="Syscall", syscall="open")
CASES = {
    "by-name": (NAMED, "Block", ("open", "/x"), True),
    "by-other-name": (NAMED, "Block", ("openat", "/x"), False),
    "name-is-whole": (NAMED, "Block", ("open_tree", "/x"), False),
    "by-name-without-paths": (NAMED, "Block", ("open",), True),
    "no-filter": (ALWAYS, "Block", ("unlink", None), True),
    "substring": (FILTER, "Block", ("open", "/x/etc/y"), True),
    "filter-misses": (FILTER, "Block", ("open", "/x"), False),
    "filter-without-paths": (FILTER, "Block", ("open",), False),
    "block-any": (PATTERN, "Block", ("open", "/x", "/etc/y"), True),
    "block-unreadable": (PATTERN, "Block", ("open", None), True),
    "flag-any": (PATTERN, "Flag", ("open", "/x", "/etc/y"), True),
    "flag-unreadable": (PATTERN, "Flag", ("open", "/x", None), True),
    "allow-every": (PATTERN, "Allow", ("open", "/etc/x", "/etc/y"), True),
    "allow-not-every": (PATTERN, "Allow", ("open", "/etc/x", "/y"), False),
    "allow-empty-path": (PATTERN, "Allow", ("open", "/etc/x", ""), False),
    "allow-unreadable": (PATTERN, "Allow", ("open", "/etc/x", None), False),
    "allow-without-paths": (PATTERN, "Allow", ("open",), False),
    "allow-by-name": (NAMED, "Allow", ("open", None), True),
    "undecodable": (PATTERN, "Block", ("open", "/etc/\udcff"), True),
}


@pytest.mark.parametrize(("policy", "action", "call", "yes"), CASES.values(), ids=CASES)
def test_system_calls_match_by_name_and_path(
    tmp_path: Path,
    policy: dict[str, Any],
    action: str,
    call: tuple[str, ...],
    yes: bool,  # noqa: FBT001  # a column
) -> None:
    compiled = rules(tmp_path, {**policy, "action": action})

    found = matched(compiled, Action(action), CallContent(*call))

    assert found == (["p"] if yes else [])


class Unsure:
    """A third party's match type, which fails for one path and answers for others."""

    name = "Unsure"
    fields: frozenset[str] = frozenset()
    ignores_action = False

    def __init__(
        self,
        reader: Reader = Reader.PATTERN,
        contexts: frozenset[Context] = frozenset(Context),
    ) -> None:
        self.reader = reader
        self.contexts = contexts
        self.compiled = 0

    def problems(self, policy: Policy) -> Iterable[Problem]:  # noqa: ARG002
        return ()

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        self.compiled += 1
        return UnsureMatcher([each.order for each in policies])


class UnsureMatcher:
    def __init__(self, orders: list[int]) -> None:
        self.orders = orders

    def answers(
        self, content: Content, views: tuple[bytes, ...], before: int
    ) -> Iterable[Answer]:
        assert content.system_call
        for order in self.orders:
            if order < before:
                failed = any(b"fail" in view for view in views)
                yield Answer(order, Outcome.FAILED if failed else Outcome.YES)


def unsure(action: Action, *syscalls: str) -> Policy:
    return Policy("u", "Unsure", action, Context.SYSCALL, 3, syscalls=syscalls)


@pytest.mark.parametrize("action", [Action.ALLOW, Action.BLOCK])
def test_a_failure_for_one_path_is_not_outvoted(action: Action) -> None:
    matcher = SyscallMatcher(Unsure(), [unsure(action, "open")])

    answers = list(matcher.answers(CallContent("open", "/fail", "/fine"), (), 10))

    assert Answer(3, Outcome.FAILED) in answers


@pytest.mark.parametrize("action", [Action.ALLOW, Action.BLOCK])
def test_a_checker_allows_no_call_with_an_unreadable_path(action: Action) -> None:
    matcher = SyscallMatcher(Unsure(Reader.CHECKER), [unsure(action, "open")])

    answers = list(matcher.answers(CallContent("open", "/x", None), (), 10))

    assert answers == ([] if action is Action.ALLOW else [Answer(3, Outcome.YES)])


def test_calls_with_the_same_policies_share_a_matcher() -> None:
    match_type = Unsure()

    SyscallMatcher(match_type, [unsure(Action.BLOCK, "open", "openat", "creat")])

    assert match_type.compiled == 1


def test_a_role_that_names_a_missing_policy_raises() -> None:
    ruleset = RuleSet([], [Role("r", ("nowhere",))], PLUGINS.match_types, "")

    with pytest.raises(KeyError):
        ruleset.rules("r")
