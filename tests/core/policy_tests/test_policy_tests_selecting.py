"""Which tests start nothing, and which say nothing of roles."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, mcp_tool, regex, simple

from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.policy_tests.cases import Case
from redlane.policy_tests.selecting import own_cases, quick_cases

REGEX = {"type": "Regex", "pattern": "a", "replacement": "b"}
PROGRAM = {"type": "Executable", "command": "/bin/cat"}
CHECKER = {**simple("p", "/bin/true"), "type": "Executable"}
MODEL = {"id": "p", "type": "MlClassifier", "action": "Block", "model": "m"}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def of(policy: str, *, matches: bool = True) -> Case:
    return Case(policy, "p.json", Context.SHELL, b"x", matches)


def of_role(role: str, policy: str = "p") -> Case:
    block = Decision.BLOCK
    return Case(policy, "p.json", Context.SHELL, b"x", None, role, block)


def is_quick(home: PolicyHome, case: Case) -> bool:
    return quick_cases([case], home.load().ruleset) == [case]


OF_POLICIES: dict[str, tuple[dict[str, Any], bool]] = {
    "Simple": (simple("p"), True),
    "Regex": (regex("p"), True),
    "McpTool": (mcp_tool("p", tool="t"), True),
    "Executable": (CHECKER, False),
    "Allow of a program": ({**CHECKER, "action": "Allow"}, False),
    "MlClassifier": ({**MODEL, "block_threshold": 0.5}, False),
    "Regex transform": (simple("p", action="Modify", transform=REGEX), True),
    "program transforms": (simple("p", action="Modify", transform=PROGRAM), True),
    "program finds, Regex transforms": (
        {**CHECKER, "action": "Modify", "transform": REGEX},
        False,
    ),
}


@pytest.mark.parametrize("matches", [True, False], ids=["match", "not_match"])
@pytest.mark.parametrize(
    ("policy", "quick"), OF_POLICIES.values(), ids=OF_POLICIES.keys()
)
def test_a_policys_own_tests_are_quick_unless_its_type_checks(
    home: PolicyHome, policy: dict[str, Any], *, quick: bool, matches: bool
) -> None:
    home.policies(policy)
    assert is_quick(home, of("p", matches=matches)) is quick


OF_ROLES: dict[str, tuple[tuple[dict[str, Any], ...], bool]] = {
    "of nothing": ((), True),
    "of patterns": ((simple("a"), regex("b"), mcp_tool("c", tool="t")), True),
    "one program": ((simple("a"), CHECKER), False),
    "one model": ((simple("a"), {**MODEL, "block_threshold": 0.5}), False),
    "one transform": ((simple("a", action="Modify", transform=PROGRAM),), False),
}


@pytest.mark.parametrize(("policies", "quick"), OF_ROLES.values(), ids=OF_ROLES)
def test_a_verdict_is_quick_where_all_of_its_role_is(
    home: PolicyHome, policies: tuple[dict[str, Any], ...], *, quick: bool
) -> None:
    home.policies(*policies)
    home.role("dev", *(each["id"] for each in policies))
    assert is_quick(home, of_role("dev")) is quick


def test_a_program_elsewhere_makes_no_verdict_slow(home: PolicyHome) -> None:
    home.policies(simple("a"), CHECKER)
    home.role("dev", "a")
    home.role("other", "p")
    assert is_quick(home, of_role("dev", "p"))


@pytest.mark.parametrize("case", [of("gone"), of_role("gone")], ids=["policy", "role"])
def test_what_is_not_there_starts_nothing(home: PolicyHome, case: Case) -> None:
    home.policies(CHECKER)
    assert is_quick(home, case)


def test_quick_ones_stay_in_order(home: PolicyHome) -> None:
    home.policies(simple("a"), CHECKER, simple("b"))
    cases = [of("b"), of("p"), of("a")]
    assert quick_cases(cases, home.load().ruleset) == [cases[0], cases[2]]


def test_own_are_those_of_some_policies_without_verdicts() -> None:
    cases = [of("a"), of("b"), of("a", matches=False), of_role("dev", "a")]
    assert own_cases(cases, iter(["a", "c"])) == [cases[0], cases[2]]


def test_own_of_no_policies_are_none() -> None:
    assert own_cases([of("a"), of_role("dev", "a")], []) == []
