"""Loading policies: every problem is told with its file and id, none opens a door."""

from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PLUGINS, PolicyHome, mcp_tool, regex, simple, told

from redlane.model.policy import Action, Context, TransformType
from redlane.plugins import PluginReport, Plugins
from redlane.policies.loading import MOST_ERRORS


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


TRANSFORM = {"type": "Regex", "pattern": "a", "replacement": "b"}
MODIFY = simple("p", action="Modify", transform=TRANSFORM)


def ml(**fields: Any) -> dict[str, Any]:
    return {
        "id": "p",
        "type": "MlClassifier",
        "action": "Block",
        "model": "m",
        **fields,
    }


def mcp(**fields: Any) -> dict[str, Any]:
    return mcp_tool("p", **fields)


def transform(**fields: Any) -> dict[str, Any]:
    return {**MODIFY, "transform": {**TRANSFORM, **fields}}


ERRORS = {
    "no-id": (simple("p", id=None), "`id` is missing"),
    "empty-id": (simple(""), "`id` must be a string that is not empty"),
    "id-with-line-break": (simple("a\nb"), "`id` must be"),
    "id-too-long": (simple("p" * 1001), "`id`: longer than 1000 characters"),
    "id-of-number": (simple("p", id=7), "`id` must be"),
    "no-type": (simple("p", type=None), "`type` is missing"),
    "no-action": (simple("p", action=None), "`action` is missing"),
    "action-case": (simple("p", action="block"), "did you mean 'Block'?"),
    "action-unknown": (
        simple("p", action="Deny"),
        "expected one of Block, Flag, Allow",
    ),
    "context-case": (simple("p", context="shell"), "did you mean 'Shell'?"),
    "context-array": (simple("p", context=["Shell"]), "`context` must be a string"),
    "type-unknown": (simple("p", type="Simpel"), "did you mean 'Simple'?"),
    "type-array": (simple("p", type=["Simple"]), "`type` must be"),
    "pattern-missing": (simple("p", None), "Simple policies need `pattern`"),
    "pattern-number": (simple("p", pattern=1), "`pattern` must be a string, not 1"),
    "regex-missing": (regex("p", pattern=None), "Regex policies need `pattern`"),
    "regex-broken": (regex("p", "(("), "does not compile"),
    "regex-look-ahead": (regex("p", "a(?=b)"), "look-ahead"),
    "kill-string": (simple("p", kill="true"), "`kill` must be true or false"),
    "kill-number": (simple("p", kill=1), "`kill` must be true or false"),
    "syscall-number": (
        simple("p", syscall=2),
        "`syscall` must be a string or an array",
    ),
    "syscall-empty": (simple("p", syscall=[]), "the array is empty"),
    "syscall-empty-name": (simple("p", syscall=["open", ""]), "`syscall` must be"),
    "syscall-unknown": (simple("p", syscall="opennat"), "did you mean 'openat'?"),
    "syscall-in-pattern": (
        simple("p", "opennat", context="Syscall"),
        "'opennat' is no system call; did you mean 'openat'?",
    ),
    "syscall-empty-pattern": (simple("p", "", context="Syscall"), "`pattern`"),
    "syscall-simple-neither": (
        simple("p", None, context="Syscall"),
        "need `syscall`, or `pattern`",
    ),
    "syscall-regex-without": (regex("p", context="Syscall"), "need `syscall`"),
    "syscall-executable-without": (
        simple("p", "true", type="Executable", context="Syscall"),
        "Executable policies in context Syscall need `syscall`",
    ),
    "modify-without": (simple("p", action="Modify"), "need `transform`"),
    "modify-null": ({**MODIFY, "transform": None}, "need `transform`"),
    "modify-syscall": ({**MODIFY, "context": "Syscall"}, "cannot be rewritten"),
    "modify-all-with-syscall": ({**MODIFY, "syscall": "open"}, "remove `syscall`"),
    "transform-string": ({**MODIFY, "transform": "x"}, "`transform` must be an object"),
    "transform-type": (transform(type="regex"), "did you mean 'Regex'?"),
    "transform-no-type": (transform(type=None), "transform: `type` is missing"),
    "transform-no-pattern": (transform(pattern=None), "need `pattern`"),
    "transform-pattern": (transform(pattern="[a"), "transform: `pattern`: "),
    "transform-group": (transform(replacement="$3"), "transform: `replacement`: "),
    "transform-near-miss": (transform(replacemnt="x"), "did you mean `replacement`?"),
    "transform-no-command": (transform(type="Executable"), "need `command`"),
    "transform-quote": (
        transform(type="Executable", command="sed 's/a"),
        "transform: ",
    ),
    "mcp-neither": (mcp(), "need `server` or `tool`"),
    "mcp-nulls": (mcp(server=None, tool=None), "need `server` or `tool`"),
    "mcp-empty": (mcp(server=""), "`server` must be"),
    "ml-allow": (ml(action="Allow"), "cannot have action Allow"),
    "ml-syscall": (
        ml(context="Syscall", syscall="open"),
        "use Shell, Network, Inbound",
    ),
    "ml-mcp": (ml(context="Mcp"), "does not support context Mcp"),
    "ml-no-model": (ml(model=None), "need `model`"),
    "threshold-bool": (ml(block_threshold=True), "`block_threshold` must be a number"),
    "threshold-string": (ml(flag_threshold="0.5"), "`flag_threshold` must be a number"),
    "tags-string": (simple("p", tags="a"), "`tags` must be an array of strings"),
    "near-miss": (simple("p", patern="x"), "unknown field 'patern': did you mean"),
    "near-miss-case": (simple("p", Pattern="x"), "did you mean `pattern`?"),
    "near-miss-hyphen": (
        ml(**{"block-threshold": 1}),
        "did you mean `block_threshold`?",
    ),
    "near-miss-swap": (simple("p", aciton="x"), "did you mean `action`?"),
    "number": (17, "a policy must be an object, not 17"),
    "array-in-array": ([simple("p")], "a policy must be an object"),
    "null": (None, "a policy must be an object, not None"),
}


@pytest.mark.parametrize(("policy", "says"), ERRORS.values(), ids=ERRORS)
def test_a_policy_that_cannot_be_enforced_is_an_error(
    home: PolicyHome, policy: Any, says: str
) -> None:
    path = home.policies(policy)
    subject = policy.get("id") if isinstance(policy, dict) else None

    loaded = home.load()

    told_of = [error.message for error in loaded.errors if error.file == str(path)]
    assert [message for message in told_of if says in message]
    assert {error.subject for error in loaded.errors} == {
        subject if isinstance(subject, str) else ""
    }
    assert not loaded.ruleset.policies


FINE = {
    "nulls-are-absent": simple("p", context=None, kill=None, syscall=None, tags=None),
    "empty-tags": simple("p", tags=[]),
    "known-everywhere": simple(
        "p",
        description="d",
        reason="r",
        suggestion="s",
        tests=[{"content": "x"}],
        tags=["a"],
        **{"$schema": "x"},
    ),
    "syscall-simple": simple("p", "openat", context="Syscall", kill=True),
    "syscall-filter": simple(
        "p", "/etc", context="Syscall", syscall=["open", "openat2"]
    ),
    "syscall-no-filter": simple("p", None, context="Syscall", syscall="unlink"),
    "syscall-all": regex("p", "^/etc", syscall="open", kill=True),
    "modify": MODIFY,
    "modify-strips": {**MODIFY, "transform": {"type": "Regex", "pattern": "a"}},
    "modify-group": transform(pattern="(?P<x>a)", replacement="${x}$1$$"),
    "mcp-tool": mcp(tool="t", context="Mcp"),
}


@pytest.mark.parametrize("policy", FINE.values(), ids=FINE)
def test_a_right_policy_loads_without_a_word(
    home: PolicyHome, policy: dict[str, Any]
) -> None:
    home.write("policies/p.json", policy)

    loaded = home.load()

    assert loaded.findings == ()
    assert set(loaded.ruleset.policies) == {"p"}


WARNINGS = {
    "mcp-context": (mcp(server="s", context="Shell"), "never matches in context Shell"),
    "unknown-field": (simple("p", severity="high"), "unknown field 'severity'"),
    "empty-pattern": (simple("p", ""), "matches everything"),
    "empty-regex": (regex("p", ""), "matches everything"),
    "pattern-on-mcp": (
        mcp(tool="t", pattern="x"),
        "`pattern` has no effect on McpTool",
    ),
    "server-on-simple": (simple("p", server="s"), "`server` has no effect on Simple"),
    "transform-on-block": (
        simple("p", transform=TRANSFORM),
        "`transform` has no effect",
    ),
    "command-on-regex": (
        transform(command="sed"),
        "transform: `command` has no effect",
    ),
    "syscall-in-shell": (
        simple("p", context="Shell", syscall="open"),
        "`syscall` has no effect",
    ),
    "kill-in-shell": (simple("p", context="Shell", kill=True), "`kill` has no effect"),
    "kill-in-all": (simple("p", kill=True), "`kill` has no effect"),
    "kill-on-flag": (
        simple("p", "open", context="Syscall", action="Flag", kill=True),
        "`kill` has no effect unless",
    ),
}


@pytest.mark.parametrize(("policy", "says"), WARNINGS.values(), ids=WARNINGS)
def test_what_does_nothing_is_a_warning(
    home: PolicyHome, policy: dict[str, Any], says: str
) -> None:
    home.policies(policy)

    loaded = home.load()

    assert not loaded.errors
    (warning,) = told(loaded.warnings)
    assert warning[:2] == ("p.json", "p")
    assert says in warning[2]
    assert set(loaded.ruleset.policies) == {"p"}


def test_every_problem_of_a_policy_is_told(home: PolicyHome) -> None:
    home.policies(
        {**regex("p", "(("), "action": "Modify", "kill": 1, "transform": {"type": "x"}}
    )

    messages = " ".join(error.message for error in home.load().errors)

    for field in ("`kill`", "`pattern`", "transform: `type`"):
        assert field in messages


def test_every_problem_of_every_file_is_told(home: PolicyHome) -> None:
    home.policies(simple("a", None), 5, simple("b", None), file="1.json")
    home.write("policies/2.json", b"{")
    home.policies(simple("c", None), file="3.json")

    assert [(file, subject) for file, subject, _ in told(home.load().errors)] == [
        ("2.json", ""),
        ("1.json", "a"),
        ("1.json", ""),
        ("1.json", "b"),
        ("3.json", "c"),
    ]


def test_a_nameless_policy_is_told_by_its_place(home: PolicyHome) -> None:
    home.policies(simple("a"), simple("b", id=None))

    assert told(home.load().errors) == [("p.json", "", "entry 2: `id` is missing")]


def test_an_id_used_twice_is_an_error_that_names_both_files(home: PolicyHome) -> None:
    first = home.policies(simple("p"), file="1.json")
    home.policies(simple("p"), file="2.json")
    home.role("r", "p")

    loaded = home.load()

    ((file, subject, message),) = told(loaded.errors)
    assert (file, subject) == ("2.json", "p")
    assert str(first) in message
    assert not loaded.ruleset.policies
    assert loaded.problems_of_role("r") == loaded.errors


def test_a_policy_is_loaded_with_all_its_fields(home: PolicyHome) -> None:
    path = home.policies(
        simple("first"),
        {
            **regex("p", "^/etc", action="Modify", context="Shell", tags=["a", "b"]),
            "transform": {"type": "Regex", "pattern": "x", "replacement": ""},
            "reason": "why",
            "suggestion": "instead",
        },
    )

    policy = home.load().ruleset.policies["p"]

    assert (policy.type, policy.action) == ("Regex", Action.MODIFY)
    assert (policy.context, policy.order) == (Context.SHELL, 1)
    assert (policy.source, policy.pattern) == (str(path), "^/etc")
    assert policy.transform is not None
    assert policy.transform.type is TransformType.REGEX
    assert (policy.reason, policy.suggestion) == ("why", "instead")
    assert policy.tags == ("a", "b")


def test_load_order_is_file_name_bytewise_then_position(home: PolicyHome) -> None:
    home.policies(simple("c"), simple("b"), file="b.json")
    home.policies(simple("d"), file="B.json")
    home.policies(simple("a"), file="é.json")

    policies = home.load().ruleset.policies.values()

    assert [p.id for p in sorted(policies, key=lambda p: p.order)] == list("dcba")


def test_the_digest_depends_on_content_not_on_files(tmp_path: Path) -> None:
    one, two, other = (PolicyHome(tmp_path / name) for name in "123")
    one.policies(simple("a"), simple("b"))
    two.policies(simple("b"), file="1.json")
    two.policies(simple("a"), file="2.json")
    other.policies(simple("a"), simple("b", "rm -r"))

    digests = [each.load().ruleset.digest for each in (one, two, other)]

    assert digests[0] == digests[1] != digests[2]


def test_a_file_full_of_errors_is_cut_short(home: PolicyHome) -> None:
    home.policies(*range(MOST_ERRORS + 500))

    errors = home.load().errors

    assert len(errors) == MOST_ERRORS + 1
    assert "the rest was not looked at" in errors[-1].message


@pytest.mark.parametrize("type_name", ["MlClassifier", "Regex"])
def test_a_known_type_without_its_plugin_names_the_package(
    home: PolicyHome, type_name: str
) -> None:
    home.policies({**ml(), **regex("p"), "type": type_name})

    (error,) = home.load(Plugins({}, ())).errors

    assert "install the package redlane-match-" in error.message


def test_a_type_whose_plugin_failed_names_the_failure(home: PolicyHome) -> None:
    home.policies(regex("p"))
    report = PluginReport(
        "regex", "redlane-match-regex", "9", "/x", error="ImportError: no re2"
    )

    loaded = home.load(Plugins({}, (report,)))

    assert "ImportError: no re2" in loaded.errors[0].message
    assert "ImportError: no re2" in loaded.warnings[0].message


def test_two_plugins_for_one_type_make_every_role_unusable(home: PolicyHome) -> None:
    home.policies(simple("p"))
    home.role("r", "p")
    plugins = Plugins(PLUGINS.match_types, (), ("'Simple' comes from two plugins",))

    loaded = home.load(plugins)

    assert [error.message for error in loaded.errors] == list(plugins.conflicts)
    assert loaded.ruleset.rules("r") is None
    assert loaded.problems_of_role("r") == loaded.errors
