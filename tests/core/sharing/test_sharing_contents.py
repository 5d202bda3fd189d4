"""What an artifact holds: policies by their ids, and which of them start programs."""

from typing import Any

import pytest
from core.policy_home import simple
from core.sharing.sharing_samples import artifact

from redlane.errors import LoadError
from redlane.sharing.contents import by_id, policies_of, programs, runs_programs

ONE, TWO = simple("one"), simple("two")

HOLDING = {
    "one": (ONE, ["one"]),
    "array": ([TWO, ONE], ["two", "one"]),
    "unchecked": ([{"id": "x", "type": 5}], ["x"]),
}
NONE: dict[str, tuple[Any, str]] = {
    "empty": ([], "holds no policies"),
    "null": (None, "without an id"),
    "text": ("text", "without an id"),
    "number": (7, "without an id"),
    "remark": ({"description": "x"}, "without an id"),
    "null among them": ([ONE, None], "without an id"),
    "array among them": ([ONE, [TWO]], "without an id"),
    "no id": ([{"type": "Simple"}], "without an id"),
    "number as id": ([{"id": 7}], "without an id"),
    "null as id": ([{"id": None}], "without an id"),
    "twice": ([ONE, TWO, ONE], "two with the id 'one'"),
}
REMARKS: list[Any] = [None, {}, [], "text", 7, {"description": "x"}]


@pytest.mark.parametrize(("content", "ids"), HOLDING.values(), ids=HOLDING)
@pytest.mark.parametrize("kind", ["artifact", "set"])
def test_policies_are_known_by_their_ids(
    content: object, ids: list[str], kind: str
) -> None:
    found = policies_of(artifact("team@1", content=content, artifact_type=kind))
    assert [*found] == ids


@pytest.mark.parametrize(("content", "says"), NONE.values(), ids=NONE)
def test_what_holds_something_else_is_an_error_that_names_it(
    content: object, says: str
) -> None:
    with pytest.raises(LoadError) as found:
        policies_of(artifact("team@1", content=content))
    assert str(found.value).startswith("team@1 ")
    assert says in str(found.value)


@pytest.mark.parametrize("content", REMARKS)
def test_a_set_needs_no_policies_of_its_own(content: object) -> None:
    assert policies_of(artifact("s@1", content=content, artifact_type="set")) == {}


@pytest.mark.parametrize(
    "content", [{"type": "Simple"}, {"action": "Block"}, {"id": 7}, [7], [{}]]
)
def test_a_set_with_broken_policies_is_an_error(content: object) -> None:
    with pytest.raises(LoadError, match="s@1 holds no policies that load"):
        policies_of(artifact("s@1", content=content, artifact_type="set"))


def test_no_policies_have_no_ids() -> None:
    assert by_id([]) == {}


PROGRAMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "match": ({"type": "Executable", "pattern": "check --it"}, ["check --it"]),
    "match, however it is spelled": ({"type": "eXECUTABLE", "pattern": "x"}, ["x"]),
    "match of nothing": ({"type": "Executable"}, ["None"]),
    "transform": (
        {"type": "Regex", "transform": {"type": "Executable", "command": "sed"}},
        ["sed"],
    ),
    "transform, however it is spelled": (
        {"type": "Regex", "transform": {"type": "EXECUTABLE", "command": "sed"}},
        ["sed"],
    ),
    "simple": ({"type": "Simple", "pattern": "Executable"}, []),
    "regex transform": ({"type": "Regex", "transform": {"type": "Regex"}}, []),
    "transform that is none": ({"type": "Regex", "transform": ["Executable"]}, []),
    "type that is none": ({"type": ["Executable"]}, []),
    "nothing": ({}, []),
    "both": (
        {
            "type": "Executable",
            "pattern": "true",
            "transform": {"type": "Executable", "command": "sed"},
        },
        ["true", "sed"],
    ),
}


@pytest.mark.parametrize(("policy", "commands"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_policy_that_starts_a_program_says_which(
    policy: dict[str, Any], commands: list[str]
) -> None:
    assert programs(policy) == commands


def test_policies_that_start_programs_are_told_by_their_ids() -> None:
    found = by_id([ONE, {"id": "x", "type": "Executable", "pattern": "true"}, TWO])
    assert runs_programs(found) == ["x"]
