"""What a hub answers is read field by field, and nonsense is named by its field."""

from typing import Any

import pytest

from redlane.hubclient import (
    Account,
    Artifact,
    Dependency,
    HubUnavailableError,
    Members,
    Resolution,
    SearchPage,
    SigningKey,
    Subscription,
    Summary,
)
from redlane.hubclient.documents import read


def texts(*names: str) -> dict[str, Any]:
    return {each: f"the {each}" for each in names}


ACCOUNT = {
    **texts("id", "email", "created_at"),
    **dict.fromkeys(("is_endorsed", "is_approved"), True),
}
STATUS = {**texts("status", "updated_at", "signature"), "subscription_id": None}
STATUS["expires_at"] = 5
KEY = {**texts("id", "fingerprint", "created_at"), "label": None}
SUMMARY = {
    **texts("id", "name", "version", "owner", "visibility", "created_at"),
    **texts("artifact_type"),
    **dict.fromkeys(("owner_is_endorsed", "yanked"), False),
    "description": None,
    "tags": ["a", "b"],
    "downloads": 0,
}
MEMBER = {**texts("name", "version"), "required": True}
ARTIFACT = {
    **SUMMARY,
    **texts("content_hash", "key_fingerprint"),
    **dict.fromkeys(("content_schema", "yanked_reason", "content")),
    **dict.fromkeys(("signed", "signature_valid"), True),
    "dependencies": [MEMBER],
}


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


def test_value_has_the_fields_of_the_answer() -> None:
    assert read(Account, ACCOUNT) == Account(**ACCOUNT)


def test_unknown_fields_are_left_out() -> None:
    assert read(Account, {**ACCOUNT, "new": [1]}) == read(Account, ACCOUNT)


def test_lists_become_tuples_of_values() -> None:
    page = read(SearchPage, {"results": [SUMMARY, SUMMARY], "total": 7})
    assert [type(each) for each in page.results] == [Summary, Summary]
    assert page.results[0].tags == ("a", "b")
    member = Dependency("the name", "the version", required=True)
    assert read(Artifact, ARTIFACT).dependencies == (member,)


def test_what_only_a_list_of_keys_has_may_be_missing() -> None:
    key = read(SigningKey, KEY)
    assert (key.user_id, key.revoked_at) == (None, None)


@pytest.mark.parametrize("content", [None, False, 1, 1.5, "x", [], {"a": [None]}])
def test_content_is_any_json_value(content: object) -> None:
    assert read(Artifact, {**ARTIFACT, "content": content}).content == content


@pytest.mark.parametrize("valid", [None, True, False])
def test_field_that_may_be_null_is_read_either_way(valid: object) -> None:
    found = read(Artifact, {**ARTIFACT, "signature_valid": valid})
    assert found.signature_valid is valid


MEMBERS = {"set_name": "n", "set_version": "1", "members": [MEMBER, {"name": "m"}]}
NONSENSE: dict[str, tuple[Any, object, str]] = {
    "missing": (Account, without(ACCOUNT, "is_approved"), ".is_approved is missing"),
    "any": (Artifact, without(ARTIFACT, "content"), ".content is missing"),
    "or null": (Subscription, without(STATUS, "updated_at"), ".updated_at is missing"),
    "null": (Account, {**ACCOUNT, "email": None}, ".email is no"),
    "1 for true": (Account, {**ACCOUNT, "is_endorsed": 1}, ".is_endorsed is no"),
    "true for 1": (Subscription, {**STATUS, "expires_at": True}, ".expires_at is no"),
    "fraction": (Subscription, {**STATUS, "expires_at": 5.0}, ".expires_at is no"),
    "text": (SearchPage, {"results": [], "total": "7"}, ".total is no"),
    "number": (Subscription, {**STATUS, "updated_at": 5}, ".updated_at is no"),
    "no list": (Resolution, {"root": "r", "dependencies": None}, ".dependencies is no"),
    "nested": (Members, MEMBERS, ".members[1].version is missing"),
    "nested twice": (
        SearchPage,
        {"results": [{**SUMMARY, "tags": ["a", 1]}], "total": 1},
        ".results[0].tags[1] is no",
    ),
    "element": (tuple[SigningKey, ...], [KEY, 5], "[1] is no"),
    "object for list": (tuple[SigningKey, ...], {}, " is no"),
    "list for object": (Account, [], " is no"),
    "nothing": (Account, None, " is no"),
}


@pytest.mark.parametrize(("kind", "value", "place"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_named_by_its_field(
    kind: type[object], value: object, place: str
) -> None:
    with pytest.raises(HubUnavailableError) as found:
        read(kind, value)
    assert str(found.value).startswith(f"the hub answers nonsense: the answer{place}")
