"""Publishing while others publish the same, or take back what it stands on."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import falcon.testing
import pytest
from hub_instance import Running, new_hub
from hub_publisher import Publisher, new_publisher

from redlane_hub.app import Hub, falcon_app
from redlane_hub.conformance import SchemaChecker
from redlane_hub.errors import ForbiddenError, HubError, InvalidInputError
from redlane_hub.http.publishing import PublishingResource
from redlane_hub.services.publishing import Publishing
from redlane_hub.store.database import Database
from redlane_hub.wire.publishing import PublishForm


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


def test_one_of_a_hundred_at_once_is_published(
    running: Running, ann: Publisher, tmp_path: Path
) -> None:
    """Two hubs on one database, each with a lock of its own, as two processes are."""
    other = new_hub(tmp_path, secret=running.settings.secret)
    barrier = threading.Barrier(100)

    def race(number: int) -> int:
        through = (running, other)[number % 2]
        barrier.wait()
        answer = Publisher(through, ann.token, ann.email).publish(content=str(number))
        through.database.close()
        return answer.status_code

    with ThreadPoolExecutor(100) as pool:
        statuses = sorted(pool.map(race, range(100)))
    assert statuses == [201] + [409] * 99
    for table in ("artifacts", "contents", "downloads"):
        counted = running.database.reading().execute(f"SELECT count(*) FROM {table}")
        assert counted.fetchone()[0] == 1
    other.close()


class Gate(Database):
    """Lets something happen after all checks, just before the write begins."""

    def __init__(self, path: Path, before: Callable[[], object]) -> None:
        super().__init__(path)
        self._before = before

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        self._before()
        with super().transaction() as connection:
            yield connection


def publish_after(ann: Publisher, before: Callable[[], object]) -> None:
    hub: Hub = ann.running.hub
    account = hub._accounts.account(hub._accounts.viewer_id(ann.token) or "")
    assert account is not None
    database = Gate(ann.running.settings.database_path, before)
    service = Publishing(
        database, ann.running.clock, SchemaChecker(), ann.running.settings
    )
    try:
        service.publish(
            account, PublishForm("policy", "1", "{}", **ann.signature("{}"))
        )
    finally:
        database.close()


def take_approval_back(ann: Publisher) -> None:
    with ann.running.database.transaction() as connection:
        connection.execute("UPDATE accounts SET is_approved = 0")


RACES: dict[str, tuple[Callable[[Publisher], object], type[HubError]]] = {
    "key-revoked": (Publisher.revoke_key, InvalidInputError),
    "approval-taken-back": (take_approval_back, ForbiddenError),
}


@pytest.mark.parametrize(("act", "error"), RACES.values(), ids=RACES.keys())
def test_what_was_taken_back_before_the_write_counts(
    ann: Publisher, act: Callable[[Publisher], object], error: type[HubError]
) -> None:
    ann.register_key()
    with pytest.raises(error):
        publish_after(ann, lambda: act(ann))
    counted = ann.running.database.reading().execute("SELECT count(*) FROM artifacts")
    assert counted.fetchone()[0] == 0


def test_nothing_taken_back_is_published(ann: Publisher) -> None:
    ann.register_key()
    publish_after(ann, lambda: None)
    assert ann.publish().status_code == 409


def test_unchecked_content_is_never_published(ann: Publisher) -> None:
    running, checker = ann.running, SchemaChecker(["/bin/false"])
    service = Publishing(running.database, running.clock, checker, running.settings)
    resource = PublishingResource(service)
    app = falcon_app([resource], running.hub._accounts, running.hub.largest_body)
    broken = replace(running, client=falcon.testing.TestClient(app))
    without_checker = Publisher(broken, ann.token, ann.email)
    answer = without_checker.publish(schema={"type": "object"})
    assert (answer.status_code, answer.json) == (
        500,
        {"error": "internal server error"},
    )
    assert without_checker.publish().status_code == 201
    checker.stop()


def test_failed_write_leaves_nothing(ann: Publisher) -> None:
    with ann.running.database.transaction() as connection:
        connection.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON contents BEGIN"
            " SELECT raise(ABORT, 'no'); END"
        )
    assert ann.publish().status_code == 500
    with ann.running.database.transaction() as connection:
        connection.execute("DROP TRIGGER broken")
    assert ann.publish().status_code == 201
