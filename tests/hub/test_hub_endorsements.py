"""Endorsements: one for each account and artifact, and whose they are."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import falcon.testing
import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher

FIELDS = ["id", "artifact_id", "user_id", "email", "user_is_endorsed", "level"]
FIELDS += ["created_at"]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


@pytest.fixture
def made(ann: Publisher) -> str:
    found: str = ann.publish().json["id"]
    return found


@pytest.fixture
def bob(running: Running) -> str:
    return running.register("bob@example.com", recognise=True)


def endorse(
    running: Running, made: str, token: str | None, body: Any = None
) -> falcon.testing.Result:
    path = f"{ARTIFACTS}/{made}/endorsements"
    return running.call("POST", path, token, json={} if body is None else body)


def listed(running: Running, made: str) -> Any:
    found = running.call("GET", f"{ARTIFACTS}/{made}/endorsements")
    return found.json if found.status_code == 200 else found.status_code


def withdraw(running: Running, made: str, given: str, token: str | None) -> int:
    path = f"{ARTIFACTS}/{made}/endorsements/{given}"
    status: int = running.call("DELETE", path, token).status_code
    return status


LEVELS: dict[str, tuple[Any, str]] = {
    "none": ({}, "verified"),
    "null": ({"level": None}, "verified"),
    "verified": ({"level": "verified"}, "verified"),
    "trusted_author": ({"level": "trusted_author"}, "trusted_author"),
    "official": ({"level": "official"}, "official"),
}


@pytest.mark.parametrize(("body", "level"), LEVELS.values(), ids=LEVELS)
def test_an_endorsement_is_shown_as_it_was_given(
    running: Running, made: str, bob: str, body: Any, level: str
) -> None:
    answer = endorse(running, made, bob, body)
    assert answer.status_code == 201
    given = answer.json
    assert list(given) == FIELDS
    assert (given["artifact_id"], given["level"]) == (made, level)
    assert (given["email"], given["user_is_endorsed"]) == ("bob@example.com", True)
    assert given["created_at"] == "2030-01-02T03:04:05.678901Z"
    assert listed(running, made) == [given]


@pytest.mark.parametrize("level", ["", "Verified", "x", 1, ["verified"], {}])
def test_a_level_is_one_of_three(
    running: Running, made: str, bob: str, level: Any
) -> None:
    refused = endorse(running, made, bob, {"level": level})
    assert refused.status_code == 400
    assert "'level'" in refused.json["error"]
    assert listed(running, made) == []


def test_an_account_endorses_an_artifact_once(
    running: Running, made: str, bob: str
) -> None:
    given = endorse(running, made, bob).json["id"]
    again = endorse(running, made, bob, {"level": "official"})
    assert (again.status_code, again.json) == (
        409,
        {"error": "you have already endorsed this artifact"},
    )
    assert withdraw(running, made, given, bob) == 204
    assert endorse(running, made, bob).status_code == 201


def test_one_of_many_at_once_is_taken(running: Running, made: str, bob: str) -> None:
    statuses: list[int] = []

    def run() -> None:
        statuses.append(endorse(running, made, bob).status_code)
        running.database.close()

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [201, 409, 409, 409, 409, 409]
    assert len(listed(running, made)) == 1


def test_owners_may_endorse_their_own(
    running: Running, made: str, ann: Publisher
) -> None:
    assert endorse(running, made, ann.token).status_code == 201


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_visibility_does_not_matter(
    running: Running, ann: Publisher, bob: str, visibility: str
) -> None:
    made = ann.publish("hidden", visibility=visibility).json["id"]
    given = endorse(running, made, bob)
    assert given.status_code == 201
    assert listed(running, made) == [given.json]
    assert withdraw(running, made, given.json["id"], bob) == 204


def test_the_newest_come_first_with_todays_addresses(
    running: Running, made: str, bob: str, ann: Publisher
) -> None:
    endorse(running, made, bob)
    running.clock.advance(seconds=1)
    endorse(running, made, ann.token)
    with running.database.transaction() as connection:
        connection.execute(
            "UPDATE accounts SET email = 'rob@b.c', is_endorsed = 0 "
            "WHERE email = 'bob@example.com'"
        )
    shown = [
        (each["email"], each["user_is_endorsed"]) for each in listed(running, made)
    ]
    assert shown == [("ann@example.com", False), ("rob@b.c", False)]


def test_refusals_come_in_their_order(running: Running, bob: str) -> None:
    eve = running.register("eve@example.com", approve=False)
    absent, bad = str(uuid4()), {"level": "bad"}
    assert endorse(running, "no-uuid", None, bad).status_code == 400
    assert endorse(running, absent, None, bad).status_code == 401
    refused = endorse(running, absent, eve, bad)
    assert (refused.status_code, refused.json["error"]) == (
        403,
        "your account is pending admin approval",
    )
    assert endorse(running, absent, bob, bad).status_code == 400
    assert endorse(running, absent, bob).status_code == 404
    assert listed(running, absent) == 404
    assert listed(running, "no-uuid") == 400


def test_only_its_giver_withdraws_an_endorsement(
    running: Running, made: str, bob: str, ann: Publisher
) -> None:
    given = endorse(running, made, bob).json["id"]
    other = ann.publish("other").json["id"]
    assert withdraw(running, made, given, None) == 401
    assert withdraw(running, made, given, ann.token) == 401
    assert withdraw(running, other, given, bob) == 404
    assert withdraw(running, str(uuid4()), given, bob) == 404
    assert withdraw(running, made, str(uuid4()), bob) == 404
    assert withdraw(running, made, "no-uuid", bob) == 400
    assert withdraw(running, made.upper(), given.upper(), bob) == 204
    assert withdraw(running, made, given, bob) == 404
    assert listed(running, made) == []


def test_giving_it_needs_approval_and_taking_it_back_does_not(
    running: Running, made: str, bob: str
) -> None:
    given = endorse(running, made, bob).json["id"]
    with running.database.transaction() as connection:
        connection.execute("UPDATE accounts SET is_approved = 0")
    assert endorse(running, made, bob).status_code == 403
    assert withdraw(running, made, given, bob) == 204
