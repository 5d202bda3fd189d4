"""Ids of sessions name their owner, and nobody's looks like another's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.state.owners import default_session, is_default, new_id, owner_of
from redlane.state.quota_keys import KnownUsers

UIDS = st.integers(0, 2**32 - 2)


@given(UIDS, st.text("0123456789abcdef", min_size=1, max_size=24))
def test_owner_is_read_back_from_the_id(uid: int, unique: str) -> None:
    assert owner_of(new_id(unique, uid)) == uid
    assert owner_of(new_id(unique, None)) is None


@given(UIDS, UIDS)
def test_no_id_begins_as_another_users(one: int, other: int) -> None:
    if one != other:
        assert not new_id("x", one).startswith(new_id("", other))


@given(UIDS)
def test_default_session_is_one_a_user(uid: int) -> None:
    assert is_default(default_session(uid))
    assert owner_of(default_session(uid)) == uid


@pytest.mark.parametrize(
    "name",
    ["u1", "u-x", "u01-x", "u1-", "u1-X", "u1-../x", " u1-x", "u1-x\n", "u1_x", "U1-x"],
)
def test_nothing_else_has_an_owner(name: str) -> None:
    assert owner_of(name) is None


def test_users_without_a_name_share_one_allowance() -> None:
    users = KnownUsers(lambda uid: uid < 2000)
    quota_keys = [users.quota_key(new_id("x", uid)) for uid in (1000, 1001, 5000, 5001)]
    assert len(set(quota_keys)) == 3
    assert quota_keys[2] == quota_keys[3]
    assert users.quota_key("default") == "default"


def test_user_who_gets_a_name_is_known_from_then_on() -> None:
    names: set[int] = set()
    users = KnownUsers(names.__contains__)
    assert not users.knows(1000)
    names.add(1000)
    assert users.knows(1000)
    names.clear()
    assert users.knows(1000)
