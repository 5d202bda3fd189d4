"""Other strings in JSON text that stays as it is everywhere else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.contexts.mcp.respelling import elements, fields, respelled

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def changed(value: Any) -> Any:
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, dict):
        return {key: changed(child) for key, child in value.items()}
    return [changed(child) for child in value] if isinstance(value, list) else value


@given(VALUES, st.sampled_from([None, 2]), st.booleans())
def test_every_string_value_is_changed_and_no_key(
    value: Any,
    indent: int | None,
    ascii_only: bool,  # noqa: FBT001
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)

    assert json.loads(respelled(text, lambda _, each: each + "!")) == changed(value)
    assert respelled(text, lambda _, each: each) == text


def test_a_change_is_told_the_key_before() -> None:
    told: list[tuple[str, str]] = []

    def change(key: str, text: str) -> str:
        told.append((key, text))
        return text

    respelled('{"a":"1","b" : ["2",{"c":"3"}]}', change)

    assert told == [("a", "1"), ("b", "2"), ("c", "3")]


@given(
    st.dictionaries(st.text(max_size=5), VALUES, max_size=5), st.sampled_from([None, 1])
)
def test_fields_are_found_where_they_stand(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    found = {name: json.loads(text[slice(*span)]) for name, span in fields(text)}

    assert found == value


@given(st.lists(VALUES, max_size=5), st.sampled_from([None, 1]))
def test_elements_are_found_where_they_stand(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    assert [json.loads(text[slice(*span)]) for span in elements(text)] == value


@pytest.mark.parametrize("text", ["{}", " { } ", "[]", "[ ]"])
def test_empty_ones_have_nothing(text: str) -> None:
    assert not list(fields(text) if "{" in text else elements(text))
