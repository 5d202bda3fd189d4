"""Yanking and unyanking (hub API: Artifact yank)."""

from typing import Any

import pytest
from spec.hub_client import Account, Answer, HubClient, unique
from spec.hub_signing import Signer

ARTIFACTS = "/api/v1/artifacts"
NOBODY = "00000000-0000-4000-8000-000000000000"


def yank(account: Account, made: dict[str, Any], **body: object) -> Answer:
    return account.http.post(f"{ARTIFACTS}/{made['id']}/yank", body)


def unyank(account: Account, made: dict[str, Any]) -> Answer:
    return account.http.delete(f"{ARTIFACTS}/{made['id']}/yank")


def state(account: Account, made: dict[str, Any]) -> tuple[bool, str | None]:
    answer = account.http.get(f"{ARTIFACTS}/{made['name']}/{made['version']}")
    assert answer.status == 200, answer
    return answer.json["yanked"], answer.json["yanked_reason"]


REASONS: dict[str, tuple[dict[str, Any], str | None]] = {
    "omitted": ({}, None),
    "null": ({"reason": None}, None),
    "text": ({"reason": "Löscht zu viel 💥"}, "Löscht zu viel 💥"),
    "empty": ({"reason": ""}, ""),
}


@pytest.mark.parametrize("row", REASONS.values(), ids=REASONS.keys())
def test_owner_yanks_with_or_without_a_reason(
    author: Account, row: tuple[dict[str, Any], str | None]
) -> None:
    body, reason = row
    made = author.publish()

    answer = yank(author, made, **body)

    assert (answer.status, answer.body) == (204, b"")
    assert state(author, made) == (True, reason)


def test_yanked_artifact_is_served_to_anyone(
    anyone: HubClient, author: Account
) -> None:
    made = author.publish(content='{"still": "here"}')
    yank(author, made, reason="old")

    answer = anyone.get(f"{ARTIFACTS}/{made['name']}/1")

    assert (answer.status, answer.json["yanked"]) == (200, True)
    assert answer.json["content"] == {"still": "here"}


def test_yanked_artifact_is_not_in_the_search(
    anyone: HubClient, author: Account
) -> None:
    made = author.publish()
    yank(author, made)

    for client in (anyone, author.http):
        found = client.get(f"{ARTIFACTS}/search", q=made["name"]).json
        assert found["results"] == []


def test_unyanked_artifact_is_as_before(anyone: HubClient, author: Account) -> None:
    made = author.publish()
    yank(author, made, reason="a mistake")

    answer = unyank(author, made)

    assert (answer.status, answer.body) == (204, b"")
    assert state(author, made) == (False, None)
    found = anyone.get(f"{ARTIFACTS}/search", q=made["name"]).json["results"]
    assert [(row["id"], row["yanked"]) for row in found] == [(made["id"], False)]


def test_yanking_again_updates_the_reason(author: Account) -> None:
    made = author.publish()
    yank(author, made, reason="first")

    assert yank(author, made, reason="second").status == 204
    assert state(author, made) == (True, "second")
    assert yank(author, made).status == 204
    assert state(author, made) == (True, None)


def test_unyanking_what_is_not_yanked_is_204(author: Account) -> None:
    made = author.publish()

    assert unyank(author, made).status == 204
    assert state(author, made) == (False, None)


def test_yank_is_of_one_version(author: Account) -> None:
    first = author.publish(version="1")
    second = author.publish(first["name"], version="2")
    yank(author, first)

    assert (state(author, first)[0], state(author, second)[0]) == (True, False)


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_owner_yanks_what_is_hidden(author: Account, visibility: str) -> None:
    made = author.publish(visibility=visibility)

    assert yank(author, made).status == 204
    assert state(author, made)[0] is True


def test_yank_leaves_the_signature_valid(author: Account) -> None:
    made = author.publish(**Signer.of(author).sign("{}"))
    yank(author, made)

    answer = author.http.get(f"{ARTIFACTS}/{made['name']}/1")

    assert answer.json["signature_valid"] is True


ACTIONS = pytest.mark.parametrize("act", [yank, unyank])


@ACTIONS
def test_artifact_of_another_is_403(author: Account, rival: Account, act: Any) -> None:
    made = author.publish()
    if act is unyank:
        yank(author, made, reason="mine")
    before = state(author, made)

    answer = act(rival, made)

    assert answer.status == 403
    assert answer.error
    assert state(author, made) == before


@ACTIONS
@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_hidden_artifact_of_another_is_as_a_nonexistent_one(
    author: Account, rival: Account, act: Any, visibility: str
) -> None:
    made = author.publish(visibility=visibility)

    hidden, unknown = act(rival, made), act(rival, {"id": NOBODY})

    assert (hidden.status, unknown.status) == (404, 404)
    assert hidden.error.replace(made["id"], NOBODY) == unknown.error
    assert state(author, made) == (False, None)


@ACTIONS
def test_id_may_be_in_capitals(author: Account, act: Any) -> None:
    made = author.publish()

    assert act(author, {"id": made["id"].upper()}).status == 204


BAD = {"number": 5, "list": ["old"], "object": {"why": "old"}, "boolean": True}


@pytest.mark.parametrize("reason", BAD.values(), ids=BAD.keys())
def test_reason_is_text(author: Account, reason: object) -> None:
    made = author.publish()

    assert yank(author, made, reason=reason).status == 400
    assert state(author, made) == (False, None)


MALFORMED = ["not-a-uuid", "17", NOBODY[:-1], NOBODY + "0", f"{NOBODY}%20"]
PATHS = {
    "yank": ("POST", "{}/yank"),
    "unyank": ("DELETE", "{}/yank"),
    "endorse": ("POST", "{}/endorsements"),
    "endorsements": ("GET", "{}/endorsements"),
    "unendorse": ("DELETE", "{}/endorsements/" + NOBODY),
    "unendorse-malformed": ("DELETE", NOBODY + "/endorsements/{}"),
}


@pytest.mark.parametrize("caller", ["anonymous", "approved"])
@pytest.mark.parametrize("text", MALFORMED)
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())
def test_malformed_id_is_a_plain_text_400_before_authentication(
    anyone: HubClient, author: Account, path: tuple[str, str], text: str, caller: str
) -> None:
    method, template = path
    client = anyone if caller == "anonymous" else author.http
    where = f"{ARTIFACTS}/{template.format(text)}"

    answer = client.call(method, where, {}) if method == "POST" else None
    answer = answer or client.send(method, where)

    assert answer.status == 400
    assert answer.plain


def test_newcomer_may_yank_nothing_of_others(
    author: Account, newcomer: Account
) -> None:
    assert yank(newcomer, author.publish(unique("art"))).status == 403
