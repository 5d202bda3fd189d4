"""Fetching an artifact: what it shows to whom, and what makes it fail."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redlane_hub.http.catalogue import Artifact, ArtifactSummary
from redlane_hub.http.rendering import artifact_json
from redlane_hub.services.catalogue import Fetched
from redlane_hub.store.catalogue import StoredArtifact

FIELDS = [
    *("id", "name", "version", "description", "owner", "owner_is_endorsed", "tags"),
    *("downloads", "visibility", "created_at", "content", "content_hash"),
    *("content_schema", "signed", "key_fingerprint", "signature_valid"),
    *("artifact_type", "yanked", "yanked_reason", "dependencies"),
]
SUMMARY = [
    *("id", "name", "version", "description", "owner", "owner_is_endorsed", "tags"),
    *("downloads", "visibility", "created_at", "yanked", "artifact_type"),
]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


def fetch(
    running: Running, name: str = "policy", version: str = "1", token: Any = None
) -> Any:
    found = running.call("GET", f"{ARTIFACTS}/{name}/{version}", token)
    return found.json if found.status_code == 200 else found.status_code


def change(running: Running, statement: str, *values: object) -> None:
    with running.database.transaction() as connection:
        connection.execute(statement, values)


def test_the_fields_are_the_specifications_in_its_order(
    running: Running, ann: Publisher
) -> None:
    ann.publish()
    assert list(fetch(running)) == FIELDS == list(Artifact.__annotations__)
    found = running.call("GET", f"{ARTIFACTS}/search").json["results"][0]
    assert list(found) == SUMMARY == list(ArtifactSummary.__annotations__)


def test_everything_that_was_published_is_served(
    running: Running, ann: Publisher
) -> None:
    ann.register_key()
    ann.publish("needed", "2.0+b")
    content = ' {"é": [1.50, null, "\\u2028\\ud83d\\ude00"]}\n'
    published = ann.publish(
        content=content,
        description='a "quoted"\n\x00 line',
        tags=["b", "ü", "a"],
        schema={"type": "object"},
        dependencies=[{"name": "needed", "version": "2.0+b", "required": False}],
        artifact_type="set",
        **ann.signature(content),
    ).json
    served = fetch(running)
    assert served == published | {
        "downloads": 1,
        "content": json.loads(content),
        "owner_is_endorsed": False,
        "signature_valid": True,
        "yanked": False,
        "yanked_reason": None,
    }
    assert served["tags"] == ["b", "ü", "a"]
    assert content.encode() in running.call("GET", f"{ARTIFACTS}/policy/1").content


SCALARS = ["null", "0", "-1.5e3", '"text"', "[]", "true", "  {}  "]


@pytest.mark.parametrize("content", SCALARS)
def test_any_json_value_is_content(
    running: Running, ann: Publisher, content: str
) -> None:
    ann.publish(content=content)
    assert fetch(running)["content"] == json.loads(content)


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_only_its_owner_finds_what_is_not_public(
    running: Running, ann: Publisher, visibility: str
) -> None:
    bob = running.register("bob@example.com")
    ann.publish(visibility=visibility)
    absent = running.call("GET", f"{ARTIFACTS}/policy/2", bob)
    for token in (None, bob, "no token", ann.token + "x"):
        hidden = running.call("GET", f"{ARTIFACTS}/policy/1", token)
        assert (hidden.status_code, hidden.text) == (404, absent.text)
    assert fetch(running, token=ann.token)["visibility"] == visibility
    assert fetch(running, token=ann.token)["downloads"] == 2


def test_an_invalid_token_is_as_none(running: Running, ann: Publisher) -> None:
    ann.publish()
    assert fetch(running, token="x.y.z")["downloads"] == 1
    assert running.call("GET", f"{ARTIFACTS}/search", "x.y.z").json["total"] == 1


@pytest.mark.parametrize(
    ("name", "version"),
    [("Policy", "1"), ("policy", "1.0"), ("policy%00", "1"), ("p%2Fq", "1")],
)
def test_names_and_versions_are_exact(
    running: Running, ann: Publisher, name: str, version: str
) -> None:
    ann.publish()
    assert fetch(running, name, version) in {400, 404}


@pytest.mark.parametrize("version", ["yank", "1.0+build.5", "search", "v-1_2"])
def test_any_legal_version_can_be_fetched(
    running: Running, ann: Publisher, version: str
) -> None:
    ann.publish(version=version)
    assert fetch(running, version=version)["version"] == version


def test_the_owner_is_shown_as_the_account_is_today(
    running: Running, ann: Publisher
) -> None:
    ann.publish()
    change(running, "UPDATE accounts SET email = 'new@b.c', is_endorsed = 1")
    shown = fetch(running)
    assert (shown["owner"], shown["owner_is_endorsed"]) == ("new@b.c", True)


DAMAGES = {
    "another byte": "UPDATE contents SET content = CAST('{ }' AS BLOB)",
    "text": "UPDATE contents SET content = '{}'",
    "no row": "DELETE FROM contents",
    "another hash": "UPDATE artifacts SET content_hash = lower(hex(zeroblob(32)))",
    "a hash in capitals": "UPDATE artifacts SET content_hash = upper(content_hash)",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_content_is_an_internal_error_each_time(
    running: Running, ann: Publisher, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    ann.publish()
    assert fetch(running)["downloads"] == 1
    before = running.database.reading().execute(
        "SELECT content, content_hash FROM contents JOIN artifacts USING (number)"
    )
    content, content_hash = before.fetchone()
    change(running, damage)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            failed = running.call("GET", f"{ARTIFACTS}/policy/1")
            assert failed.status_code == 500
            assert failed.json == {"error": "internal server error"}
    assert "policy@1" in str(caplog.records[0].exc_info)
    change(running, "DELETE FROM contents")
    change(
        running, "INSERT INTO contents SELECT number, ?, NULL FROM artifacts", content
    )
    change(running, "UPDATE artifacts SET content_hash = ?", content_hash)
    assert fetch(running)["downloads"] == 2


def test_a_signature_without_its_signer_is_not_valid(
    running: Running, ann: Publisher
) -> None:
    ann.register_key()
    ann.publish(**ann.signature("{}"))
    assert fetch(running)["signature_valid"] is True
    assert ann.revoke_key().status_code == 204
    revoked = fetch(running)
    assert (revoked["signed"], revoked["signature_valid"]) == (True, False)
    change(running, "UPDATE signing_keys SET revoked_at = NULL")
    assert fetch(running)["signature_valid"] is True


UNFIT = {
    "no such key": "DELETE FROM signing_keys",
    "another's key": "UPDATE signing_keys SET user_id = (SELECT id FROM accounts "
    "WHERE email = 'bob@example.com')",
    "another key": "UPDATE signing_keys SET public_key = zeroblob(32)",
    "half a key": "UPDATE signing_keys SET public_key = zeroblob(16)",
    "another signature": "UPDATE artifacts SET signature = zeroblob(64)",
    "half a signature": "UPDATE artifacts SET signature = zeroblob(32)",
    "no fingerprint": "UPDATE artifacts SET key_fingerprint = NULL",
}


@pytest.mark.parametrize("damage", UNFIT.values(), ids=UNFIT)
def test_a_signature_that_cannot_be_verified_is_not_valid(
    running: Running, ann: Publisher, damage: str
) -> None:
    running.register("bob@example.com")
    ann.register_key()
    ann.publish(**ann.signature("{}"))
    assert fetch(running)["signature_valid"] is True
    change(running, damage)
    shown = fetch(running)
    assert (shown["signed"], shown["signature_valid"]) == (True, False)


def test_an_unsigned_artifact_has_no_validity(running: Running, ann: Publisher) -> None:
    ann.publish()
    shown = fetch(running)
    assert (shown["signed"], shown["signature_valid"]) == (False, None)
    assert shown["key_fingerprint"] is None


texts = st.text(st.characters(exclude_categories=["Cs"]))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    name=texts,
    description=st.none() | texts,
    tags=st.lists(texts),
    flag=st.booleans(),
    reason=st.none() | texts,
)
def test_the_answer_is_json_whatever_the_texts(
    *,
    name: str,
    description: str | None,
    tags: list[str],
    flag: bool,
    reason: str | None,
) -> None:
    stored = StoredArtifact(
        *(1, "id", name, name, description, name),
        *(json.dumps(tags, ensure_ascii=False), 3, "public", name, b"{}", "hash"),
        *(None, None, None, None, "set", reason, "[]", flag, False, flag),
    )
    made = json.loads(artifact_json(Fetched(stored, b'{"a": "\xc3\xa9"}', 4, None)))
    assert list(made) == FIELDS
    assert (made["name"], made["description"], made["tags"]) == (
        name,
        description,
        tags,
    )
    assert (made["yanked"], made["yanked_reason"]) == (flag, reason)
    assert (made["content"], made["downloads"]) == ({"a": "é"}, 4)
