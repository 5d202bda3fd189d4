"""The shipped JSON Schemas are current, and say what the loader says about form."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

import redlane
from redlane.model.policy import Action, Context
from redlane.model.problem import Severity
from redlane.model.settings import SETTINGS
from redlane.policies.documents import check_document
from redlane.policies.fields import FORMAT_TYPES, POLICY, ROLE, TRANSFORM, Table
from redlane.policies.parsing import form_violations
from redlane.policies.schema import SCHEMAS
from redlane.policies.settings import parse_settings
from redlane.policies.syscall_names import SYSCALL_NAMES
from redlane.policies.write_schemas import rendered

SHIPPED = Path(redlane.__file__).parent / "schemas"
VALIDATORS = {
    kind: jsonschema.Draft202012Validator(make()) for kind, make in SCHEMAS.items()
}


def test_the_shipped_schemas_are_current() -> None:
    """Run `python -m redlane.policies.write_schemas` when this fails."""
    shipped = {path.name: path.read_text("utf-8") for path in SHIPPED.iterdir()}

    assert shipped == rendered()


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_itself_valid(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[kind]())


ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        1,
        -1,
        1.5,
        2.0,
        "",
        "x",
        "a\nb",
        [],
        ["a"],
        [""],
        [None],
        [{}],
        [{"name": "a", "type": None}],
        [{"name": "a", "type": ""}],
        {},
    ]
)
TEXT = st.sampled_from(["", "rm", "^/etc", "open", "a b"])
STRINGS = st.lists(TEXT, max_size=2)
SYSCALLS = st.sampled_from(["open", "openat", "opne", ""])
TYPES = st.sampled_from([*FORMAT_TYPES, "WordCount"])


def near(right: list[dict[str, Any]], fields: dict[str, Any]) -> Any:
    """Right objects with up to two fields missing, and three changed to what fits
    the field or does not."""
    names = st.sampled_from(sorted(fields))
    changes = st.lists(
        names.flatmap(lambda name: st.tuples(st.just(name), fields[name] | ODD)),
        max_size=3,
    )
    return st.builds(
        lambda base, gone, new: {
            **{key: value for key, value in base.items() if key not in gone},
            **dict(new),
        },
        st.sampled_from(right),
        st.lists(names, max_size=2) | st.just([]),
        changes,
    )


REWRITE = {"type": "Regex", "pattern": "a", "replacement": "b"}
TRANSFORMS = near(
    [REWRITE, {"type": "Executable", "command": "sed s/a/b/"}],
    {
        "type": st.sampled_from(["Regex", "Executable"]),
        "pattern": TEXT,
        "replacement": TEXT,
        "command": TEXT,
        "tags": STRINGS,
    },
)
POLICIES = near(
    [
        {"id": "p", "type": "Simple", "action": "Block", "pattern": "x"},
        {"id": "p", "type": "Regex", "action": "Allow", "pattern": "x"},
        {"id": "p", "type": "Executable", "action": "Flag", "pattern": "true"},
        {"id": "p", "type": "McpTool", "action": "Block", "server": "s"},
        {"id": "p", "type": "MlClassifier", "action": "Block", "model": "m"},
        {"id": "p", "type": "WordCount", "action": "Block"},
        {
            "id": "p",
            "type": "Simple",
            "action": "Block",
            "context": "Syscall",
            "pattern": "open",
        },
        {
            "id": "p",
            "type": "Regex",
            "action": "Block",
            "context": "Syscall",
            "pattern": "^/etc",
            "syscall": ["open", "openat"],
        },
        {
            "id": "p",
            "type": "Regex",
            "action": "Modify",
            "pattern": "x",
            "transform": REWRITE,
        },
    ],
    {
        "id": TEXT,
        "type": TYPES,
        "action": st.sampled_from([each.value for each in Action]),
        "context": st.sampled_from([*(each.value for each in Context), None]),
        "pattern": TEXT,
        "kill": st.booleans(),
        "syscall": SYSCALLS | st.lists(SYSCALLS, max_size=2),
        "transform": TRANSFORMS,
        "server": TEXT,
        "tool": TEXT,
        "model": TEXT,
        "block_threshold": st.floats(0, 1) | st.integers(0, 1),
        "flag_threshold": st.floats(0, 1),
        "description": TEXT,
        "tests": ODD,
        "tags": STRINGS,
        "$schema": TEXT,
    },
)
ROLES = near(
    [{"name": "r", "policies": ["p"]}, {"name": "r", "policies": [], "tags": ["t"]}],
    {
        "name": TEXT,
        "policies": STRINGS,
        "is_dynamic": st.booleans(),
        "tags": STRINGS,
        "description": TEXT,
    },
)


@settings(max_examples=examples(700), deadline=None)
@given(POLICIES)
def test_loader_and_schema_agree_on_policies(policy: dict[str, Any]) -> None:
    refused = any(each.is_error for each in form_violations(policy))

    assert VALIDATORS["policies"].is_valid(policy) is not refused


@settings(max_examples=examples(300), deadline=None)
@given(ROLES)
def test_loader_and_schema_agree_on_roles(role: dict[str, Any]) -> None:
    refused = any(each.is_error for each in check_document(ROLE, (), role))

    assert VALIDATORS["roles"].is_valid(role) is not refused


@given(st.lists(ROLES | ODD, max_size=3))
def test_a_file_is_one_object_or_an_array_of_them(members: list[Any]) -> None:
    schema = VALIDATORS["roles"]
    nested = any(isinstance(each, list) for each in members)
    right = all(schema.is_valid(each) for each in members)

    assert schema.is_valid(members) is (right and not nested)


VALUES = ODD | st.sampled_from(
    ["8MB", "8 KB", "8 kb", "12", "1.2.3.4:5", "[::1]:65536", "h:0", "block", "flag"]
)
NAMES = st.sampled_from([field.name for field in SETTINGS])
GROUPS = st.sampled_from(sorted({field.name.split(".")[0] for field in SETTINGS}))
LEAVES = st.sampled_from(sorted({field.name.split(".")[1] for field in SETTINGS}))


@settings(max_examples=examples(400), deadline=None)
@given(
    st.dictionaries(NAMES, VALUES, max_size=2),
    st.dictionaries(
        GROUPS, st.dictionaries(LEAVES, VALUES, max_size=2) | ODD, max_size=2
    ),
)
def test_loader_and_schema_agree_on_settings(
    dotted: dict[str, Any], nested: dict[str, Any]
) -> None:
    document = {**dotted, **nested}
    _, findings = parse_settings(document, "s")
    refused = any(each.severity is Severity.ERROR for each in findings)

    assert VALIDATORS["settings"].is_valid(document) is not refused


@pytest.mark.parametrize("table", [POLICY, TRANSFORM, ROLE], ids=["p", "t", "r"])
def test_every_field_has_a_help(table: Table) -> None:
    assert all(field.help for field in table.values())


def test_system_call_names_are_plain_words() -> None:
    assert {"open", "openat2", "execve", "rename", "clone3"} <= SYSCALL_NAMES
    assert all(name.replace("_", "").isalnum() for name in SYSCALL_NAMES)
