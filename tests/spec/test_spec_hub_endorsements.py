"""Endorsing artifacts (hub API: Endorsements)."""

from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import TIMESTAMP, UUID, Account, Answer, HubClient, unique

ARTIFACTS = "/api/v1/artifacts"
NOBODY = "00000000-0000-4000-8000-000000000000"
PENDING = "your account is pending admin approval"
Made = dict[str, Any]


def path(made: Made) -> str:
    return f"{ARTIFACTS}/{made['id']}/endorsements"


def endorse(account: Account, made: Made, **body: object) -> Answer:
    return account.http.post(path(made), body)


def withdraw(account: Account, made: Made, endorsement: Made) -> Answer:
    return account.http.delete(f"{path(made)}/{endorsement['id']}")


def listed(client: HubClient, made: Made) -> list[Made]:
    answer = client.get(path(made))
    assert answer.status == 200, answer
    return list(answer.json)


@pytest.fixture
def made(author: Account) -> Made:
    return author.publish()


def test_endorsement_has_its_fields(made: Made, rival: Account) -> None:
    answer = endorse(rival, made)

    body = answer.json
    assert answer.status == 201
    assert UUID.fullmatch(body["id"])
    assert TIMESTAMP.fullmatch(body["created_at"])
    assert body == {
        "id": body["id"],
        "artifact_id": made["id"],
        "user_id": rival.id,
        "email": rival.email,
        "user_is_endorsed": False,
        "level": "verified",
        "created_at": body["created_at"],
    }


LEVELS: dict[str, tuple[dict[str, Any], str]] = {
    "omitted": ({}, "verified"),
    "null": ({"level": None}, "verified"),
    "verified": ({"level": "verified"}, "verified"),
    "trusted-author": ({"level": "trusted_author"}, "trusted_author"),
    "official": ({"level": "official"}, "official"),
}


@pytest.mark.parametrize("row", LEVELS.values(), ids=LEVELS.keys())
def test_level_is_one_of_three(
    made: Made, rival: Account, row: tuple[dict[str, Any], str]
) -> None:
    body, level = row

    answer = endorse(rival, made, **body)

    assert (answer.status, answer.json["level"]) == (201, level)


BAD = ["", "Verified", "trusted-author", "official ", "admin", 5, ["verified"], True]


@pytest.mark.parametrize("level", BAD, ids=repr)
def test_other_level_is_400(
    made: Made, rival: Account, anyone: HubClient, level: object
) -> None:
    answer = endorse(rival, made, level=level)

    assert answer.status == 400
    assert answer.error
    assert listed(anyone, made) == []


def test_unapproved_account_may_not_endorse(
    made: Made, newcomer: Account, anyone: HubClient
) -> None:
    answer = endorse(newcomer, made)

    assert (answer.status, answer.error) == (403, PENDING)
    assert listed(anyone, made) == []


def test_account_endorses_an_artifact_once(
    made: Made, rival: Account, anyone: HubClient
) -> None:
    endorse(rival, made)

    again = endorse(rival, made, level="official")

    assert (again.status, again.error) == (
        409,
        "you have already endorsed this artifact",
    )
    assert [row["level"] for row in listed(anyone, made)] == ["verified"]


def test_other_version_is_endorsed_apart(
    made: Made, author: Account, rival: Account
) -> None:
    other = author.publish(made["name"], version="2")

    assert [endorse(rival, each).status for each in (made, other)] == [201, 201]


def test_own_artifact_may_be_endorsed(made: Made, author: Account) -> None:
    assert endorse(author, made).status == 201


def test_unknown_artifact_is_404(rival: Account, anyone: HubClient) -> None:
    unknown = {"id": NOBODY}

    answers = [
        endorse(rival, unknown),
        anyone.get(path(unknown)),
        withdraw(rival, unknown, unknown),
    ]

    assert [answer.status for answer in answers] == [404, 404, 404]
    assert all(answer.error for answer in answers)


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_visibility_is_not_applied(
    author: Account, rival: Account, anyone: HubClient, visibility: str
) -> None:
    made = author.publish(visibility=visibility)

    answer = endorse(rival, made)

    assert answer.status == 201
    assert listed(anyone, made) == [answer.json]


def test_yanked_artifact_may_be_endorsed(
    made: Made, author: Account, rival: Account
) -> None:
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    assert endorse(rival, made).status == 201


@pytest.mark.parametrize("token", [None, "nonsense"], ids=["anonymous", "wrong-token"])
def test_anyone_lists_endorsements_newest_first(
    made: Made, author: Account, rival: Account, anyone: HubClient, token: str | None
) -> None:
    made_rows = [endorse(account, made).json for account in (rival, author)]

    assert listed(anyone.signed_in(token), made) == made_rows[::-1]


def test_artifact_without_endorsements_lists_none(
    made: Made, anyone: HubClient
) -> None:
    assert listed(anyone, made) == []


def test_endorsement_is_withdrawn(
    made: Made, rival: Account, anyone: HubClient
) -> None:
    answer = withdraw(rival, made, endorse(rival, made).json)

    assert (answer.status, answer.body) == (204, b"")
    assert listed(anyone, made) == []


def test_withdrawn_endorsement_is_404(made: Made, rival: Account) -> None:
    endorsement = endorse(rival, made).json
    withdraw(rival, made, endorsement)

    again = withdraw(rival, made, endorsement)

    assert again.status == 404
    assert again.error


def test_artifact_can_be_endorsed_again_after_withdrawing(
    made: Made, rival: Account
) -> None:
    first = endorse(rival, made).json
    withdraw(rival, made, first)

    second = endorse(rival, made, level="official")

    assert second.status == 201
    assert second.json["id"] != first["id"]


@pytest.mark.parametrize("caller", ["author", "newcomer"])
def test_endorsement_of_another_is_401(
    made: Made,
    rival: Account,
    anyone: HubClient,
    caller: str,
    request: pytest.FixtureRequest,
) -> None:
    endorsement = endorse(rival, made).json

    answer = withdraw(request.getfixturevalue(caller), made, endorsement)

    assert answer.status == 401
    assert answer.error
    assert listed(anyone, made) == [endorsement]


@pytest.mark.parametrize("caller", ["author", "rival"])
def test_endorsement_of_another_artifact_is_404(
    made: Made,
    author: Account,
    rival: Account,
    anyone: HubClient,
    caller: str,
    request: pytest.FixtureRequest,
) -> None:
    endorsement = endorse(rival, made).json
    other = author.publish()

    answer = withdraw(request.getfixturevalue(caller), other, endorsement)

    assert answer.status == 404
    assert listed(anyone, made) == [endorsement]


def test_ids_may_be_in_capitals(made: Made, rival: Account, anyone: HubClient) -> None:
    capital = {"id": made["id"].upper()}
    answer = endorse(rival, capital)
    endorsement = {"id": answer.json["id"].upper()}

    assert answer.json["artifact_id"] == made["id"]
    assert listed(anyone, capital) == [answer.json]
    assert withdraw(rival, capital, endorsement).status == 204


def test_endorser_is_shown_as_today(
    hub: HubProcess, anyone: HubClient, made: Made
) -> None:
    account = anyone.register()
    hub.approve(account.email)
    endorse(account, made)
    email = f"{unique('moved')}@example.com"

    account.http.patch("/api/v1/me/email", {"email": email})
    hub.recognise(email)

    [row] = listed(anyone, made)
    assert (row["email"], row["user_is_endorsed"]) == (email, True)


def test_account_whose_approval_was_taken_back_may_withdraw(
    hub: HubProcess, anyone: HubClient, made: Made
) -> None:
    account = anyone.register()
    hub.approve(account.email)
    endorsement = endorse(account, made).json
    hub.command("approve", account.email, "--revoke")

    assert withdraw(account, made, endorsement).status == 204
    assert endorse(account, made).status == 403
