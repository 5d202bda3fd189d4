"""Restrictions: which policies a user may add, and what is said of the others."""

from typing import Any

import pytest
from restriction_samples import TYPES, added, block

from redlane.policies.restrictions import (
    MOST_BYTES,
    MOST_POLICIES,
    RestrictionsError,
    TooManyBytesError,
    parse_restrictions,
)

REFUSED: dict[str, tuple[Any, str]] = {
    "allow": (block(action="Allow"), "none that is 'Allow'"),
    "modify": (block(action="Modify"), "none that is 'Modify'"),
    "small allow": (block(action="allow"), "none that is 'allow'"),
    "no action": ({"id": "x", "type": "Simple", "pattern": "a"}, "`action` is missing"),
    "action of another type": (block(action=["Allow"]), "`action` must be"),
    "checker": (block("true", type="Executable"), "Executable runs code"),
    "checker without action": (
        {"id": "x", "type": "Executable", "pattern": "true"},
        "Executable runs code",
    ),
    "classifier": (block(type="Lane"), "Lane runs code"),
    "unknown type": (block(type="Smple"), "did you mean 'Simple'"),
    "type of another case": (block(type="simple"), "`type`"),
    "type no string": (block(type=["Simple"]), "`type` must be"),
    "transform": (
        block(transform={"type": "Executable", "command": "/etc/shadow"}),
        "leave `transform` out",
    ),
    "unknown context": (block(context="shell"), "did you mean 'Shell'"),
    "misspelled field": (block(patern="x"), "did you mean `pattern`"),
    "unknown field": (block(when="always"), "unknown field 'when'"),
    "broken pattern": (block("(", type="Regex"), "does not compile"),
    "no id": ({"type": "Simple", "action": "Block", "pattern": "a"}, "entry 1"),
    "empty id": (block(id=""), "`id` must be"),
    "id with a line break": (block(id="a\nb"), "`id` must be"),
    "id with an escape": (block(id="a\x1b[2Jb"), "`id` must be"),
    "id too long": (block(id="a" * 1_001), "longer than"),
    "no object": (1, "must be an object"),
    "null": (None, "must be an object"),
    "list": ([[block()]], "must be an object"),
    "no names": ({"id": "x", "type": "McpTool", "action": "Block"}, "`server` or"),
    "syscall missing": (block("x", type="Regex", context="Syscall"), "`syscall`"),
}


@pytest.mark.parametrize(("document", "said"), REFUSED.values(), ids=[*REFUSED])
def test_policy_that_is_no_restriction_is_refused(document: Any, said: str) -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(block(id="good"), document)
    assert refused.value.findings
    assert said.replace("entry 1", "entry 2") in str(refused.value)
    assert str(refused.value).isprintable()


def test_errors_quote_only_so_much() -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(*({"id": "\0" * 90_000 + str(each), "action": 1} for each in range(2)))
    assert len(str(refused.value)) < 1_000
    for each in refused.value.findings:
        assert len(each.subject) + len(each.message) < 1_000


def test_id_may_be_used_once() -> None:
    with pytest.raises(RestrictionsError, match="used twice"):
        added(block(), block("other"))


@pytest.mark.parametrize(
    "value",
    [
        1,
        [],
        "x",
        {},
        {"policies": {}},
        {"policies": None},
        {"policies": [], "roles": []},
    ],
)
def test_other_shapes_are_refused(value: object) -> None:
    with pytest.raises(RestrictionsError, match="restrictions"):
        parse_restrictions(value, TYPES)


def test_number_and_size_are_bounded() -> None:
    many = [block(id=f"p{place}") for place in range(MOST_POLICIES)]
    assert len(added(*many).policies) == MOST_POLICIES
    with pytest.raises(RestrictionsError, match="1001 restrictions"):
        added(*many, block(id="more"))
    with pytest.raises(TooManyBytesError, match="bytes"):
        added(block("x" * MOST_BYTES))


def test_every_error_is_told_and_the_first_in_the_line() -> None:
    with pytest.raises(RestrictionsError) as refused:
        added(block(action="Allow"), block(id="b", type="Executable"))
    assert [each.subject for each in refused.value.findings] == ["mine", "b"]
    assert "(and 1 more)" in str(refused.value)


def test_match_type_that_raises_is_an_error_and_no_crash() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(TYPES["Simple"], name)

        def compile(self, _: object) -> None:
            raise ZeroDivisionError

    with pytest.raises(RestrictionsError, match="ZeroDivisionError"):
        parse_restrictions(
            {"policies": [block()]},
            {"Simple": Broken()},  # type: ignore[dict-item]  # as a plugin may be
        )
