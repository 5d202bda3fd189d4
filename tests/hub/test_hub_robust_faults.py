"""Disks that are full, databases that are locked, gone, replaced or damaged.

Every answer is a clean one, nothing is half written, reads go on where they can, and
the service resumes by itself when the trouble ends.
"""

import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hub_process import HUB, HubProcess
from hub_rounds import until
from hub_witness import Member, Talk, expect, member, prepared_hub, talk_to
from spec.hub_client import Answer

from redlane_hub.services.inspection import inspect

ARTIFACTS = "/api/v1/artifacts"
INTERNAL = b'{"error": "internal server error"}'


def body_of(name: str) -> dict[str, Any]:
    return {"name": name, "version": "1", "content": f'"{name}"', "tags": ["all"]}


@dataclass
class Shop:
    """A hub with an account that publishes."""

    hub: HubProcess
    owner: Member
    names: list[str] = field(default_factory=list)

    def talk(self) -> Talk:
        return talk_to(self.hub, self.owner)

    def push(self, name: str, **fields: Any) -> Answer:
        with self.talk() as talk:
            return talk.ask("POST", ARTIFACTS, body_of(name) | fields)

    def publish(self, name: str, **fields: Any) -> None:
        expect(self.push(name, **fields), 201)
        self.names.append(name)

    def fetch(self, name: str) -> Answer:
        with self.talk() as talk:
            return talk.ask("GET", f"{ARTIFACTS}/{name}/1")

    def listed(self) -> list[str]:
        with self.talk() as talk:
            found = expect(talk.ask("GET", f"{ARTIFACTS}/search?limit=100"), 200)
        assert found["total"] == len(found["results"])
        return [each["name"] for each in found["results"]][::-1]

    def check(self) -> None:
        """All that was published is there, nothing else, and nothing is damaged."""
        self.check_contents()
        assert inspect(self.hub.database, lambda *_: None).problems == []

    def check_contents(self) -> None:
        """All that was published is there, and nothing else."""
        assert self.listed() == self.names
        for name in self.names:
            assert expect(self.fetch(name), 200)["content"] == name

    def check_trouble(self, *told: str) -> None:
        """Nothing can be written, and nobody is told why but the operator."""
        before = len(self.hub.errors)
        for number in range(8):
            refused = self.push(f"refused-{number}")
            assert (refused.status, refused.body) == (500, INTERNAL)
        with self.talk() as talk:
            assert talk.ask("GET", "/health").status == 200
        self.check_reads()
        lines = [json.loads(line) for line in self.hub.errors[before:].splitlines()]
        failures = [each for each in lines if each["level"] == "error"]
        assert len(failures) >= 8
        assert all(each["message"] == "A request failed." for each in failures)
        assert all(any(t in each["traceback"] for t in told) for each in failures)

    def check_reads(self) -> None:
        """Who has read before reads on; who has not may be refused, cleanly."""
        answers = [self.fetch(name) for name in self.names * 8]
        refused = [each for each in answers if each.status == 500]
        assert {each.status for each in answers} <= {200, 500}
        assert all(each.body == INTERNAL for each in refused)
        assert len(refused) < len(answers)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    hub = HubProcess(tmp_path)
    owner = member(hub, prepared_hub(hub))
    hub.start()
    made = Shop(hub, owner)
    for number in range(5):
        made.publish(f"before-{number}")
    # Each thread has a connection of its own from its first read on.
    made.check_reads()
    yield made
    hub.stop(signal.SIGKILL)


def log_of(shop: Shop) -> Path:
    return shop.hub.database.with_name("hub.db-wal")


def test_full_disk_refuses_writes_until_there_is_room(shop: Shop) -> None:
    pid = shop.hub.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log_of(shop).stat().st_size, hard))

    shop.check_trouble("full", "disk I/O error")

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
    shop.publish("after")
    shop.check()


def test_downloads_of_a_full_disk_are_counted_when_there_is_room(shop: Shop) -> None:
    shop.publish("counted")
    pid = shop.hub.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log_of(shop).stat().st_size, hard))

    counts = [expect(shop.fetch("counted"), 200)["downloads"] for _ in range(5)]
    until(lambda: "stay pending" in shop.hub.errors)
    counts += [expect(shop.fetch("counted"), 200)["downloads"] for _ in range(5)]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
    assert shop.hub.stop() == 0
    shop.hub.start()

    assert counts == list(range(1, 11))
    assert expect(shop.fetch("counted"), 200)["downloads"] == 11


@pytest.fixture
def holder(shop: Shop) -> Iterator[sqlite3.Connection]:
    """Another process's connection that can hold the database."""
    opened = sqlite3.connect(shop.hub.database, isolation_level=None)
    with closing(opened) as connection:
        yield connection


@contextlib.contextmanager
def writers(shop: Shop, count: int) -> Iterator[list[Talk]]:
    """So many who have sent what they publish, and do not look for the answer yet."""
    with contextlib.ExitStack() as stack:
        talks = [stack.enter_context(shop.talk()) for _ in range(count)]
        for number, each in enumerate(talks):
            each.send("POST", ARTIFACTS, body_of(f"during-{number}"))
        yield talks


def test_short_locks_are_waited_for(shop: Shop, holder: sqlite3.Connection) -> None:
    holder.execute("BEGIN EXCLUSIVE")
    with writers(shop, 4) as waiting:
        # Whoever reads does not wait.
        for _ in range(10):
            assert shop.listed() == shop.names
        assert not any(each.is_answered for each in waiting)
        holder.execute("COMMIT")
        assert [each.answer().status for each in waiting] == [201] * 4


def test_long_locks_refuse_writes_and_stop_no_reads(
    shop: Shop, holder: sqlite3.Connection
) -> None:
    holder.execute("BEGIN EXCLUSIVE")
    with writers(shop, 24) as waiting:
        reads = 0
        while not all(each.is_answered for each in waiting):
            assert shop.listed() == shop.names
            reads += 1
        answers = [each.answer() for each in waiting]
    holder.execute("COMMIT")

    # Those who found too many waiting, and those who waited in vain.
    assert {each.status for each in answers} == {429}
    assert all(each.header("Retry-After") for each in answers)
    # One that had waited for them all would have been the last.
    assert reads >= 5
    shop.publish("after")
    shop.check()


def test_database_that_is_moved_away_is_missed_until_it_is_back(shop: Shop) -> None:
    away = shop.hub.database.with_name("away")
    shop.hub.database.rename(away)

    shop.check_trouble("the database file is gone")

    assert not shop.hub.database.exists()
    away.rename(shop.hub.database)
    shop.publish("after")
    shop.check()


def test_deleted_database_takes_no_writes_that_would_be_lost(shop: Shop) -> None:
    shop.hub.database.unlink()

    shop.check_trouble("the database file is gone")

    assert shop.hub.stop() == 0


def copied(shop: Shop) -> Path:
    """A copy of the database as it is."""
    copy = shop.hub.database.with_name("copy")
    with (
        closing(sqlite3.connect(shop.hub.database)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
    return copy


def test_another_database_in_its_place_is_served(shop: Shop) -> None:
    copy = copied(shop)
    shop.publish("after-copy")
    aside = shop.hub.directory / "aside"
    aside.mkdir()
    for path in shop.hub.directory.glob("hub.db*"):
        if path.name in {"hub.db", "hub.db-wal", "hub.db-shm"}:
            path.rename(aside / path.name)
    copy.rename(shop.hub.database)
    shop.names.remove("after-copy")

    shop.publish("after")
    for _ in range(20):
        shop.check()

    assert shop.hub.stop() == 0
    assert inspect(shop.hub.database, lambda *_: None).problems == []
    found = inspect(aside / "hub.db", lambda *_: None)
    assert (found.problems, found.counts["artifacts"]) == ([], 6)


def test_another_database_beside_the_old_log_is_not_mixed_with_it(shop: Shop) -> None:
    copied(shop).replace(shop.hub.database)
    before = shop.hub.database.read_bytes()

    shop.check_trouble("beside the log (-wal) of another one")

    shop.hub.stop()
    assert shop.hub.database.read_bytes() == before


def test_removed_log_costs_nothing_that_was_acknowledged(shop: Shop) -> None:
    log_of(shop).unlink()

    shop.check_trouble("restart the hub")

    assert shop.hub.stop() == 0
    shop.hub.start()
    shop.publish("after")
    shop.check()


def test_damaged_page_fails_what_needs_it_and_nothing_else(shop: Shop) -> None:
    shop.publish("large", content=json.dumps("large" * 2000))
    shop.names.pop()
    assert shop.hub.stop() == 0
    data = bytearray(shop.hub.database.read_bytes())
    place = data.index(b'"before-2"') // 4096 * 4096
    data[place : place + 4096] = os.urandom(4096)
    shop.hub.database.write_bytes(data)
    shop.hub.start()

    answers = [shop.fetch(name) for name in shop.names]

    assert all(each.body == INTERNAL for each in answers if each.status == 500)
    assert 500 in {each.status for each in answers}
    # What is searched stands elsewhere.
    with shop.talk() as talk:
        assert talk.ask("GET", f"{ARTIFACTS}/search").status == 200
        assert talk.ask("GET", "/api/v1/me").status == 200
        assert talk.ask("GET", "/health").status == 200
    for line in shop.hub.errors.splitlines():
        json.loads(line)
    done = shop.hub.command("restore", "--check", str(shop.hub.database))
    assert done.returncode == 1
    assert done.stdout.startswith("problem: ")


@contextlib.contextmanager
def immutable(path: Path) -> Iterator[None]:
    """A file that not even root can write to, nor who has it open."""
    done = subprocess.run(["chattr", "+i", path], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"no file can be made immutable here: {done.stderr!r}")
    try:
        yield
    finally:
        subprocess.run(["chattr", "-i", path], check=True)


@pytest.mark.root
def test_log_that_cannot_be_written_to_stops_no_reads(shop: Shop) -> None:
    with immutable(log_of(shop)):
        shop.check_trouble("disk I/O error", "readonly")

    shop.publish("after")
    shop.check()


@contextlib.contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """A file that who opens it now can only read."""
    if os.geteuid() == 0:
        with immutable(path):
            yield
        return
    path.chmod(0o400)
    yield
    path.chmod(0o600)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_read_only_database_is_refused_in_one_line(shop: Shop, workers: str) -> None:
    assert shop.hub.stop() == 0
    before = len(shop.hub.errors)
    with unwritable(shop.hub.database):
        process = shop.hub.launch("--workers", workers)
        assert process.wait(20) == 1
        process.communicate()

    (line,) = shop.hub.errors[before:].splitlines()
    assert line.startswith(f"redlane-hub: {shop.hub.database}: ")
    shop.hub.start("--workers", workers)
    shop.publish("after")
    shop.check()


def fill(path: Path) -> None:
    """Take all the room that there is, to the last page."""
    with path.open("wb", buffering=0) as full, contextlib.suppress(OSError):
        while True:
            full.write(bytes(4096))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
@pytest.mark.root
def test_full_file_system_refuses_writes_until_there_is_room(tmp_path: Path) -> None:
    """In a mount namespace of its own, which ends with the hub."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    hub = HubProcess(tmp_path)
    made = prepared_hub(hub)
    owner = member(hub, made)
    script = 'mount -t tmpfs -o size=2m none "$0" && cp "$1" "$0" && shift && exec "$@"'
    within = ("unshare", "--mount", "sh", "-c", script)
    hub.prefix = (*within, str(mounted), str(hub.database))
    hub.database = mounted / "hub.db"
    hub.start()
    hub.database = Path(f"/proc/{hub.pid}/root{mounted}/hub.db")
    try:
        shop = Shop(hub, owner)
        shop.publish("before")
        filling = hub.database.with_name("filling")
        fill(filling)

        shop.check_trouble("database or disk is full", "disk I/O error")

        filling.unlink()
        shop.publish("after")
        shop.check_contents()
        enter = ("nsenter", "--target", str(hub.pid), "--mount")
        check = (str(HUB), "restore", "--check", str(mounted / "hub.db"))
        assert subprocess.run([*enter, *check], check=False).returncode == 0
    finally:
        hub.stop(signal.SIGKILL)
