"""Rules made looser: which there are, and which a test notices."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, mcp_tool, regex, simple

from redlane.policies.sources import read_sources
from redlane.policy_tests.cases import cases_of
from redlane.policy_tests.mutants import Mutant, mutants_of, survivors

NEVER = "a pattern that matches nothing"
FLAG = "Flag in place of Block"
ALLOW = "Allow in place of Flag"
EVERYTHING = "a pattern that matches everything"
TRANSFORM = {"type": "Regex", "pattern": "a", "replacement": "b"}
MODIFY: dict[str, Any] = {"action": "Modify", "transform": TRANSFORM}
CALLS: dict[str, Any] = {"context": "Syscall", "syscall": ["open", "openat", "openat2"]}
WITHOUT = [
    "without the call open",
    "without the call openat",
    "without the call openat2",
]


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def mutants(home: PolicyHome, *policies: Any) -> list[Mutant]:
    home.policies(*policies)
    loaded = home.load()
    assert loaded.errors == ()
    return list(mutants_of(loaded.ruleset))


def unnoticed(home: PolicyHome, *policies: Any) -> list[str]:
    """What survives the tests that these policies carry."""
    made = mutants(home, *policies)
    cases, wrong = cases_of(read_sources(home.paths).policies)
    assert wrong == []
    found = list(survivors(home.load().ruleset, cases, made))
    assert [mutant for mutant, _ in found] == made
    return [mutant.what for mutant, survived in found if survived]


def program(**fields: Any) -> dict[str, Any]:
    return {**simple("p", "/bin/grep -q rm"), "type": "Executable", **fields}


MODEL = {"id": "p", "type": "MlClassifier", "model": "m", "block_threshold": 0.5}
MADE: dict[str, tuple[dict[str, Any], list[str]]] = {
    "Block Simple": (simple("p"), [FLAG, NEVER]),
    "Flag Simple": (simple("p", action="Flag"), [ALLOW, NEVER]),
    "Modify Simple": (simple("p", **MODIFY), [NEVER]),
    "Allow Simple": (
        simple("p", action="Allow"),
        ["a pattern that is in everything"],
    ),
    "Block Regex": (
        regex("p", "^a|b$"),
        [FLAG, NEVER, "without the alternative '^a'", "without the alternative 'b$'"],
    ),
    "Flag Regex": (regex("p", "a", action="Flag"), [ALLOW, NEVER]),
    "Modify Regex": (regex("p", "a", **MODIFY), [NEVER]),
    "Allow Regex": (regex("p", "a|b", action="Allow"), [EVERYTHING]),
    "Allow with anchors": (
        regex("p", "^a|b$", action="Allow"),
        [EVERYTHING, "without ^", "without $"],
    ),
    "Allow of a dollar": (regex("p", r"a\$", action="Allow"), [EVERYTHING]),
    "Allow of a backslash": (
        regex("p", r"a\\$", action="Allow"),
        [EVERYTHING, "without $"],
    ),
    "McpTool": (mcp_tool("p", tool="t"), [FLAG]),
    "Flag McpTool": (mcp_tool("p", tool="t", action="Flag"), [ALLOW]),
    "Allow McpTool": (mcp_tool("p", tool="t", action="Allow"), []),
    "Executable": (program(), [FLAG]),
    "Allow Executable": (program(action="Allow"), []),
    "call by its pattern": (simple("p", "unlink", context="Syscall"), [FLAG, NEVER]),
    "one call": (regex("p", "a", context="Syscall", syscall="open"), [FLAG, NEVER]),
    "calls by path": (regex("p", "a", **CALLS), [FLAG, *WITHOUT, NEVER]),
    "calls alone": (
        {"id": "p", "type": "Simple", "action": "Block", **CALLS},
        [FLAG, *WITHOUT],
    ),
    "Allow of calls": (regex("p", "a", action="Allow", **CALLS), [EVERYTHING]),
    "Allow of one call": (
        simple("p", "unlink", action="Allow", context="Syscall"),
        ["a pattern that is in everything"],  # which no call is, so it is left out
    ),
}


@pytest.mark.parametrize(("policy", "whats"), MADE.values(), ids=MADE)
def test_each_policy_is_made_looser_in_each_way(
    home: PolicyHome, policy: dict[str, Any], whats: list[str]
) -> None:
    made = mutants(home, policy)
    assert [each.what for each in made] == whats
    assert {(each.policy, each.role) for each in made} <= {("p", None)}


@pytest.mark.parametrize("action", ["Block", "Flag"])
def test_the_action_of_a_classifier_is_not_changed(
    home: PolicyHome, action: str
) -> None:
    assert mutants(home, {**MODEL, "action": action}) == []


def test_what_is_changed_is_one_thing(home: PolicyHome) -> None:
    home.policies(regex("p", "a|b", reason="r"))
    (policy,) = home.load().ruleset.policies.values()
    flagged, never, without_a, without_b = mutants_of(home.load().ruleset)
    assert flagged.changed.action == "Flag"
    assert flagged.changed.pattern == "a|b"
    patterns = [each.changed.pattern for each in (without_a, without_b)]
    assert patterns == ["b", "a"]
    for each in (never, without_a, without_b):
        assert (each.changed.action, each.changed.reason) == ("Block", "r")
        assert each.changed.order == policy.order


ROLES: dict[str, tuple[dict[str, Any], bool]] = {
    "Block": (simple("p"), True),
    "Flag": (simple("p", action="Flag"), True),
    "Modify": (simple("p", **MODIFY), True),
    "Allow": (simple("p", action="Allow"), False),
}


@pytest.mark.parametrize(("policy", "is_made"), ROLES.values(), ids=ROLES)
def test_what_forbids_is_taken_out_of_each_role(
    home: PolicyHome, policy: dict[str, Any], *, is_made: bool
) -> None:
    home.role("one", "p", "other")
    home.role("two", "p")
    home.role("three", "other")
    made = mutants(home, policy, simple("other", action="Allow"))
    of_roles = [(each.policy, each.what, each.role) for each in made if each.role]
    wanted = [("p", f"without it in the role {each}", each) for each in ("one", "two")]
    assert of_roles == (wanted if is_made else [])


def verdict(content: str, decision: str, role: str = "dev") -> dict[str, Any]:
    return {"role": role, "content": content, "verdict": decision}


def test_without_tests_nothing_is_noticed(home: PolicyHome) -> None:
    home.role("dev", "p")
    policy = simple("p", "rm")
    assert unnoticed(home, policy) == [FLAG, NEVER, "without it in the role dev"]


NOTICED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "match": (
        {"match": ["rm", "mv"]},
        [FLAG, "without it in the role dev"],
    ),
    "match of one": (
        {"match": ["rm"]},
        [FLAG, "without the alternative 'mv'", "without it in the role dev"],
    ),
    "not_match": (
        {"not_match": ["ls"]},
        [
            FLAG,
            NEVER,
            "without the alternative 'rm'",
            "without the alternative 'mv'",
            "without it in the role dev",
        ],
    ),
    "verdict": (
        {"verdicts": [verdict("rm", "BLOCK")]},
        ["without the alternative 'mv'"],
    ),
    "verdict that fails already": (
        {"verdicts": [verdict("rm", "ALLOW")], "match": ["rm", "mv"]},
        [FLAG, "without it in the role dev"],
    ),
    "match that fails already": (
        {"match": ["ls"], "verdicts": [verdict("rm", "BLOCK"), verdict("mv", "BLOCK")]},
        [],
    ),
    "verdict of another role": (
        {"verdicts": [verdict("rm", "ALLOW", "none")], "match": ["rm", "mv"]},
        [FLAG, "without it in the role dev"],
    ),
    "all": (
        {"verdicts": [verdict("rm", "BLOCK")], "match": ["mv"]},
        [],
    ),
}


@pytest.mark.parametrize(("tests", "whats"), NOTICED.values(), ids=NOTICED)
def test_what_no_test_that_passes_is_about_survives(
    home: PolicyHome, tests: dict[str, Any], whats: list[str]
) -> None:
    home.role("dev", "p")
    home.role("none")
    assert unnoticed(home, regex("p", "rm|mv", tests=tests)) == whats


def test_the_tests_of_another_policy_notice_by_the_role_alone(home: PolicyHome) -> None:
    home.role("dev", "p", "q")
    tests = {"match": ["rm q"], "verdicts": [verdict("rm", "BLOCK")]}
    other = simple("q", "q", tests=tests)
    assert unnoticed(home, simple("p", "rm"), other) == [
        FLAG,
        "without it in the role dev",
    ]


def test_a_block_behind_another_is_not_missed(home: PolicyHome) -> None:
    home.role("dev", "p", "q")
    tests = {"match": ["rm"], "verdicts": [verdict("rm", "BLOCK")]}
    first = simple("p", "rm", tests=tests)
    left = unnoticed(home, first, simple("q", "rm", action="Flag"))
    assert "Flag in place of Block" not in left
    left = unnoticed(home, first, simple("q", "rm"))
    assert left == [
        FLAG,
        "without it in the role dev",
        FLAG,
        NEVER,
        "without it in the role dev",
    ]


def test_each_role_notices_for_itself(home: PolicyHome) -> None:
    home.role("dev", "p")
    home.role("other", "p")
    tests = {"match": ["rm"], "verdicts": [verdict("rm", "BLOCK")]}
    left = unnoticed(home, simple("p", "rm", tests=tests))
    assert left == ["without it in the role other"]


OPEN = {"context": "Syscall", "content": {"syscall": "open", "paths": ["/etc/x"]}}


def test_a_call_that_no_test_makes_survives(home: PolicyHome) -> None:
    policy = regex("p", "^/etc/", **CALLS, tests={"match": [OPEN]})
    assert unnoticed(home, policy) == [FLAG, *WITHOUT[1:]]


WIDER: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "Regex, nothing": (
        regex("p", "^ls$", action="Allow"),
        {"match": ["ls"]},
        [EVERYTHING, "without ^", "without $"],
    ),
    "Regex, before": (
        regex("p", "^ls$", action="Allow"),
        {"not_match": ["als"]},
        ["without $"],
    ),
    "Regex, behind": (
        regex("p", "^ls$", action="Allow"),
        {"not_match": ["ls x"]},
        ["without ^"],
    ),
    "Regex, both": (
        regex("p", "^ls$", action="Allow"),
        {"not_match": ["ls x", "als"]},
        [],
    ),
    "Simple, nothing": (
        simple("p", "ls", action="Allow"),
        {"match": ["ls"]},
        ["a pattern that is in everything"],
    ),
    "Simple": (simple("p", "ls", action="Allow"), {"not_match": ["rm"]}, []),
}


@pytest.mark.parametrize(("policy", "tests", "whats"), WIDER.values(), ids=WIDER)
def test_an_allow_is_made_wider_and_what_it_must_not_match_notices(
    home: PolicyHome, policy: dict[str, Any], tests: dict[str, Any], whats: list[str]
) -> None:
    assert unnoticed(home, {**policy, "tests": tests}) == whats


def test_a_wider_allow_is_noticed_by_a_verdict(home: PolicyHome) -> None:
    home.role("dev", "p", "no-rm")
    tests = {"verdicts": [verdict("rm", "BLOCK")]}
    allow = simple("p", "ls", action="Allow", tests=tests)
    left = unnoticed(home, allow, simple("no-rm", "rm"))
    assert left == []


def test_flags_hold_for_what_is_left(home: PolicyHome) -> None:
    """A test of one alternative is none of the other one, whatever its case."""
    policy = regex("p", "(?i)drop|delete", tests={"match": ["DELETE"]})
    action, alternative = unnoticed(home, policy)
    assert action == FLAG
    assert alternative.startswith("without the alternative ")
    assert "drop" in alternative
