"""A hub of several processes keeps the same rules (hub API: all of it)."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hub_process import HubProcess
from spec.hub_client import JSON, Account, HubClient, address, client_of, unique
from spec.hub_signing import Signer

ARTIFACTS = "/api/v1/artifacts"
ROUNDS = 12
"""How often a thing is asked, so that each process answers some of them."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("many"))
    try:
        hub.start("--workers", "2")
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def client(many: HubProcess) -> HubClient:
    return client_of(many)


@pytest.fixture(scope="module")
def publisher(many: HubProcess, client: HubClient) -> Account:
    account = client.register()
    many.approve(account.email)
    return account


def test_token_is_good_in_every_process(client: HubClient) -> None:
    account = client.register()

    statuses = [account.http.get("/api/v1/me").status for _ in range(ROUNDS)]

    assert statuses == [200] * ROUNDS


@pytest.mark.parametrize(
    ("path", "count"), [("/api/v1/login", 10), ("/api/v1/register", 5)]
)
def test_rate_limit_is_of_all_processes_together(
    client: HubClient, path: str, count: int
) -> None:
    source = client.coming_from(address())

    statuses = [source.send("POST", path, b"{", JSON).status for _ in range(3 * count)]

    assert statuses.count(400) == count


def test_each_fetch_counts_itself_whichever_process_answers(
    client: HubClient, publisher: Account
) -> None:
    path = f"{ARTIFACTS}/{publisher.publish()['name']}/1"

    counts = [client.get(path).json["downloads"] for _ in range(ROUNDS)]

    assert counts == list(range(1, ROUNDS + 1))


def test_fetches_at_once_are_all_counted_at_once(
    client: HubClient, publisher: Account
) -> None:
    path = f"{ARTIFACTS}/{publisher.publish()['name']}/1"

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.get(path), range(40)))

    assert client.get(path).json["downloads"] == 41


def test_no_download_is_lost(client: HubClient, publisher: Account) -> None:
    name = publisher.publish()["name"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client.get(f"{ARTIFACTS}/{name}/1"), range(40)))

    # The search does not count, and shows what the processes have told each other.
    deadline = time.monotonic() + 20
    counted = 0
    while counted != 40 and time.monotonic() < deadline:
        [row] = client.get(f"{ARTIFACTS}/search", q=name).json["results"]
        counted = row["downloads"]

    assert counted == 40


def test_revoked_key_is_invalid_in_every_process(
    client: HubClient, publisher: Account
) -> None:
    signer = Signer.of(publisher)
    path = f"{ARTIFACTS}/{publisher.publish(**signer.sign('{}'))['name']}/1"

    def valid() -> set[bool]:
        return {client.get(path).json["signature_valid"] for _ in range(ROUNDS)}

    assert valid() == {True}
    publisher.http.delete(f"/api/v1/me/signing-keys/{signer.fingerprint}")
    assert valid() == {False}


def test_yank_is_seen_by_every_process(client: HubClient, publisher: Account) -> None:
    made = publisher.publish()
    path = f"{ARTIFACTS}/{made['name']}/1"
    search = f"{ARTIFACTS}/search"

    def seen() -> list[tuple[bool, int, int]]:
        answers = []
        for _ in range(ROUNDS):
            found = client.get(search, q=made["name"]).json
            yanked = client.get(path).json["yanked"]
            answers.append((yanked, len(found["results"]), found["total"]))
        return answers

    before = seen()
    publisher.http.post(f"{path.rsplit('/', 2)[0]}/{made['id']}/yank", {})
    after = seen()

    total = before[0][2]
    assert before == [(False, 1, total)] * ROUNDS
    assert after == [(True, 0, total - 1)] * ROUNDS


def test_published_artifact_is_in_every_process(
    client: HubClient, publisher: Account
) -> None:
    for _ in range(ROUNDS):
        name = publisher.publish()["name"]
        assert client.get(f"{ARTIFACTS}/{name}/1").status == 200
        assert client.get(f"{ARTIFACTS}/search").json["results"][0]["name"] == name


def test_newest_comes_first_whoever_published_it(
    client: HubClient, publisher: Account
) -> None:
    stem = unique("ordered")
    names = [publisher.publish(f"{stem}-{n}")["name"] for n in range(ROUNDS)]

    rows = client.get(f"{ARTIFACTS}/search", q=stem).json["results"]

    assert [row["name"] for row in rows] == names[::-1]


def test_publishes_of_one_version_at_once_make_one(publisher: Account) -> None:
    name = unique("race")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: publisher.push(name), range(40)))

    assert sorted(answer.status for answer in answers) == [201] + [409] * 39


def test_changed_address_is_the_owner_in_every_process(
    many: HubProcess, client: HubClient
) -> None:
    account = client.register()
    many.approve(account.email)
    path = f"{ARTIFACTS}/{account.publish()['name']}/1"
    assert {client.get(path).json["owner"] for _ in range(ROUNDS)} == {account.email}
    email = f"{unique('moved')}@example.com"

    account.http.patch("/api/v1/me/email", {"email": email})

    assert {client.get(path).json["owner"] for _ in range(ROUNDS)} == {email}


def test_downloads_are_kept_over_a_restart(many: HubProcess, client: HubClient) -> None:
    account = client.register()
    many.approve(account.email)
    path = f"{ARTIFACTS}/{account.publish()['name']}/1"
    for _ in range(ROUNDS):
        client.get(path)
    port = many.port
    assert many.stop() == 0

    many.start("--workers", "2", listen=f"127.0.0.1:{port}")

    assert client.get(path).json["downloads"] == ROUNDS + 1
