"""Publishing: what is kept, what is answered, and what each rule refuses."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, error, new_publisher, row_of

MOST = 262_144


def test_answer_has_every_field(ann: Publisher) -> None:
    made = ann.publish()
    assert made.status_code == 201
    assert made.json | {"id": ""} == {
        "id": "",
        "name": "policy",
        "version": "1",
        "description": None,
        "owner": "ann@example.com",
        "tags": [],
        "visibility": "public",
        "downloads": 0,
        "created_at": "2030-01-02T03:04:05.678901Z",
        "content_hash": hashlib.sha256(b"{}").hexdigest(),
        "content_schema": None,
        "signed": False,
        "key_fingerprint": None,
        "dependencies": [],
        "artifact_type": "artifact",
    }


def test_everything_given_is_answered(ann: Publisher) -> None:
    ann.register_key()
    ann.publish("needed")
    schema = {"type": "object", "title": "ü"}
    made = ann.publish(
        description="what for",
        tags=["b", "a", "b"],
        visibility="private",
        artifact_type="set",
        dependencies=[
            {"name": "needed", "version": "1"},
            {"name": "needed", "version": "1", "required": True},
            {"name": "needed", "version": "1", "required": False},
        ],
        schema=schema,
        **ann.signature("{}"),
    )
    assert made.status_code == 201
    answer = made.json
    assert answer["description"] == "what for"
    assert answer["tags"] == ["b", "a"]
    assert (answer["visibility"], answer["artifact_type"]) == ("private", "set")
    assert answer["dependencies"] == [
        {"name": "needed", "version": "1", "required": True},
        {"name": "needed", "version": "1", "required": False},
    ]
    assert answer["content_schema"] == schema
    assert (answer["signed"], answer["key_fingerprint"]) == (True, ann.fingerprint)


def test_null_is_as_if_absent(ann: Publisher) -> None:
    absent = dict.fromkeys(
        (
            *("description", "tags", "visibility", "artifact_type", "dependencies"),
            *("schema", "signature", "key_fingerprint"),
        )
    )
    assert ann.publish(**absent).status_code == 201


CONTENTS = {
    "object": '{"a": 1}',
    "space-around": ' \n{"b":\t1,   "a": 2.50}\r\n',
    "scalar": "3",
    "null": "null",
    "text": '"x"',
    "escapes": '"\\u00fc\\ud834\\udd1e\\u0000"',
    "not-ascii": '{"ü": "𐍈"}',
    "64-deep": "[" * 64 + "]" * 64,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_content_is_kept_byte_for_byte(
    running: Running, ann: Publisher, content: str
) -> None:
    made = ann.publish(content=content)
    row = row_of(running)
    assert row["content"] == content.encode()
    expected = hashlib.sha256(content.encode()).hexdigest()
    assert row["content_hash"] == made.json["content_hash"] == expected


def test_rows_are_ready_to_be_answered(running: Running, ann: Publisher) -> None:
    ann.publish("needed")
    ann.publish(
        "Größe-1".replace("ö", "o").replace("ß", "ss"),
        description="STRASSE",
        tags=["ü"],
        dependencies=[{"name": "needed", "version": "1", "required": False}],
        schema={"const": {}, "title": "ü"},
    )
    row = row_of(running)
    assert row["tags"] == '["ü"]'
    assert json.loads(row["dependencies"]) == [
        {"name": "needed", "version": "1", "required": False}
    ]
    assert row["content_schema"] == '{"const": {}, "title": "ü"}'
    assert row["name_folded"] == "grosse-1"
    assert row["description_folded"] == "strasse"
    found = running.database.reading().execute(
        "SELECT position, name, version, required FROM dependencies"
    )
    assert [tuple(each) for each in found] == [(0, "needed", "1", 0)]


def test_moments_never_go_back(running: Running, ann: Publisher) -> None:
    first = ann.publish("a").json["created_at"]
    running.clock.advance(hours=-1)
    second = ann.publish("b").json["created_at"]
    assert first == second


OBJECTS = "'dependencies[0]' must be a JSON object"
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"name": "-a"}, "'name' must be 1 to 128 characters"),
    "version": ({"version": "1/2"}, "'version' must be 1 to 64 characters"),
    "tags-count": ({"tags": ["a"] * 21}, "'tags' must be at most 20, not 21"),
    "tag-length": (
        {"tags": ["a", "ü" * 65]},
        "'tags[1]' must have 1 to 64 characters, not 65",
    ),
    "tag-empty": ({"tags": [""]}, "'tags[0]' must have 1 to 64 characters, not 0"),
    "description": (
        {"description": "ü" * 1001},
        "'description' must have at most 1000 characters, not 1001",
    ),
    "content-cap": (
        {"content": '"' + "ü" * (MOST // 2) + '"'},
        "'content' must have at most 262144 bytes, not 262146",
    ),
    "content-no-json": ({"content": "{"}, "'content' is not valid JSON: line 1"),
    "content-empty": ({"content": ""}, "'content' is not valid JSON"),
    "content-nan": ({"content": "NaN"}, "'content' is not valid JSON: NaN"),
    "content-twice": ({"content": '{"a":1,"a":1}'}, "'content' is not valid JSON"),
    "content-deep": ({"content": "[" * 65 + "]" * 65}, "'content' is not valid JSON"),
    "content-half-a-pair": ({"content": '"\\ud800"'}, "'content' is not valid JSON"),
    "content-bom": ({"content": "\ufeff{}"}, "'content' is not valid JSON"),
    "content-object": ({"content": {}}, "'content' must be a string"),
    "schema": ({"schema": {"type": "x"}}, "'schema' is not a usable JSON Schema"),
    "schema-true": ({"schema": True}, "'schema' must be a JSON object"),
    "nonconforming": (
        {"schema": {"type": "null"}},
        "'content' does not conform to 'schema': at $: {} is not",
    ),
    "visibility": (
        {"visibility": "Public"},
        "'visibility' must be one of public, private, draft",
    ),
    "artifact-type": (
        {"artifact_type": ""},
        "'artifact_type' must be one of artifact, set",
    ),
    "empty-set": ({"artifact_type": "set"}, "'dependencies': a set needs at least one"),
    "missing": (
        {"dependencies": [{"name": "no", "version": "1"}]},
        "'dependencies': 'no@1' does not exist",
    ),
    "missing-though-not-required": (
        {"dependencies": [{"name": "no", "version": "1", "required": False}]},
        "'dependencies': 'no@1' does not exist",
    ),
    "itself": (
        {"dependencies": [{"name": "policy", "version": "1"}]},
        "'dependencies' form a cycle back to 'policy@1'",
    ),
    "dependency-text": ({"dependencies": ["a@1"]}, OBJECTS),
    "dependency-without-version": (
        {"dependencies": [{"name": "a"}]},
        "'dependencies[0].version' is required",
    ),
    "signature-alone": (
        {"signature": "x"},
        "'signature' and 'key_fingerprint' must be sent together",
    ),
    "key-alone": (
        {"key_fingerprint": "x"},
        "'signature' and 'key_fingerprint' must be sent together",
    ),
    "unknown-key": (
        {"signature": "x", "key_fingerprint": "x"},
        "'key_fingerprint' is no registered, unrevoked key of yours",
    ),
}


@pytest.mark.parametrize(("fields", "message"), BAD.values(), ids=BAD.keys())
def test_bad_field_is_refused(
    running: Running, ann: Publisher, fields: dict[str, Any], message: str
) -> None:
    status, told = error(ann.publish(**fields))
    assert status == 400
    assert told.startswith(message)
    assert "\n" not in told
    assert row_of(running) is None


EDGES: dict[str, dict[str, Any]] = {
    "name-1": {"name": "a"},
    "name-128": {"name": "A" + "-_." * 42 + "9"},
    "version-64": {"version": "0" + "+" * 63},
    "20-tags-of-64": {"tags": [f"{each:ü>64}" for each in range(20)]},
    "description-1000": {"description": "𐍈" * 1000},
    "description-empty": {"description": ""},
    "content-of-the-cap": {"content": '"' + "ü" * (MOST // 2 - 1) + '"'},
    "control-characters": {"description": "a\0b\n", "tags": ["\0"]},
    "schema-of-nothing": {"schema": {}},
}


@pytest.mark.parametrize("fields", EDGES.values(), ids=EDGES.keys())
def test_just_within_the_limit_is_published(
    ann: Publisher, fields: dict[str, Any]
) -> None:
    assert ann.publish(**fields).status_code == 201


def test_long_dependency_makes_a_short_message(ann: Publisher) -> None:
    needs = [{"name": "n" * 9999, "version": "v" * 9999}]
    status, told = error(ann.publish(dependencies=needs))
    assert status == 400
    assert len(told) < 260


def test_message_of_a_dependency_is_one_line(ann: Publisher) -> None:
    needs = [{"name": "a\nb", "version": "1"}]
    status, told = error(ann.publish(dependencies=needs))
    assert status == 400
    assert told.isprintable()


def test_existing_version_is_refused_and_kept(running: Running, ann: Publisher) -> None:
    ann.publish(content="1")
    taken = (409, "artifact 'policy@1' already exists")
    assert error(ann.publish(content="2")) == taken
    assert row_of(running)["content"] == b"1"
    assert ann.publish(version="2").status_code == 201
    assert ann.publish("Policy").status_code == 201


def test_name_of_a_hidden_artifact_is_taken(ann: Publisher, bob: Publisher) -> None:
    ann.publish(visibility="draft")
    assert error(bob.publish())[0] == 409


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_dependency_must_be_visible(
    ann: Publisher, bob: Publisher, visibility: str
) -> None:
    ann.publish("hidden", visibility=visibility)
    needs = [{"name": "hidden", "version": "1"}]
    hidden = error(bob.publish(dependencies=needs))
    assert hidden == (400, "'dependencies': 'hidden@1' does not exist")
    assert ann.publish(dependencies=needs).status_code == 201


def test_yanked_artifact_can_be_needed(running: Running, ann: Publisher) -> None:
    ann.publish("old")
    with running.database.transaction() as connection:
        connection.execute("UPDATE artifacts SET yanked = 1")
    needs = [{"name": "old", "version": "1"}]
    assert ann.publish(dependencies=needs).status_code == 201


def test_cycle_over_others_is_told_before_the_conflict(ann: Publisher) -> None:
    ann.publish("a")
    ann.publish("b", dependencies=[{"name": "a", "version": "1"}])
    ann.publish("c", dependencies=[{"name": "b", "version": "1"}])
    again = ann.publish("a", dependencies=[{"name": "c", "version": "1"}])
    assert error(again) == (400, "'dependencies' form a cycle back to 'a@1'")
    assert error(ann.publish("a"))[0] == 409


def test_cycle_that_a_lost_artifact_would_close_is_found(
    running: Running, ann: Publisher
) -> None:
    ann.publish("a")
    ann.publish("b", dependencies=[{"name": "a", "version": "1"}])
    with running.database.transaction() as connection:
        connection.execute("UPDATE artifacts SET name = 'gone' WHERE name = 'a'")
    again = ann.publish("a", dependencies=[{"name": "b", "version": "1"}])
    assert error(again) == (400, "'dependencies' form a cycle back to 'a@1'")


def test_hub_may_take_more_content(tmp_path: Path) -> None:
    small = new_hub(tmp_path, max_content_bytes=2)
    ann = new_publisher(small)
    assert ann.publish().status_code == 201
    assert error(ann.publish(content="123")) == (
        400,
        "'content' must have at most 2 bytes, not 3",
    )
    small.close()


def test_unapproved_account_is_told_before_its_body_is_read(running: Running) -> None:
    token = running.register("new@example.com", approve=False)
    refused = running.call("POST", ARTIFACTS, token, body="{", headers={})
    assert error(refused) == (403, "your account is pending admin approval")
    assert running.call("POST", ARTIFACTS, json={}).status_code == 401
