"""What a schema may be, and whether content conforms to it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane_hub.conformance.check import problem

DRAFT_3 = "http://json-schema.org/draft-03/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
OUTSIDE = "http://127.0.0.1:1/schema.json"

CONFORMING: dict[str, tuple[dict[str, Any], Any]] = {
    "anything": ({}, None),
    "type": ({"type": "object"}, {}),
    "2020-12-is-the-default": ({"prefixItems": [{"const": 1}]}, [1]),
    "2020-12-by-name": ({"$schema": DRAFT_2020, "prefixItems": [{}]}, [1]),
    "draft-7-has-no-prefixItems": (
        {"$schema": DRAFT_7, "prefixItems": [{"const": 1}]},
        [2],
    ),
    "draft-7-without-fragment": ({"$schema": DRAFT_7.rstrip("#")}, 1),
    "format-is-a-remark": ({"format": "email"}, "no address"),
    "pointer": ({"$defs": {"n": {"type": "null"}}, "$ref": "#/$defs/n"}, None),
    "anchor": ({"$defs": {"n": {"$anchor": "n", "const": 1}}, "$ref": "#n"}, 1),
    "own-id": (
        {"$id": "http://x/y", "$defs": {"n": {"$id": "z"}}, "$ref": "http://x/z"},
        1,
    ),
    "recursion": (
        {"properties": {"next": {"$ref": "#"}}, "type": "object"},
        {"next": {"next": {}}},
    ),
    "pointer-to-an-unknown-keyword": ({"own": {"const": 1}, "$ref": "#/own"}, 1),
    "reference-inside-const": ({"const": {"$ref": OUTSIDE}}, {"$ref": OUTSIDE}),
    "reference-inside-enum": ({"enum": [{"$ref": OUTSIDE}]}, {"$ref": OUTSIDE}),
    "reference-inside-examples": ({"examples": [{"$ref": OUTSIDE}]}, 1),
    "property-called-ref": ({"properties": {"$ref": {"type": "string"}}}, {}),
    "unknown-keyword": ({"x-own": {"$ref": OUTSIDE}}, 1),
    "dynamicRef-means-nothing-in-7": (
        {"$schema": DRAFT_7, "$dynamicRef": OUTSIDE},
        1,
    ),
}


@pytest.mark.parametrize("row", CONFORMING.values(), ids=CONFORMING.keys())
def test_content_conforms(row: tuple[dict[str, Any], Any]) -> None:
    assert problem(*row) is None


OTHERWISE: dict[str, tuple[dict[str, Any], Any, str]] = {
    "type": ({"type": "object"}, 3, "at $: 3 is not of type"),
    "place": (
        {"properties": {"a": {"items": {"type": "null"}}}},
        {"a": [None, 1]},
        "at $.a[1]: 1 is not",
    ),
    "false": ({"not": {}}, 1, "at $: "),
    "draft-4": (
        {"$schema": DRAFT_4, "maximum": 3, "exclusiveMaximum": True},
        3,
        "at $: ",
    ),
}


@pytest.mark.parametrize("row", OTHERWISE.values(), ids=OTHERWISE.keys())
def test_content_does_not_conform(row: tuple[dict[str, Any], Any, str]) -> None:
    schema, content, part = row
    found = problem(schema, content)
    assert found is not None
    assert found.startswith(f"'content' does not conform to 'schema': {part}")


UNUSABLE: dict[str, dict[str, Any]] = {
    "no-such-type": {"type": "foo"},
    "deep": {"properties": {"a": {"items": {"minimum": "x"}}}},
    "pattern": {"pattern": "("},
    "pattern-of-properties": {"patternProperties": {"(": {}}},
    "pattern-of-properties-draft-4": {
        "$schema": DRAFT_4,
        "patternProperties": {"(": {}},
    },
    "type-of-draft-3": {"$schema": DRAFT_3, "type": "foo"},
    "unknown-draft": {"$schema": "http://example.com/own"},
    "draft-that-is-none": {"$schema": 7},
    "draft-null": {"$schema": None},
    "unknown-draft-inside": {"$defs": {"a": {"$schema": "http://example.com/own"}}},
    "inside-by-its-own-draft": {
        "$defs": {
            "a": {"$schema": DRAFT_4, "$id": "a", "divisibleBy": 0, "required": []}
        }
    },
    "ref": {"$ref": OUTSIDE},
    "ref-not-reached": {"anyOf": [{}, {"$ref": OUTSIDE}]},
    "ref-in-defs": {"$defs": {"a": {"items": {"$ref": OUTSIDE}}}},
    "ref-of-file": {"$ref": "file:///etc/passwd"},
    "ref-to-the-draft-itself": {"$ref": DRAFT_2020},
    "ref-relative-to-id": {"$id": "http://example.com/a", "$ref": "b"},
    "ref-to-nowhere": {"$ref": "#/$defs/none"},
    "ref-to-no-anchor": {"$ref": "#none"},
    "ref-behind-a-pointer": {
        "own": {"items": {"$ref": OUTSIDE}},
        "anyOf": [{}, {"$ref": "#/own"}],
    },
    "rubbish-behind-a-pointer": {"own": {"properties": 5}, "$ref": "#/own"},
    "no-schema-behind-a-pointer": {"own": 5, "$ref": "#/own"},
    "pointer-into-a-list": {"allOf": [{}], "$ref": "#/allOf/x"},
    "pointer-past-a-list": {"allOf": [{}], "$ref": "#/allOf/1"},
    "dynamicRef": {"$dynamicRef": OUTSIDE},
    "dynamicRef-to-no-anchor": {"$dynamicRef": "#none"},
    "recursiveRef": {"$schema": DRAFT_2019, "$recursiveRef": OUTSIDE},
    "draft-7-ref": {"$schema": DRAFT_7, "$ref": OUTSIDE},
    "draft-3-ref-in-extends": {"$schema": DRAFT_3, "extends": [{"$ref": OUTSIDE}]},
    "id-that-is-no-address": {"$id": "http://[", "$ref": "a"},
    "ref-that-is-no-address": {"$ref": "http://["},
    "endless": {"$ref": "#"},
    "pattern-that-nests": {"pattern": "(" * 5000 + ")" * 5000},
    "endless-over-two": {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
        "$ref": "#/$defs/a",
    },
}


@pytest.mark.parametrize("schema", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_schema_is_refused(schema: dict[str, Any]) -> None:
    found = problem(schema, 1)
    assert found is not None
    assert found.startswith("'schema' is not a usable JSON Schema: ")


def test_reason_is_one_bounded_line() -> None:
    found = problem(
        {"properties": {"\n" * 999: {"const": 0}}}, {"\n" * 999: "a\n" * 999}
    )
    assert found is not None
    assert len(found) < 600
    assert found.isprintable()
    assert found.endswith("0 was expected")


WORDS = st.sampled_from(
    (
        *("$ref", "$id", "$anchor", "$defs", "$dynamicRef", "$schema", "properties"),
        *("items", "allOf", "type", "pattern", "const", "additionalProperties", "not"),
        *("#", "#/", "#/$defs/a", "#a", "a", "object", "(", "http://x/y", DRAFT_7),
        *("multipleOf", "minimum", "maxLength", "dependentSchemas", "prefixItems"),
    )
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=examples(300))
@given(st.dictionaries(WORDS, VALUES, max_size=5), VALUES)
def test_any_schema_is_judged_without_an_exception(
    schema: dict[str, Any], content: object
) -> None:
    schema = json.loads(json.dumps(schema))
    found = problem(schema, content)
    assert found is None or found.startswith(("'schema'", "'content'"))
