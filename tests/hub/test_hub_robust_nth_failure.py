"""The n-th step fails, for n = 1, 2, ... until none does: always all or nothing.

Failures are real: statements are interrupted by SQLite after so many of its own steps,
accesses are refused by its authorizer, and writes to its log fail because the file may
not grow further.
"""

import contextlib
import resource
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import falcon.testing
import pytest
from hub_instance import Running, new_hub
from hub_operator import rows_of
from hub_publisher import ARTIFACTS, KEYS, base64_text, new_publisher
from nacl.signing import SigningKey

from redlane_hub.services.inspection import inspect

INTERNAL = {"error": "internal server error"}
"""What is said of every failure of the hub's own."""

Ask = Callable[[], falcon.testing.Result]


@dataclass(frozen=True)
class Scene:
    """A hub with an artifact, a key and an endorsement, before something is done."""

    running: Running
    token: str
    artifact_id: str
    endorsement_id: str
    fingerprint: str

    def call(self, method: str, path: str, **options: Any) -> falcon.testing.Result:
        return self.running.call(method, path, self.token, **options)

    def state(self) -> dict[str, list[tuple[object, ...]]]:
        return rows_of(self.running.settings.database_path)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    running = new_hub(tmp_path)
    publisher = new_publisher(running)
    assert publisher.register_key().status_code == 201
    signed = publisher.signature("{}")
    made = publisher.publish("first", tags=["one", "two"], **signed).json
    path = f"{ARTIFACTS}/{made['id']}/endorsements"
    given = running.call("POST", path, publisher.token, json={}).json
    yield Scene(
        running, publisher.token, made["id"], given["id"], publisher.fingerprint
    )
    running.close()


def publish(scene: Scene) -> falcon.testing.Result:
    body = {
        "name": "second",
        "version": "1",
        "content": '{"a": 1}',
        "description": "what is searched for",
        "tags": ["one", "three"],
        "visibility": "private",
        "artifact_type": "set",
        "dependencies": [{"name": "first", "version": "1"}],
    }
    return scene.call("POST", ARTIFACTS, json=body)


def register_key(scene: Scene) -> falcon.testing.Result:
    public = bytes(SigningKey(b"7" * 32).verify_key)
    return scene.call("POST", KEYS, json={"public_key": base64_text(public)})


def revoke_key(scene: Scene) -> falcon.testing.Result:
    return scene.call("DELETE", f"{KEYS}/{scene.fingerprint}")


def yank(scene: Scene) -> falcon.testing.Result:
    path = f"{ARTIFACTS}/{scene.artifact_id}/yank"
    return scene.call("POST", path, json={"reason": "because"})


def withdraw(scene: Scene) -> falcon.testing.Result:
    path = f"{ARTIFACTS}/{scene.artifact_id}/endorsements/{scene.endorsement_id}"
    return scene.call("DELETE", path)


def change_email(scene: Scene) -> falcon.testing.Result:
    return scene.call("PATCH", "/api/v1/me/email", json={"email": "new@example.com"})


OPERATIONS: dict[str, Callable[[Scene], falcon.testing.Result]] = {
    "publish": publish,
    "register a key": register_key,
    "revoke a key": revoke_key,
    "yank": yank,
    "withdraw": withdraw,
    "change the address": change_email,
}

Failing = Callable[[sqlite3.Connection, int], contextlib.AbstractContextManager[None]]

STRIDE = 5
"""Of SQLite's steps only every so many is tried; which ones, differs by operation."""


class Interrupting:
    """Stops SQLite in the middle of a statement, from a step on.

    Never in a COMMIT: SQLite looks up only when that is done, and calls it interrupted.
    """

    def __init__(self, first: int, last: float) -> None:
        self.first, self.last = first, last
        self.steps = 0
        self.is_commit = False

    def step(self) -> bool:
        self.steps += not self.is_commit
        return not self.is_commit and self.first <= self.steps <= self.last

    def begin(self, statement: str) -> None:
        # The search index has statements of its own, which come in between.
        if statement in {"COMMIT", "BEGIN IMMEDIATE"}:
            self.is_commit = statement == "COMMIT"

    @contextlib.contextmanager
    def of(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.set_trace_callback(self.begin)
        connection.set_progress_handler(self.step, 1)
        yield
        with contextlib.suppress(sqlite3.ProgrammingError):  # it was closed
            connection.set_trace_callback(None)
            connection.set_progress_handler(None, 0)


def interrupted(
    connection: sqlite3.Connection, number: int
) -> contextlib.AbstractContextManager[None]:
    """One step fails, and all is well again after it."""
    step = 1 + (number - 1) * STRIDE
    return Interrupting(step, step).of(connection)


def interrupted_for_good(
    connection: sqlite3.Connection, number: int
) -> contextlib.AbstractContextManager[None]:
    """Nothing works from then on, not even undoing."""
    return Interrupting(1 + (number - 1) * STRIDE, float("inf")).of(connection)


@contextlib.contextmanager
def refused(connection: sqlite3.Connection, number: int) -> Iterator[None]:
    """SQLite's authorizer refuses an access to a table, a column or a transaction."""
    accesses = 0

    def decide(*_: object) -> int:
        nonlocal accesses
        accesses += 1
        return sqlite3.SQLITE_DENY if accesses == number else sqlite3.SQLITE_OK

    connection.set_authorizer(decide)
    yield
    connection.set_authorizer(None)


@contextlib.contextmanager
def full(connection: sqlite3.Connection, number: int) -> Iterator[None]:
    """The log may grow by so many half pages only, from nothing."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((number - 1) * 2048, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


FAILURES: dict[str, Failing] = {
    "interrupted": interrupted,
    "interrupted for good": interrupted_for_good,
    "refused": refused,
    "full": full,
}


def attempts_until_success(
    scene: Scene, operation: Callable[[Scene], falcon.testing.Result], failing: Failing
) -> int:
    """Fail the first step, the second, ...; how many attempts failed."""
    before = scene.state()
    for number in range(1, 5000):
        with failing(scene.running.database.reading(), number):
            answer = operation(scene)
        assert not scene.running.database.reading().in_transaction
        if answer.status_code < 300:
            assert scene.state() != before
            return number - 1
        assert (answer.status_code, answer.json) == (500, INTERNAL)
        assert scene.state() == before
    raise AssertionError("it always failed")


@pytest.mark.parametrize("failing", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_whichever_step_fails_all_is_done_or_nothing(
    scene: Scene,
    operation: Callable[[Scene], falcon.testing.Result],
    failing: Failing,
) -> None:
    failed = attempts_until_success(scene, operation, failing)

    assert failed > 1
    found = inspect(scene.running.settings.database_path, lambda *_: None)
    assert found.problems == []
