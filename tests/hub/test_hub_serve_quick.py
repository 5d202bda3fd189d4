"""What takes a moment is answered by the main loop; what would wait, by a thread."""

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hub_instance import new_hub
from hub_web import served, statuses

from redlane_hub.locks import locked
from redlane_hub.nonblocking import WouldWaitError, may_wait, never_waiting
from redlane_hub.services.pending import OwnCounts, PendingCounts, SharedCounts
from redlane_hub.store.database import Database, is_locked

CLOSED = " HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n"
KEPT = " HTTP/1.1\r\nHost: hub\r\n\r\n"


class Witness:
    """An application that remembers who asked it, and may refuse to wait."""

    def __init__(self, *, waits: bool = False) -> None:
        self.waits = waits
        self.could_wait: list[bool] = []

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.could_wait.append(may_wait())
        if self.waits and not may_wait():
            raise WouldWaitError
        body = environ["PATH_INFO"].encode()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@pytest.mark.parametrize(
    ("request_line", "by_the_loop"),
    [
        pytest.param("GET /quick", True, id="quick"),
        pytest.param("GET /quick?a=b", True, id="with a query"),
        pytest.param("GET /slow", False, id="slow"),
        pytest.param("POST /quick", False, id="another method"),
    ],
)
def test_loop_answers_what_is_quick(request_line: str, *, by_the_loop: bool) -> None:
    witness = Witness()
    with served(witness, is_quick_path="/quick".__eq__) as web:
        assert statuses(web.ask((request_line + CLOSED).encode())) == [200]
    assert witness.could_wait == [not by_the_loop]


def test_what_would_wait_is_answered_by_a_thread_that_may() -> None:
    witness = Witness(waits=True)
    with served(witness, is_quick_path="/quick".__eq__) as web:
        data = f"GET /quick{KEPT}GET /quick{CLOSED}".encode()
        answer = web.ask(data)
    assert statuses(answer) == [200, 200]
    assert answer.count(b"/quick") == 2
    # The second one came along with the first: that one never was the loop's.
    assert witness.could_wait == [False, True, True]


def test_requests_of_one_connection_are_answered_in_turn() -> None:
    witness = Witness()
    with served(witness, is_quick_path=lambda path: "quick" in path) as web:
        paths = [f"/{'quick' if number % 3 else 'slow'}{number}" for number in range(9)]
        data = "".join(f"GET {path}{KEPT}" for path in paths) + f"GET /end{CLOSED}"
        answer = web.ask(data.encode())
    places = [answer.index(path.encode()) for path in paths]
    assert places == sorted(places)
    assert statuses(answer) == [200] * 10


@pytest.mark.parametrize(
    ("path", "quick"),
    [
        ("/api/v1/artifacts/name/1.0", True),
        ("/api/v1/artifacts/name/1.0/members", False),
        ("/api/v1/artifacts/name/1.0/resolve", False),
        ("/api/v1/artifacts/search", False),
        ("/api/v1/artifacts/name/endorsements", False),
        ("/api/v1/artifacts/name/", False),
        ("/api/v1/artifacts//1.0", False),
        ("/", False),
    ],
)
def test_only_a_fetch_is_quick(tmp_path: Path, path: str, *, quick: bool) -> None:
    running = new_hub(tmp_path)
    assert running.hub.quick_paths.has(path) is quick
    running.close()


def test_fetch_from_a_locked_database_is_left_to_a_thread_that_may_wait(
    tmp_path: Path,
) -> None:
    running = new_hub(tmp_path)
    running.database.close()
    path = running.database.path
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with never_waiting(), pytest.raises(WouldWaitError):
            running.client.simulate_get("/api/v1/artifacts/none/1.0")
    found = running.client.simulate_get("/api/v1/artifacts/none/1.0")
    assert found.status_code == 404
    running.close()


def test_lock_of_the_database_is_not_waited_for_where_nobody_may(
    tmp_path: Path,
) -> None:
    path = tmp_path / "hub.db"
    sqlite3.connect(path).close()
    database = Database(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        with never_waiting():
            database.reading()
            with pytest.raises(WouldWaitError), database.transaction():
                pass
        database.close()
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with never_waiting(), pytest.raises(sqlite3.OperationalError) as raised:
            database.reading()
    assert is_locked(raised.value)


@pytest.mark.parametrize("made", [OwnCounts, SharedCounts])
def test_counts_are_not_waited_for_where_nobody_may(
    made: type[PendingCounts],
) -> None:
    counts = made()
    taken, done = threading.Event(), threading.Event()

    def write() -> None:
        with counts.locked():
            taken.set()
            done.wait(10)

    writer = threading.Thread(target=write)
    writer.start()
    assert taken.wait(10)
    with never_waiting(), pytest.raises(WouldWaitError), counts.locked():
        pass
    done.set()
    writer.join(10)
    with never_waiting(), counts.locked():
        assert counts.every() == {}


def test_lock_of_another_process_is_not_waited_for_where_nobody_may() -> None:
    descriptor = os.memfd_create("lock")
    has, ends = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        with locked(descriptor):
            os.write(has[1], b"x")
            os.read(ends[0], 1)
        os._exit(0)
    os.read(has[0], 1)
    with never_waiting(), pytest.raises(WouldWaitError), locked(descriptor):
        pass
    os.write(ends[1], b"x")
    assert os.waitpid(pid, 0)[1] == 0
    with never_waiting(), locked(descriptor):
        pass
    for each in (descriptor, *has, *ends):
        os.close(each)
