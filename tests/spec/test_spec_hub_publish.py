"""Publishing: who may, every field's rule, and what comes back (hub API: Artifacts)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from spec.hub_client import JSON, TIMESTAMP, UUID, Account, HubClient, unique
from spec.hub_signing import content_hash

ARTIFACTS = "/api/v1/artifacts"
PENDING = "your account is pending admin approval"
FIELDS = {
    "id",
    "name",
    "version",
    "description",
    "owner",
    "tags",
    "visibility",
    "downloads",
    "created_at",
    "content_hash",
    "content_schema",
    "signed",
    "key_fingerprint",
    "dependencies",
    "artifact_type",
}


def test_least_publish_answers_with_the_defaults(author: Account) -> None:
    name = unique("least")

    answer = author.push(name, version="1.0.0", content='{"a": 1}')

    body = answer.json
    assert answer.status == 201
    assert body.keys() == FIELDS
    assert UUID.fullmatch(body["id"])
    assert TIMESTAMP.fullmatch(body["created_at"])
    assert body == {
        "id": body["id"],
        "name": name,
        "version": "1.0.0",
        "description": None,
        "owner": author.email,
        "tags": [],
        "visibility": "public",
        "downloads": 0,
        "created_at": body["created_at"],
        "content_hash": content_hash('{"a": 1}'),
        "content_schema": None,
        "signed": False,
        "key_fingerprint": None,
        "dependencies": [],
        "artifact_type": "artifact",
    }


def test_publish_answers_with_what_was_sent(author: Account) -> None:
    member = author.publish()
    sent = {
        "description": "Alles für die Katz",
        "tags": ["one", "two"],
        "visibility": "draft",
        "artifact_type": "set",
        "dependencies": [
            {"name": member["name"], "version": "1", "required": False},
        ],
        "schema": {"type": "object"},
    }

    body = author.publish(**sent)

    schema = sent.pop("schema")
    assert {key: body[key] for key in sent} == sent
    assert body["content_schema"] == schema


def test_null_is_as_if_absent(author: Account) -> None:
    optional = (
        "description",
        "tags",
        "visibility",
        "artifact_type",
        "dependencies",
        "schema",
        "signature",
        "key_fingerprint",
    )

    body = author.publish(**dict.fromkeys(optional))

    assert (body["description"], body["tags"], body["dependencies"]) == (None, [], [])
    assert (body["visibility"], body["artifact_type"]) == ("public", "artifact")
    assert (body["content_schema"], body["signed"]) == (None, False)


def test_unknown_fields_are_ignored(author: Account) -> None:
    body = author.publish(owner="someone", downloads=7, id="mine", yanked=True)

    assert (body["owner"], body["downloads"]) == (author.email, 0)


def test_unapproved_account_may_not_publish(newcomer: Account) -> None:
    answer = newcomer.push()

    assert (answer.status, answer.error) == (403, PENDING)


REFUSED_BODIES = {"no-json": b"{", "no-object": b"[]", "bad-name": b'{"name": "-"}'}


@pytest.mark.parametrize("body", REFUSED_BODIES.values(), ids=REFUSED_BODIES.keys())
def test_approval_is_checked_before_the_body(newcomer: Account, body: bytes) -> None:
    answer = newcomer.http.send("POST", ARTIFACTS, body, JSON)

    assert (answer.status, answer.error) == (403, PENDING)


@pytest.mark.parametrize("body", REFUSED_BODIES.values(), ids=REFUSED_BODIES.keys())
def test_token_is_checked_before_the_body(anyone: HubClient, body: bytes) -> None:
    assert anyone.send("POST", ARTIFACTS, body, JSON).status == 401


def test_name_and_version_are_published_once(author: Account) -> None:
    name = author.publish(version="1")["name"]

    again = author.push(name, version="1", content="[]")

    assert again.status == 409
    assert again.error == f"artifact '{name}@1' already exists"
    assert author.http.get(f"{ARTIFACTS}/{name}/1").json["content"] == {}


@pytest.mark.parametrize("visibility", ["public", "private", "draft"])
def test_name_and_version_are_unique_across_the_hub(
    author: Account, rival: Account, visibility: str
) -> None:
    name = author.publish(visibility=visibility)["name"]

    answer = rival.push(name)

    assert answer.status == 409
    assert answer.error == f"artifact '{name}@1' already exists"


def test_yanked_version_stays_taken(author: Account) -> None:
    made = author.publish()
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    assert author.push(made["name"]).status == 409


def test_another_version_is_another_artifact(author: Account, rival: Account) -> None:
    name = author.publish(version="1")["name"]

    assert author.push(name, version="2").status == 201
    assert rival.push(name, version="3").status == 201


def test_names_differ_in_case(author: Account) -> None:
    name = author.publish()["name"]

    assert author.push(name.upper()).status == 201


NAMES = {
    "letter": "a",
    "capital": "Z",
    "digit": "0",
    "all-kinds": "aZ0-_.",
    "dots": "a..b",
    "128": "a" * 128,
}
VERSIONS = {
    "letter": "a",
    "digit": "0",
    "semver": "1.0.0-rc.1+build.5",
    "all-kinds": "aZ0-_.+",
    "64": "1" * 64,
    "word": "latest",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_name_is_accepted(author: Account, name: str) -> None:
    version = unique("v").replace("-", ".")

    body = author.publish(name, version=version)

    assert body["name"] == name
    assert author.http.get(f"{ARTIFACTS}/{name}/{version}").status == 200


@pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS.keys())
def test_version_is_accepted(author: Account, version: str) -> None:
    body = author.publish(version=version)

    assert body["version"] == version
    fetched = author.http.get(f"{ARTIFACTS}/{body['name']}/{version}")
    assert (fetched.status, fetched.json["version"]) == (200, version)


BAD_BOTH: dict[str, Any] = {
    "empty": "",
    "hyphen-first": "-a",
    "underscore-first": "_a",
    "dot-first": ".a",
    "dots-only": "..",
    "plus-first": "+a",
    "space": "a b",
    "slash": "a/b",
    "at": "a@b",
    "percent": "a%20b",
    "newline-after": "a\n",
    "nul": "a\0",
    "umlaut": "é",
    "umlaut-later": "aé",
    "arabic-digit": "\u0661",
    "fullwidth-letter": "\uff21",
    "null": None,
    "number": 1,
    "list": ["a"],
}
BAD_NAMES = BAD_BOTH | {"129": "a" * 129, "plus": "a+b"}
BAD_VERSIONS = BAD_BOTH | {"65": "1" * 65}


@pytest.mark.parametrize("name", BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_name_is_refused(author: Account, name: object) -> None:
    body = {"name": name, "version": "1", "content": "{}"}

    answer = author.http.post(ARTIFACTS, body)

    assert answer.status == 400
    assert "name" in answer.error


@pytest.mark.parametrize("version", BAD_VERSIONS.values(), ids=BAD_VERSIONS.keys())
def test_version_is_refused(author: Account, version: object) -> None:
    answer = author.push(version=version)

    assert answer.status == 400
    assert "version" in answer.error


@pytest.mark.parametrize("left_out", ["name", "version", "content"])
def test_field_is_required(author: Account, left_out: str) -> None:
    body = {"name": unique("art"), "version": "1", "content": "{}"}
    del body[left_out]

    answer = author.http.post(ARTIFACTS, body)

    assert answer.status == 400
    assert left_out in answer.error


GOOD: dict[str, dict[str, Any]] = {
    "description-empty": {"description": ""},
    "description-1000-characters": {"description": "x" * 1000},
    "description-1000-of-4-bytes": {"description": "😀" * 1000},
    "tags-none": {"tags": []},
    "tags-20": {"tags": [f"t{n}" for n in range(20)]},
    "tag-64-characters": {"tags": ["x" * 64]},
    "tag-64-of-4-bytes": {"tags": ["😀" * 64]},
    "public": {"visibility": "public"},
    "private": {"visibility": "private"},
    "draft": {"visibility": "draft"},
    "artifact": {"artifact_type": "artifact"},
    "no-dependencies": {"dependencies": []},
}


@pytest.mark.parametrize("fields", GOOD.values(), ids=GOOD.keys())
def test_field_is_accepted(author: Account, fields: dict[str, Any]) -> None:
    body = author.publish(**fields)

    assert {key: body[key] for key in fields} == fields


BAD: dict[str, dict[str, Any]] = {
    "description-1001-characters": {"description": "x" * 1001},
    "description-number": {"description": 5},
    "tags-21": {"tags": [f"t{n}" for n in range(21)]},
    "tag-65-characters": {"tags": ["x" * 65]},
    "tag-empty": {"tags": ["one", ""]},
    "tag-number": {"tags": [5]},
    "tag-null": {"tags": [None]},
    "tags-text": {"tags": "one"},
    "tags-object": {"tags": {"one": 1}},
    "visibility-unknown": {"visibility": "secret"},
    "visibility-capitals": {"visibility": "Public"},
    "visibility-empty": {"visibility": ""},
    "visibility-number": {"visibility": 1},
    "type-unknown": {"artifact_type": "policy"},
    "type-capitals": {"artifact_type": "Set"},
    "type-empty": {"artifact_type": ""},
    "type-number": {"artifact_type": 1},
    "set-without-dependencies": {"artifact_type": "set"},
    "set-with-empty-dependencies": {"artifact_type": "set", "dependencies": []},
    "dependencies-text": {"dependencies": "a@1"},
    "dependency-text": {"dependencies": ["a@1"]},
    "dependency-null": {"dependencies": [None]},
    "dependency-nothing": {"dependencies": [{}]},
    "dependency-no-version": {"dependencies": [{"name": "a"}]},
    "dependency-no-name": {"dependencies": [{"version": "1"}]},
    "dependency-number": {"dependencies": [{"name": 1, "version": "1"}]},
    "content-object": {"content": {}},
    "content-null": {"content": None},
    "content-number": {"content": 1},
    "schema-text": {"schema": '{"type": "object"}'},
    "schema-list": {"schema": []},
    "schema-boolean": {"schema": True},
    "signature-number": {"signature": 1, "key_fingerprint": "0" * 64},
    "fingerprint-number": {"signature": "x", "key_fingerprint": 1},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD.keys())
def test_field_is_refused_and_nothing_is_published(
    author: Account, fields: dict[str, Any]
) -> None:
    name = unique("refused")

    answer = author.push(name, **fields)

    assert answer.status == 400
    assert answer.error
    assert author.http.get(f"{ARTIFACTS}/{name}/1").status == 404


def test_tags_keep_their_order_and_duplicates_are_stored_once(author: Account) -> None:
    tags = ["b", "a", "b", "B", "a", "c"]

    assert author.publish(tags=tags)["tags"] == ["b", "a", "B", "c"]


def test_artifact_of_an_account_whose_approval_was_taken_back(
    hub: Any, anyone: HubClient
) -> None:
    account = anyone.register()
    hub.approve(account.email)
    assert account.push().status == 201
    assert hub.command("approve", account.email, "--revoke").returncode == 0

    assert (account.push().status, account.push().error) == (403, PENDING)


def test_artifact_was_created_now_in_utc(author: Account) -> None:
    before = datetime.now(UTC)
    created = author.publish()["created_at"]
    after = datetime.now(UTC)

    # Fractions may be cut off.
    slack = timedelta(seconds=1)
    assert before - slack <= datetime.fromisoformat(created) <= after + slack
