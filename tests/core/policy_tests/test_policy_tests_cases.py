"""The field `tests` of a policy: what is a case, and what is told of all else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.model.policy import Context
from redlane.model.problem import Finding, Severity
from redlane.model.verdict import Decision
from redlane.policies.sources import Entry
from redlane.policy_tests.cases import Case, cases_of
from redlane.wire.strict_json import parse_json

FILE = "policies/p.json"


def read(tests: Any, **fields: Any) -> tuple[list[Case], list[Finding]]:
    policy = {"id": "p", "tests": tests, **fields}
    return cases_of([Entry(FILE, "entry 1", policy)])


def right(tests: Any, **fields: Any) -> list[Case]:
    cases, findings = read(tests, **fields)
    assert findings == []
    return cases


def only(tests: Any, **fields: Any) -> Case:
    (case,) = right(tests, **fields)
    return case


@pytest.mark.parametrize(("key", "matches"), [("match", True), ("not_match", False)])
def test_a_text_is_a_case_in_the_policys_context(key: str, *, matches: bool) -> None:
    case = only({key: ["rm é"]}, context="Network")
    content = "rm é".encode()
    assert case == Case("p", FILE, Context.NETWORK, content, matches)


@pytest.mark.parametrize(("key", "matches"), [("match", True), ("not_match", False)])
def test_an_object_names_its_context(key: str, *, matches: bool) -> None:
    case = only({key: [{"content": "x", "context": "Inbound"}]}, context="Shell")
    assert case == Case("p", FILE, Context.INBOUND, b"x", matches)


def test_a_verdict_is_a_case_of_a_role() -> None:
    told = {"role": "dev", "content": "x", "verdict": "BLOCK"}
    case = only({"verdicts": [told]})
    assert case == Case("p", FILE, Context.SHELL, b"x", None, "dev", Decision.BLOCK)


@pytest.mark.parametrize("verdict", Decision)
def test_each_verdict_may_be_wanted(verdict: Decision) -> None:
    told = {"role": "dev", "content": "x", "verdict": verdict.value}
    assert only({"verdicts": [told]}).verdict is verdict


def test_cases_come_in_the_order_of_the_documentation() -> None:
    told = {"role": "dev", "content": "d", "verdict": "FLAG"}
    cases = right({"verdicts": [told], "not_match": ["c"], "match": ["a", "b"]})
    assert [each.content for each in cases] == [b"a", b"b", b"c", b"d"]


USUAL: dict[str, tuple[dict[str, Any], Context]] = {
    "none": ({}, Context.SHELL),
    "null": ({"context": None}, Context.SHELL),
    "all": ({"context": "All"}, Context.SHELL),
    "unknown": ({"context": "Nowhere"}, Context.SHELL),
    "no text": ({"context": ["Mcp"]}, Context.SHELL),
    **{
        each.value: ({"context": each.value}, each)
        for each in Context
        if each is not Context.ALL
    },
}


@pytest.mark.parametrize(("fields", "context"), USUAL.values(), ids=USUAL)
def test_the_context_is_the_policys_and_shell_where_it_has_all(
    fields: dict[str, Any], context: Context
) -> None:
    assert only({"match": ["x"]}, **fields).context is context


@pytest.mark.parametrize("context", Context)
def test_each_context_may_be_named(context: Context) -> None:
    given_ = {"content": "x", "context": context.value}
    assert only({"match": [given_]}).context is context


CALLS: dict[str, Any] = {
    "Mcp": {"server": "s", "tool": "é", "arguments": {"a": [1, None]}},
    "Syscall": {"syscall": "openat", "paths": ["/etc", None]},
}


@pytest.mark.parametrize(("context", "call"), CALLS.items(), ids=CALLS)
def test_calls_are_objects_of_json(context: str, call: Any) -> None:
    case = only({"match": [{"content": call}]}, context=context)
    assert parse_json(case.content) == call


@pytest.mark.parametrize(("context", "call"), CALLS.items(), ids=CALLS)
def test_calls_may_be_texts_of_json(context: str, call: Any) -> None:
    text = json.dumps(call)
    case = only({"not_match": [text]}, context=context)
    assert case.content == text.encode()


NOTHING: dict[str, Any] = {
    "null": None,
    "nothing of it": {},
    "null of each": {"match": None, "not_match": None, "verdicts": None},
    "empty lists": {"match": [], "not_match": [], "verdicts": []},
}


@pytest.mark.parametrize("tests", NOTHING.values(), ids=NOTHING)
def test_null_and_nothing_are_no_tests(tests: Any) -> None:
    assert right(tests) == []


def test_a_policy_without_the_field_has_no_tests() -> None:
    assert cases_of([Entry(FILE, "", {"id": "p"})]) == ([], [])


@pytest.mark.parametrize("value", [None, 5, "p", ["p"]])
def test_what_is_no_policy_is_told_elsewhere(value: Any) -> None:
    assert cases_of([Entry(FILE, "", value)]) == ([], [])


VERDICT = {"role": "r", "content": "x", "verdict": "BLOCK"}
CALL = {"server": "s", "tool": "t"}
WRONG: dict[str, tuple[Any, str]] = {
    "a text": ("rm", "must be an object, not 'rm'"),
    "a list": (["rm"], "must be an object"),
    "a number": (0, "must be an object, not 0"),
    "false": (False, "must be an object, not False"),
    "another field": ({"matches": []}, "'matches' is none of match"),
    "match is a text": ({"match": "rm"}, "`match` must be a list, not 'rm'"),
    "not_match is one": ({"not_match": {}}, "`not_match` must be a list"),
    "verdicts is one": ({"verdicts": VERDICT}, "`verdicts` must be a list"),
    "match false": ({"match": False}, "`match` must be a list, not False"),
    "number in match": ({"match": [1]}, "must be an object, not 1"),
    "null in match": ({"match": [None]}, "must be an object, not None"),
    "list in match": ({"match": [["x"]]}, "must be an object"),
    "no content": ({"match": [{}]}, "needs a `content`"),
    "null content": ({"match": [{"content": None}]}, "needs a `content`"),
    "number content": ({"match": [{"content": 1}]}, "needs a `content`"),
    "a call in Shell": ({"match": [{"content": CALL}]}, "needs a `content`"),
    "a call in All": (
        {"match": [{"content": CALL, "context": "All"}]},
        "needs a `content`",
    ),
    "a list in Mcp": (
        {"match": [{"content": [CALL], "context": "Mcp"}]},
        "needs a `content`",
    ),
    "unknown context": (
        {"match": [{"content": "x", "context": "shell"}]},
        "'shell' is no context",
    ),
    "null context": (
        {"match": [{"content": "x", "context": None}]},
        "None is no context",
    ),
    "context no text": (
        {"match": [{"content": "x", "context": {"a": 1}}]},
        "is no context",
    ),
    "field of an entry": (
        {"match": [{"content": "x", "role": "r"}]},
        "'role' is none of content, context",
    ),
    "text in verdicts": ({"verdicts": ["x"]}, "must be an object, not 'x'"),
    "field of a verdict": (
        {"verdicts": [{**VERDICT, "lane": "RED"}]},
        "'lane' is none of content, context, role, verdict",
    ),
    "no role": ({"verdicts": [{**VERDICT, "role": None}]}, "needs a `role`"),
    "role no text": ({"verdicts": [{**VERDICT, "role": 5}]}, "needs a `role`"),
    "no verdict": (
        {"verdicts": [{**VERDICT, "verdict": None}]},
        "`verdict` must be one of ALLOW, BLOCK, FLAG, MODIFY",
    ),
    "unknown verdict": ({"verdicts": [{**VERDICT, "verdict": "RED"}]}, "must be one"),
    "verdict a list": ({"verdicts": [{**VERDICT, "verdict": ["BLOCK"]}]}, "must be"),
    "verdict without content": (
        {"verdicts": [{"role": "r", "verdict": "BLOCK"}]},
        "needs a `content`",
    ),
}


@pytest.mark.parametrize(("tests", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_warning_that_names_the_policy(
    tests: Any, says: str
) -> None:
    _, (finding,) = read(tests)
    assert (finding.severity, finding.file) == (Severity.WARNING, FILE)
    assert finding.subject == "p"
    assert finding.message.startswith("`tests`: ")
    assert says in finding.message


def test_a_policy_without_an_id_is_named_by_its_place() -> None:
    _, (finding,) = read(5, id=None)
    assert finding.subject == "entry 1"


def test_what_is_wrong_with_one_policy_leaves_the_others() -> None:
    entries = [
        Entry(FILE, "entry 1", {"id": "bad", "tests": 5}),
        Entry(FILE, "entry 2", {"id": "good", "tests": {"match": ["x"]}}),
    ]
    cases, findings = cases_of(entries)
    assert [each.policy for each in cases] == ["good"]
    assert [each.subject for each in findings] == ["bad"]


def test_a_long_value_is_told_in_a_few_words() -> None:
    _, (finding,) = read({"match": "x" * 10_000})
    assert len(finding.message) < 200


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "content": st.text(max_size=3) | JSON,
        "context": st.sampled_from([*Context, "shell"]) | JSON,
        "role": st.just("r") | JSON,
        "verdict": st.sampled_from([*Decision, "RED"]) | JSON,
    },
)
FIELD = st.lists(st.text(max_size=3) | NEARLY | JSON, max_size=3) | JSON
TESTS = JSON | st.fixed_dictionaries(
    {}, optional={"match": FIELD, "not_match": FIELD, "verdicts": FIELD}
)


@given(TESTS, JSON, JSON)
def test_any_json_is_cases_or_a_warning(tests: Any, name: Any, context: Any) -> None:
    cases, findings = read(tests, id=name, context=context)
    assert len(findings) <= 1
    for each in findings:
        assert each.severity is Severity.WARNING
        assert each.subject == (name if isinstance(name, str) else "entry 1")
    for case in cases:
        assert isinstance(case.content, bytes)
        assert (case.matches is None) is (case.role is not None)
        assert (case.role is None) is (case.verdict is None)


def test_all_kinds_may_stand_in_one_list() -> None:
    told = [
        {"content": "a", "match": True},
        {"content": "b", "match": False, "context": "Network"},
        {"content": "c", "role": "dev", "verdict": "FLAG"},
    ]
    cases, wrong = cases_of([Entry("p.json", "", {"id": "p", "tests": told})])
    assert wrong == []
    assert [(e.content, e.context, e.matches, e.role) for e in cases] == [
        (b"a", Context.SHELL, True, None),
        (b"b", Context.NETWORK, False, None),
        (b"c", Context.SHELL, None, "dev"),
    ]


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"content": "a"},
        {"content": "a", "match": 1},
        {"content": "a", "match": True, "role": "dev", "verdict": "BLOCK"},
        {"content": "a", "role": "dev"},
        {"content": "a", "verdict": "BLOCK"},
        "a",
    ],
)
def test_entry_of_a_list_that_is_no_test_is_one_warning(told: object) -> None:
    cases, (wrong,) = cases_of([Entry("p.json", "", {"id": "p", "tests": [told]})])
    assert (cases, wrong.subject) == ([], "p")


def test_an_empty_list_is_no_test_and_no_warning() -> None:
    assert cases_of([Entry("p.json", "", {"id": "p", "tests": []})]) == ([], [])
