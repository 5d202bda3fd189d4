"""Rewritten arguments must fit what the tool takes."""

import json
from typing import Any

import pytest

from redlane.contexts.mcp.frames import read_frame
from redlane.mcp.schemas import Schemas

SCHEMA: dict[str, Any] = {
    "type": "object",
    "$defs": {"drink": {"enum": ["beer", "tea"]}, "ref": {"$ref": "#/$defs/drink"}},
    "properties": {
        "free": {"type": "string"},
        "enum": {"enum": ["beer", "tea"]},
        "const": {"const": "beer"},
        "short": {"maxLength": 4},
        "long": {"minLength": 4},
        "pattern": {"pattern": "^[a-z]+$"},
        "look": {"pattern": "(?=x)"},
        "ref": {"$ref": "#/$defs/drink"},
        "refs": {"$ref": "#/$defs/ref"},
        "elsewhere": {"$ref": "http://a/b"},
        "gone": {"$ref": "#/$defs/none"},
        "turning": {"$ref": "#/properties/turning"},
        "any": {"anyOf": [{"type": "null"}, {"enum": ["beer", "tea"]}]},
        "strict": {"anyOf": [{"enum": ["beer"]}, {"maxLength": 2}]},
        "all": {"allOf": [{"maxLength": 9}, {"enum": ["beer"]}]},
        "not": {"not": {"const": "tea"}},
        "list": {"items": {"enum": ["beer"]}},
        "pair": {"prefixItems": [{}, {"enum": ["beer"]}], "items": {}},
        "inner": {"properties": {"x": {"const": "beer"}}},
        "bool": True,
    },
    "additionalProperties": {"enum": ["beer", "wine"]},
}


@pytest.fixture
def schemas() -> Schemas:
    made = Schemas()
    tools = [{"name": "t", "inputSchema": SCHEMA}, {"name": "odd", "inputSchema": 1}, 7]
    line = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    made.learn(read_frame(json.dumps(line).encode()))
    return made


FITS: list[tuple[str, Any, Any]] = [
    ("free", "beer", "anything"),
    ("enum", "beer", "tea"),
    ("const", "beer", "beer"),
    ("short", "beer", "tea"),
    ("pattern", "beer", "tea"),
    ("look", "beer", "beer"),
    ("ref", "beer", "tea"),
    ("refs", "beer", "tea"),
    ("any", "beer", "tea"),
    ("pair", ["beer", "beer"], ["tea", "beer"]),
    ("bool", "beer", "tea"),
    ("other", "beer", "wine"),
    ("list", [], []),
]
FAILS: list[tuple[str, Any, Any]] = [
    ("enum", "beer", "wine"),
    ("const", "beer", "tea"),
    ("short", "beer", "water"),
    ("long", "beer", "tea"),
    ("pattern", "beer", "Tea"),
    ("look", "beer", "tea"),
    ("ref", "beer", "wine"),
    ("refs", "beer", "wine"),
    ("elsewhere", "beer", "tea"),
    ("gone", "beer", "tea"),
    ("turning", "beer", "tea"),
    ("any", "beer", "wine"),
    ("strict", "beer", "tea"),
    ("all", "beer", "tea"),
    ("not", "beer", "wine"),
    ("list", ["beer"], ["tea"]),
    ("pair", ["beer", "beer"], ["beer", "tea"]),
    ("inner", {"x": "beer"}, {"x": "tea"}),
    ("other", "beer", "tea"),
]


@pytest.mark.parametrize(("name", "before", "after"), FITS)
def test_what_fits_goes_on(
    schemas: Schemas, name: str, before: object, after: object
) -> None:
    assert schemas.problem("t", {name: before}, {name: after}) is None


@pytest.mark.parametrize(("name", "before", "after"), FAILS)
def test_what_does_not_fit_is_told(
    schemas: Schemas, name: str, before: object, after: object
) -> None:
    assert schemas.problem("t", {name: before}, {name: after})


@pytest.mark.parametrize("tool", ["unknown", "odd", None, 1])
def test_what_is_not_known_fits(schemas: Schemas, tool: object) -> None:
    assert schemas.problem(tool, {"enum": "beer"}, {"enum": "wine"}) is None


def test_a_new_list_takes_the_place_of_the_old(schemas: Schemas) -> None:
    tools = [{"name": "t", "inputSchema": {}}]
    line = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    schemas.learn(read_frame(json.dumps(line).encode()))

    assert schemas.problem("t", {"enum": "beer"}, {"enum": "wine"}) is None
