"""Forms: read strictly, written exactly, described truly."""

import enum
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.errors import InvalidInputError
from redlane_hub.wire.forms import (
    JsonObject,
    described,
    read_form,
    schema_of,
    written,
)


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Order:
    title: str = described("what it is called")
    note: str | None
    count: int = 1
    colour: Colour = Colour.RED
    parts: tuple[Part, ...] = ()
    tags: tuple[str, ...] = ()
    extra: JsonObject | None = None


WHOLE = {
    "title": "t",
    "note": "n",
    "count": 2,
    "colour": "blue",
    "parts": [{"name": "a", "needed": False}, {"name": "b"}],
    "tags": ["x", "y"],
    "extra": {"k": [1, {"z": None}]},
}


def test_a_whole_form_is_read() -> None:
    assert read_form(Order, WHOLE) == Order(
        title="t",
        note="n",
        count=2,
        colour=Colour.BLUE,
        parts=(Part("a", needed=False), Part("b")),
        tags=("x", "y"),
        extra=JsonObject({"k": [1, {"z": None}]}),
    )


ABSENT = {
    "absent": {},
    "null": dict.fromkeys(["note", "count", "colour", "parts", "tags", "extra"]),
    "null inside": {"parts": None, "unknown": 1},
}


@pytest.mark.parametrize("given_", ABSENT.values(), ids=ABSENT)
def test_an_optional_field_given_as_null_is_as_if_absent(given_: Any) -> None:
    assert read_form(Order, {"title": "t", **given_}) == Order("t", None)


def test_a_default_inside_an_array_given_as_null_is_the_default() -> None:
    found = read_form(Order, {"title": "t", "parts": [{"name": "a", "needed": None}]})
    assert found.parts == (Part("a"),)


REFUSED = {
    "array": ([], "the body must be a JSON object"),
    "string": ("x", "the body must be a JSON object"),
    "null": (None, "the body must be a JSON object"),
    "required absent": ({}, "'title' is required"),
    "required null": ({"title": None}, "'title' is required"),
    "wrong case": ({"Title": "t"}, "'title' is required"),
    "number for text": ({"title": 1}, "'title' must be a string"),
    "array for text": ({"title": ["t"]}, "'title' must be a string"),
    "text for integer": ({"title": "t", "count": "1"}, "'count' must be an integer"),
    "boolean for integer": (
        {"title": "t", "count": True},
        "'count' must be an integer",
    ),
    "fraction": ({"title": "t", "count": 1.5}, "'count' must be an integer"),
    "unknown choice": (
        {"title": "t", "colour": "green"},
        "'colour' must be one of red, blue",
    ),
    "choice in capitals": (
        {"title": "t", "colour": "RED"},
        "'colour' must be one of red, blue",
    ),
    "array for choice": (
        {"title": "t", "colour": ["red"]},
        "'colour' must be one of red, blue",
    ),
    "object for array": ({"title": "t", "tags": {}}, "'tags' must be an array"),
    "text for array": ({"title": "t", "tags": "ab"}, "'tags' must be an array"),
    "number in array": ({"title": "t", "tags": ["a", 1]}, "'tags[1]' must be a string"),
    "null in array": ({"title": "t", "tags": [None]}, "'tags[0]' must be a string"),
    "text in array of objects": (
        {"title": "t", "parts": ["a"]},
        "'parts[0]' must be a JSON object",
    ),
    "required inside": (
        {"title": "t", "parts": [{"name": "a"}, {}]},
        "'parts[1].name' is required",
    ),
    "number for boolean": (
        {"title": "t", "parts": [{"name": "a", "needed": 1}]},
        "'parts[0].needed' must be a boolean",
    ),
    "array for object": ({"title": "t", "extra": []}, "'extra' must be a JSON object"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_a_form_is_refused_by_the_field_that_is_wrong(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_form(Order, value)
    assert str(caught.value) == message


def test_what_is_absent_is_written_as_null() -> None:
    assert written(Order("t", None)) == {
        "title": "t",
        "note": None,
        "count": 1,
        "colour": "red",
        "parts": [],
        "tags": [],
        "extra": None,
    }


def test_several_forms_are_written_as_an_array() -> None:
    assert written((Part("a"), Part("b", needed=False))) == [
        {"name": "a", "needed": True},
        {"name": "b", "needed": False},
    ]


def test_what_is_written_is_read_back() -> None:
    whole = read_form(Order, WHOLE)
    assert read_form(Order, written(whole)) == whole


def test_the_schema_of_several_forms_is_an_arrays() -> None:
    assert schema_of(tuple[Part, ...])["items"] == schema_of(Part)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "needed"]), inner)
    ),
    max_leaves=5,
)
FIELDS = ["title", "note", "count", "colour", "parts", "tags", "extra"]


@given(st.dictionaries(st.sampled_from(FIELDS), JSON | st.sampled_from(["red", "t"])))
def test_the_schema_takes_just_what_is_read(value: dict[str, Any]) -> None:
    try:
        read_form(Order, value)
        read = True
    except InvalidInputError:
        read = False
    validator = jsonschema.Draft202012Validator(schema_of(Order))
    # A field that has no default and may be null may also be absent.
    assert validator.is_valid({"note": None, **value}) == read
