"""What would be other than it is, told by policies and by their fields."""

from typing import Any

import pytest
from core.policy_home import simple
from core.sharing.sharing_samples import KEY
from hypothesis import given
from hypothesis import strategies as st

from redlane.sharing.changes import FieldChange, change_of, changed_fields

OLD, NEW, KEPT = simple("old"), simple("new"), simple("kept")
POLICIES = st.dictionaries(
    st.sampled_from("abcd"),
    st.dictionaries(st.sampled_from("xyz"), st.integers(0, 2)),
)


def test_policies_come_go_and_change() -> None:
    changed = simple("other", "before"), simple("other", "after")
    change = change_of(
        "team",
        old={"old": OLD, "kept": KEPT, "other": changed[0]},
        new={"new": NEW, "kept": KEPT, "other": changed[1]},
    )
    assert change.added == {"new": NEW}
    assert change.removed == {"old": OLD}
    assert change.changed == {"other": changed}
    assert change.arriving == {"new": NEW, "other": changed[1]}


@pytest.mark.parametrize(
    ("fields", "is_any"),
    [
        ({}, False),
        ({"before": "1", "after": "1"}, False),
        ({"old": {"a": OLD}, "new": {"a": OLD}}, False),
        ({"key": KEY, "owner": "ada"}, False),
        ({"before": "1", "after": "2"}, True),
        ({"after": "1"}, True),
        ({"before": "1"}, True),
        ({"old": {"a": OLD}}, True),
        ({"new": {"a": OLD}}, True),
        ({"old": {"a": OLD}, "new": {"a": NEW}}, True),
        ({"old": {"a": OLD, "b": NEW}, "new": {"b": NEW, "a": OLD}}, True),
    ],
)
def test_a_change_is_one_of_version_or_of_policies_or_their_order(
    fields: dict[str, Any],
    is_any: bool,  # noqa: FBT001  # a case
) -> None:
    assert change_of("team", **fields).is_any is is_any


@pytest.mark.parametrize(
    ("old", "new", "is_reordered"),
    [("ab", "ba", True), ("abc", "xcb", True), ("ab", "xab", False)],
)
def test_an_order_is_that_of_what_stays(
    old: str,
    new: str,
    is_reordered: bool,  # noqa: FBT001  # a case
) -> None:
    policies = [{each: simple(each) for each in ids} for ids in (old, new)]
    change = change_of("team", old=policies[0], new=policies[1])
    assert change.is_reordered is is_reordered


def test_fields_that_differ_are_told_in_their_order() -> None:
    before = {"id": "a", "pattern": "x", "reason": "r", "kill": None}
    after = {"id": "a", "pattern": "y", "action": "Block"}
    assert [*changed_fields(before, after)] == [
        FieldChange("pattern", "x", "y"),
        FieldChange("reason", "r", None),
        FieldChange("action", None, "Block"),
    ]


@given(POLICIES, POLICIES)
def test_each_policy_is_told_once_or_stays(
    old: dict[str, dict[str, int]], new: dict[str, dict[str, int]]
) -> None:
    change = change_of("team", old=old, new=new)
    told = [*change.added, *change.removed, *change.changed]
    assert len(told) == len(set(told))
    kept = {each: old[each] for each in old if each not in told}
    assert {**kept, **change.arriving} == new
    assert {*kept, *change.removed, *change.changed} == {*old}
