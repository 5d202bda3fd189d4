"""Yanking: who may, what it changes, and in which order it is refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


def yank(
    running: Running, made: str, token: str | None, body: Any = None
) -> tuple[int, str]:
    found = running.call(
        "POST", f"{ARTIFACTS}/{made}/yank", token, json={} if body is None else body
    )
    return found.status_code, found.text


def unyank(running: Running, made: str, token: str | None) -> tuple[int, str]:
    found = running.call("DELETE", f"{ARTIFACTS}/{made}/yank", token)
    return found.status_code, found.text


def state(running: Running, token: str | None = None) -> tuple[bool, str | None]:
    found = running.call("GET", f"{ARTIFACTS}/policy/1", token).json
    return found["yanked"], found["yanked_reason"]


REASONS: dict[str, tuple[Any, str | None]] = {
    "none": ({}, None),
    "null": ({"reason": None}, None),
    "text": ({"reason": 'a "hole"\n\x00 é'}, 'a "hole"\n\x00 é'),
    "empty": ({"reason": ""}, ""),
    "unknown field": ({"reasons": "x"}, None),
    "long": ({"reason": "x" * 10_000}, "x" * 10_000),
}


@pytest.mark.parametrize(("body", "reason"), REASONS.values(), ids=REASONS)
def test_a_yanked_artifact_is_served_with_its_reason(
    running: Running, ann: Publisher, body: Any, reason: str | None
) -> None:
    made = ann.publish().json["id"]
    assert yank(running, made, ann.token, body) == (204, "")
    assert state(running) == (True, reason)
    assert unyank(running, made, ann.token) == (204, "")
    assert state(running) == (False, None)


def test_yanking_again_replaces_the_reason(running: Running, ann: Publisher) -> None:
    made = ann.publish().json["id"]
    for body, reason in (({"reason": "a"}, "a"), ({"reason": "b"}, "b"), ({}, None)):
        assert yank(running, made, ann.token, body)[0] == 204
        assert state(running) == (True, reason)


def test_unyanking_what_is_not_yanked_changes_nothing(
    running: Running, ann: Publisher
) -> None:
    made = ann.publish().json["id"]
    assert unyank(running, made, ann.token) == (204, "")
    assert running.call("GET", f"{ARTIFACTS}/search").json["total"] == 1


def test_an_unapproved_owner_may_yank(running: Running, ann: Publisher) -> None:
    made = ann.publish().json["id"]
    with running.database.transaction() as connection:
        connection.execute("UPDATE accounts SET is_approved = 0")
    assert yank(running, made, ann.token)[0] == 204


@pytest.mark.parametrize("change", [yank, unyank], ids=["yank", "unyank"])
def test_others_are_refused(running: Running, ann: Publisher, change: Any) -> None:
    bob = running.register("bob@example.com")
    shown = ann.publish("shown").json["id"]
    absent = change(running, str(uuid4()), bob)
    assert absent[0] == 404
    assert change(running, shown, bob)[0] == 403
    for visibility in ("private", "draft"):
        made = ann.publish(visibility, visibility=visibility).json["id"]
        assert change(running, made, bob) == absent
        assert change(running, made.upper(), ann.token)[0] == 204
    for made in (shown, str(uuid4())):
        assert change(running, made, None)[0] == 401
        assert change(running, made, "x")[0] == 401
    assert change(running, "no-uuid", None)[0] == 400


@pytest.mark.parametrize("body", [[], "x", {"reason": 1}, {"reason": ["x"]}])
def test_a_reason_is_a_text(running: Running, ann: Publisher, body: Any) -> None:
    made = ann.publish().json["id"]
    assert yank(running, made, ann.token, body)[0] == 400
    assert state(running) == (False, None)
