"""Two hubs on one database, and workers of one hub, keep the same rules."""

import base64
import http.client
import itertools
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_witness import Member, Publisher, Talk, expect, member, prepared_hub, talk_to
from nacl.signing import SigningKey
from spec.hub_client import Answer, unique

from redlane_hub.security.tokens import Tokens

ARTIFACTS = "/api/v1/artifacts"
KEYS = "/api/v1/me/signing-keys"


class Pair:
    """Two hubs that serve one database."""

    def __init__(self, directory: Path) -> None:
        self.hubs = [HubProcess(directory), HubProcess(directory)]
        self.tokens: Tokens = prepared_hub(self.hubs[0])
        self.hubs[1].settings = self.hubs[0].settings

    def start(self) -> None:
        for each in self.hubs:
            each.start()

    def stop(self) -> None:
        assert [each.stop() for each in self.hubs] == [0, 0]

    def member(self) -> Member:
        return member(self.hubs[0], self.tokens)

    def at_once(self, count: int, ask: Callable[[Talk, int], Answer]) -> list[Answer]:
        """Ask both, alternately, many at once."""
        owner = self.member()

        def one(number: int) -> Answer:
            with talk_to(self.hubs[number % 2], owner) as talk:
                return ask(talk, number)

        with ThreadPoolExecutor(16) as pool:
            return list(pool.map(one, range(count)))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    made = Pair(tmp_path_factory.mktemp("pair"))
    made.start()
    yield made
    for each in made.hubs:
        each.stop(signal.SIGKILL)


def test_100_publishes_of_one_version_make_one(pair: Pair) -> None:
    body = {"name": unique("race"), "version": "1"}

    answers = pair.at_once(
        100, lambda talk, n: talk.ask("POST", ARTIFACTS, body | {"content": str(n)})
    )

    statuses = [each.status for each in answers]
    assert sorted(statuses) == [201] + [409] * 99
    for hub in pair.hubs:
        with talk_to(hub) as talk:
            found = expect(talk.ask("GET", f"{ARTIFACTS}/{body['name']}/1"), 200)
        assert found["content"] == statuses.index(201)


def test_one_key_is_registered_once(pair: Pair) -> None:
    public = base64.b64encode(bytes(SigningKey.generate().verify_key)).decode()

    answers = pair.at_once(
        30, lambda talk, _: talk.ask("POST", KEYS, {"public_key": public})
    )

    assert sorted(each.status for each in answers) == [201] + [409] * 29


def test_one_address_is_registered_once(pair: Pair) -> None:
    body = {"email": f"{unique('race')}@example.com", "password": "12345678"}

    answers = pair.at_once(
        16, lambda talk, _: talk.ask("POST", "/api/v1/register", body)
    )

    statuses = [each.status for each in answers]
    assert statuses.count(201) == 1
    # What is too much to hash at once is turned away.
    assert set(statuses) <= {201, 409, 429}


def test_revocation_holds_at_once_in_the_other(pair: Pair) -> None:
    for _ in range(10):
        signer = Publisher(pair.member())
        with (
            talk_to(pair.hubs[0], signer.member) as here,
            talk_to(pair.hubs[1], signer.member) as there,
        ):
            made = expect(here.ask("POST", KEYS, signer.public_key), 201)
            signer.fingerprint = made["fingerprint"]
            body = {"name": unique("signed"), "version": "1", "content": "{}"}
            body |= signer.signed("{}")
            expect(there.ask("POST", ARTIFACTS, body), 201)
            path = f"{ARTIFACTS}/{body['name']}/1"
            assert expect(there.ask("GET", path), 200)["signature_valid"] is True

            expect(here.ask("DELETE", f"{KEYS}/{signer.fingerprint}"), 204)

            assert expect(there.ask("GET", path), 200)["signature_valid"] is False
            again = there.ask("POST", ARTIFACTS, body | {"version": "2"})
            assert again.status == 400


def test_yanks_and_endorsements_are_seen_by_the_other(pair: Pair) -> None:
    owner = pair.member()
    with (
        talk_to(pair.hubs[0], owner) as here,
        talk_to(pair.hubs[1], owner) as there,
    ):
        body = {"name": unique("yanked"), "version": "1", "content": "{}"}
        made = expect(here.ask("POST", ARTIFACTS, body), 201)
        path = f"{ARTIFACTS}/{made['id']}"
        for _ in range(10):
            expect(here.ask("POST", f"{path}/yank", {"reason": "why"}), 204)
            found = expect(there.ask("GET", f"{ARTIFACTS}/{made['name']}/1"), 200)
            assert (found["yanked"], found["yanked_reason"]) == (True, "why")
            listed = expect(there.ask("GET", f"{ARTIFACTS}/search?q=yanked"), 200)
            assert listed["results"] == []
            expect(there.ask("DELETE", f"{path}/yank"), 204)
            listed = expect(here.ask("GET", f"{ARTIFACTS}/search?q=yanked"), 200)
            assert [each["name"] for each in listed["results"]] == [made["name"]]
            given = expect(here.ask("POST", f"{path}/endorsements", {}), 201)
            assert there.ask("POST", f"{path}/endorsements", {}).status == 409
            assert expect(there.ask("GET", f"{path}/endorsements"), 200) == [given]
            expect(there.ask("DELETE", f"{path}/endorsements/{given['id']}"), 204)
            assert expect(here.ask("GET", f"{path}/endorsements"), 200) == []


def test_downloads_of_both_are_summed_up(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.start()
    owner = pair.member()
    with talk_to(pair.hubs[0], owner) as talk:
        body = {"name": "counted", "version": "1", "content": "{}"}
        expect(talk.ask("POST", ARTIFACTS, body), 201)
    path = f"{ARTIFACTS}/counted/1"

    answers = pair.at_once(200, lambda talk, _: talk.ask("GET", path))
    assert {each.status for each in answers} == {200}
    pair.stop()

    pair.hubs[0].start()
    with talk_to(pair.hubs[0]) as talk:
        assert expect(talk.ask("GET", path), 200)["downloads"] == 201
    assert pair.hubs[0].stop() == 0


def test_rate_limit_of_workers_is_one(tmp_path: Path) -> None:
    hub = HubProcess(tmp_path)
    hub.start("--workers", "2")
    began = time.monotonic()
    source = {"X-Forwarded-For": "10.1.1.1"}

    def ask(_: int) -> list[int]:
        """Until one is refused; a few on each connection, so that both workers take."""
        statuses: list[int] = []
        while 429 not in statuses:
            connection = http.client.HTTPConnection(hub.host, hub.port, timeout=30)
            for _ in range(20):
                connection.request("GET", "/health", headers=source)
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
            connection.close()
        return statuses

    with ThreadPoolExecutor(4) as pool:
        statuses = list(itertools.chain.from_iterable(pool.map(ask, range(4))))
    seconds = time.monotonic() - began
    hub.stop()

    assert set(statuses) == {200, 429}
    assert 1000 <= statuses.count(200) <= 1000 + 17 * seconds + 1
