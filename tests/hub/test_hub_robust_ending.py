"""SIGTERM under load: what is answered is whole, and what is done is answered."""

import fcntl
import http.client
import json
import signal
import socket
import termios
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_rounds import children, lives, until
from hub_web import read_all, statuses
from hub_witness import Member, expect, member, prepared_hub, talk_to

ARTIFACTS = "/api/v1/artifacts"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(signal.SIGKILL)


class Load:
    """Clients that publish and fetch as fast as they can until they cannot connect."""

    def __init__(self, hub: HubProcess, owner: Member, clients: int) -> None:
        self.hub, self.owner = hub, owner
        self.published: set[str] = set()
        self.fetched = 0
        self.problems: list[object] = []
        self.busy = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(number,))
            for number in range(clients)
        ]
        for each in self._threads:
            each.start()

    def join(self) -> None:
        for each in self._threads:
            each.join(30)
            assert not each.is_alive()

    def _work(self, client: int) -> None:
        count = 0
        try:
            while True:
                with talk_to(self.hub, self.owner) as talk:
                    for _ in range(5):
                        count += 1
                        name = f"art-{client}-{count}"
                        body = {"name": name, "version": "1", "content": '"x"'}
                        made = expect(talk.ask("POST", ARTIFACTS, body), 201)
                        assert made["name"] == name
                        self.published.add(name)
                        expect(talk.ask("GET", f"{ARTIFACTS}/{name}/1"), 200)
                        self.fetched += 1
                        if self.fetched > 50:
                            self.busy.set()
        except http.client.IncompleteRead as error:
            self.problems.append(error)
        except (http.client.BadStatusLine, OSError):
            # Closed or refused, without a byte of an answer.
            return
        except (AssertionError, ValueError, http.client.HTTPException) as error:
            self.problems.append(error)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_done_is_answered_and_what_is_answered_is_whole(
    hub: HubProcess, workers: str
) -> None:
    owner = member(hub, prepared_hub(hub))
    hub.start("--workers", workers)
    pids = [hub.pid, *children(hub.pid)]
    load = Load(hub, owner, 8)
    assert load.busy.wait(30), load.problems

    assert hub.stop() == 0

    load.join()
    assert load.problems == []
    until(lambda: not any(map(lives, pids)))
    hub.start()
    found = set()
    with talk_to(hub, owner) as talk:
        while True:
            path = f"{ARTIFACTS}/search?limit=100&offset={len(found)}"
            page = expect(talk.ask("GET", path), 200)
            found |= {each["name"] for each in page["results"]}
            if len(page["results"]) < 100:
                break
    assert found == load.published


def has_arrived(connection: socket.socket) -> bool:
    """Whether the other end's kernel has all that was sent; it may not be read yet."""
    return not any(fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_requests_that_were_sent_before_it_are_answered(
    hub: HubProcess, workers: str
) -> None:
    hub.start("--workers", workers)
    asked = b"GET /api/v1/artifacts/search HTTP/1.1\r\nHost: hub\r\n\r\n"
    with ExitStack() as stack:
        opened = [
            stack.enter_context(
                socket.create_connection((hub.host, hub.port), timeout=20)
            )
            for _ in range(60)
        ]
        for each in opened:
            each.sendall(asked)
        until(lambda: all(map(has_arrived, opened)))
        assert hub.stop() == 0
        answers = [read_all(each) for each in opened]
    assert [statuses(each) for each in answers] == [[200]] * 60
    for each in answers:
        _, _, body = each.partition(b"\r\n\r\n")
        assert json.loads(body) == {"results": [], "total": 0}


@pytest.mark.parametrize("workers", ["1", "2"])
def test_signal_while_it_starts_ends_it(hub: HubProcess, workers: str) -> None:
    """At every moment of a start, and the next start finds nothing half made."""
    for wait in ("hub.db.lock", "hub.db", "hub.db-wal", "hub.db.secret"):
        process = hub.launch("--workers", workers)
        path = hub.directory / wait
        until(lambda path=path: path.exists())  # type: ignore[misc]  # a late binding
        pids = [process.pid, *children(process.pid)]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in {0, -signal.SIGTERM}
        process.communicate()
        until(lambda pids=pids: not any(map(lives, pids)))  # type: ignore[misc]  # as above
        assert "Traceback" not in hub.errors
    hub.start("--workers", workers)
    assert hub.stop() == 0
