"""What becomes of a test: of a policy alone, and of a role with all that it has."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, mcp_tool, regex, simple

from redlane.policies.sources import read_sources
from redlane.policy_tests.cases import cases_of
from redlane.policy_tests.running import Result, covered, run_cases

TRANSFORM = {"type": "Regex", "pattern": "rm", "replacement": "ls"}


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def results(home: PolicyHome, *policies: Any) -> list[Result]:
    """What becomes of the tests of these policies, in this home."""
    home.policies(*policies)
    cases, wrong = cases_of(read_sources(home.paths).policies)
    assert wrong == []
    return run_cases(home.load().ruleset, cases)


def result(home: PolicyHome, policy: Any) -> Result:
    (found,) = results(home, policy)
    return found


def first_passes(home: PolicyHome, *policies: Any) -> bool:
    return results(home, *policies)[0].passed


def of_match(home: PolicyHome, policy: Any, content: Any, **context: str) -> bool:
    """Whether the policy matches: its `match` passes, and its `not_match` fails."""
    each = {"content": content, **context}
    tests = {"match": [each], "not_match": [each]}
    match, not_match = results(home, {**policy, "tests": tests})
    assert match.passed is not not_match.passed
    assert match.reason == ("" if match.passed else "it does not match")
    assert not_match.reason == ("" if not_match.passed else "it matches")
    return match.passed


def program(command: str, **fields: Any) -> dict[str, Any]:
    return {**simple("p", command), "type": "Executable", **fields}


def call(tool: str, server: str = "files") -> dict[str, Any]:
    return {"server": server, "tool": tool, "arguments": {"path": "/etc/passwd"}}


READ = mcp_tool("p", tool="read", context="Mcp")
TYPES: dict[str, tuple[dict[str, Any], Any, bool]] = {
    "Simple": (simple("p", "rm -rf"), "sudo rm -rf /", True),
    "Simple, not": (simple("p", "rm -rf"), "rm -r -f /", False),
    "Simple is exact": (simple("p", "RM"), "rm", False),
    "Regex": (regex("p", "^rm .*-rf"), "rm x -rf", True),
    "Regex, not": (regex("p", "^rm$"), "rm x", False),
    "Regex inside a command": (regex("p", "^rm "), "sh -c 'rm x'", True),
    "McpTool": (READ, call("read"), True),
    "McpTool, not": (READ, call("write"), False),
    "McpTool by server": (mcp_tool("p", server="s", context="Mcp"), call("x"), False),
    "text of a call": (simple("p", "passwd", context="Mcp"), call("read"), True),
    "Executable": (program("/bin/grep -q rm"), "rm x", True),
    "Executable, not": (program("/bin/grep -q rm"), "ls", False),
    "nothing at all": (simple("p", "x"), "", False),
}


@pytest.mark.parametrize(("policy", "content", "matches"), TYPES.values(), ids=TYPES)
def test_each_match_type_is_asked(
    home: PolicyHome, policy: dict[str, Any], content: Any, *, matches: bool
) -> None:
    assert of_match(home, policy, content) is matches


ACTIONS: dict[str, dict[str, Any]] = {
    "Block": {"action": "Block"},
    "Flag": {"action": "Flag"},
    "Allow": {"action": "Allow"},
    "Modify": {"action": "Modify", "transform": TRANSFORM},
}


@pytest.mark.parametrize("fields", ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize(("content", "matches"), [("rm x", True), ("ls", False)])
def test_each_action_is_asked_alone(
    home: PolicyHome, fields: dict[str, Any], content: str, *, matches: bool
) -> None:
    assert of_match(home, simple("p", "rm", **fields), content) is matches


def test_a_transform_is_not_run_for_a_match(home: PolicyHome, tmp_path: Path) -> None:
    made = tmp_path / "made"
    transform = {"type": "Executable", "command": f"/usr/bin/touch {made}"}
    policy = simple("p", "rm", action="Modify", transform=transform)
    assert of_match(home, policy, "rm x")
    assert not made.exists()


OTHERS: dict[str, dict[str, Any]] = {
    "Allow": simple("other", "", action="Allow"),
    "Block": simple("other", ""),
    "Flag": simple("other", "", action="Flag"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("key", ["match", "not_match"])
def test_other_policies_have_no_say(
    home: PolicyHome, other: dict[str, Any], key: str
) -> None:
    content = "rm x" if key == "match" else "ls"
    assert first_passes(home, simple("p", "rm", tests={key: [content]}), other)


def test_builtins_have_no_say(home: PolicyHome) -> None:
    blocked = "export REDLANE_SESSION=x"
    assert not of_match(home, simple("p", "rm"), blocked)


CONTEXTS: dict[str, tuple[str | None, str, bool]] = {
    "its own": ("Network", "Network", True),
    "another": ("Network", "Shell", False),
    "one of all": (None, "Inbound", True),
    "all": (None, "All", True),
    "one is in all": ("Network", "All", True),
    "all without calls": ("Mcp", "All", False),
}


@pytest.mark.parametrize(("own", "context", "matches"), CONTEXTS.values(), ids=CONTEXTS)
def test_a_policy_matches_in_its_context(
    home: PolicyHome, own: str | None, context: str, *, matches: bool
) -> None:
    policy = simple("p", "rm", context=own)
    assert of_match(home, policy, "rm x", context=context) is matches


def opened(*paths: str | None, name: str = "openat") -> dict[str, Any]:
    return {"syscall": name, "paths": list(paths)}


ETC = {"context": "Syscall", "syscall": ["openat", "open"]}
CALLS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "by name": (simple("p", "unlink", context="Syscall"), opened(name="unlink"), True),
    "another name": (
        simple("p", "unlink", context="Syscall"),
        opened(name="unlinkat"),
        False,
    ),
    "by path": (regex("p", "^/etc/", **ETC), opened("/etc/passwd"), True),
    "another path": (regex("p", "^/etc/", **ETC), opened("/usr/etc/x"), False),
    "path of another call": (
        regex("p", "^/etc/", **ETC),
        opened("/etc/passwd", name="stat"),
        False,
    ),
    "substring of a path": (simple("p", "tc/pa", **ETC), opened("/etc/passwd"), True),
    "one of two paths": (regex("p", "^/etc/", **ETC), opened("/a", "/etc/b"), True),
    "no path": (regex("p", "^/etc/", **ETC), opened(), False),
    "unknown path": (regex("p", "^/etc/", **ETC), opened(None), True),
    "Allow, one of two paths": (
        regex("p", "^/etc/", action="Allow", **ETC),
        opened("/a", "/etc/b"),
        False,
    ),
    "Allow, all paths": (
        regex("p", "^/etc/", action="Allow", **ETC),
        opened("/etc/a", "/etc/b"),
        True,
    ),
    "context All with syscall": (
        regex("p", "^/etc/", syscall="openat"),
        opened("/etc/a"),
        True,
    ),
    "context All without": (regex("p", "^/etc/"), opened("/etc/a"), False),
}


@pytest.mark.parametrize(("policy", "content", "matches"), CALLS.values(), ids=CALLS)
def test_system_calls_match_by_name_and_path(
    home: PolicyHome, policy: dict[str, Any], content: dict[str, Any], *, matches: bool
) -> None:
    assert of_match(home, policy, content, context="Syscall") is matches


MODEL = {"id": "p", "type": "MlClassifier", "action": "Block", "model": "none"}
UNASKED: dict[str, tuple[dict[str, Any], str]] = {
    "program that is not there": (program("/no/such/program"), "/no/such/program"),
    "program that is killed": (program("/bin/sh -c 'kill -9 $$'"), "/bin/sh"),
    "Allow whose program is not": (program("/no/such", action="Allow"), "/no/such"),
    "Flag whose program is not": (program("/no/such", action="Flag"), "/no/such"),
    "model that is not there": ({**MODEL, "block_threshold": 0.5}, "'none'"),
}


@pytest.mark.parametrize(("policy", "says"), UNASKED.values(), ids=UNASKED)
@pytest.mark.parametrize("key", ["match", "not_match"])
def test_a_policy_that_cannot_be_asked_fails_both(
    home: PolicyHome, policy: dict[str, Any], says: str, key: str
) -> None:
    found = result(home, {**policy, "tests": {key: ["rm"]}})
    assert not found.passed
    assert found.reason.startswith("it cannot be asked: ")
    assert says in found.reason


def test_a_policy_that_does_not_load_fails_its_tests(home: PolicyHome) -> None:
    broken = regex("p", "(", tests={"match": ["("], "not_match": ["x"]})
    for each in results(home, broken):
        assert (each.passed, each.reason) == (False, "the policy does not load")


NO_CONTENT: dict[str, tuple[str, Any]] = {
    "no call of a tool": ("Mcp", "rm -rf"),
    "call without a tool": ("Mcp", {"server": "s"}),
    "no system call": ("Syscall", "[]"),
    "call without a name": ("Syscall", {"paths": []}),
    "paths of numbers": ("Syscall", {"syscall": "open", "paths": [1]}),
}


@pytest.mark.parametrize(("context", "content"), NO_CONTENT.values(), ids=NO_CONTENT)
@pytest.mark.parametrize("key", ["match", "not_match"])
def test_what_is_no_content_of_its_context_fails(
    home: PolicyHome, context: str, content: Any, key: str
) -> None:
    told = {"content": content, "context": context}
    found = result(home, simple("p", "x", tests={key: [told]}))
    assert not found.passed
    assert found.reason


RULES = (
    simple("no-rm", "rm"),
    simple("hold-mv", "mv", action="Flag"),
    simple("rm-is-ls", "rename", action="Modify", transform=TRANSFORM),
    simple("allow-tmp", "/tmp", action="Allow"),
)
VERDICTS: dict[str, tuple[str, str, set[str]]] = {
    "Block": ("rm x", "BLOCK", {"no-rm"}),
    "Flag": ("mv x y", "FLAG", {"hold-mv"}),
    "Modify": ("rename x", "MODIFY", {"rm-is-ls"}),
    "Modify and Flag": ("rename x; mv y z", "FLAG", {"hold-mv", "rm-is-ls"}),
    "Allow before Block": ("rm /tmp/x", "ALLOW", {"allow-tmp"}),
    "nothing matches": ("cat x", "ALLOW", set()),
    "built in": ("unset REDLANE_SESSION", "BLOCK", {"builtin:session-variables"}),
}


def told(
    content: str, verdict: str, role: str = "dev", **fields: str
) -> dict[str, Any]:
    each = {"role": role, "content": content, "verdict": verdict, **fields}
    return simple("p", "never", tests={"verdicts": [each]})


@pytest.mark.parametrize(
    ("content", "verdict", "policies"), VERDICTS.values(), ids=VERDICTS
)
def test_a_verdict_is_that_of_the_role(
    home: PolicyHome, content: str, verdict: str, policies: set[str]
) -> None:
    home.role("dev", *(each["id"] for each in RULES))
    (found,) = results(home, told(content, verdict), *RULES)
    assert (found.passed, found.reason) == (True, "")
    assert found.policies == policies


def test_another_verdict_fails_and_says_which(home: PolicyHome) -> None:
    home.role("dev", "no-rm")
    (found,) = results(home, told("rm x", "ALLOW"), *RULES)
    assert not found.passed
    assert found.reason == "dev says BLOCK: policy 'no-rm' blocks this"


def test_policies_out_of_the_role_have_no_say_in_its_verdict(home: PolicyHome) -> None:
    home.role("dev", "hold-mv")
    assert first_passes(home, told("rm x", "ALLOW"), *RULES)


@pytest.mark.parametrize("verdict", ["ALLOW", "BLOCK"])
def test_an_unknown_role_fails_whatever_is_wanted(
    home: PolicyHome, verdict: str
) -> None:
    found = result(home, told("x", verdict, "gone"))
    assert (found.passed, found.reason) == (False, "no role 'gone' loads")


@pytest.mark.parametrize("verdict", ["ALLOW", "BLOCK"])
def test_a_role_with_errors_fails_whatever_is_wanted(
    home: PolicyHome, verdict: str
) -> None:
    home.role("dev", "nowhere")
    found = result(home, told("x", verdict))
    assert (found.passed, found.reason) == (False, "no role 'dev' loads")


def test_a_verdict_fails_where_there_is_no_content(home: PolicyHome) -> None:
    home.role("dev")
    found = result(home, told("rm", "BLOCK", context="Mcp"))
    assert not found.passed
    assert found.reason


def test_a_policy_without_tests_has_no_results(home: PolicyHome) -> None:
    assert results(home, simple("p")) == []


def test_covered_is_what_matched_in_a_test_that_passed(home: PolicyHome) -> None:
    home.role("dev", "by-role")
    verdict = {"role": "dev", "content": "z", "verdict": "BLOCK"}
    found = results(
        home,
        simple("matched", "x", tests={"match": ["x"]}),
        simple("failed", "x", tests={"match": ["y"]}),
        simple("not-matched", "x", tests={"not_match": ["y"]}),
        simple("by-role", "z"),
        simple("says-so", "q", tests={"verdicts": [verdict]}),
    )
    assert covered(found) == {"matched", "by-role"}
