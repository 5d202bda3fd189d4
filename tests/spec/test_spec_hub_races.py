"""What many ask for at once, one gets (hub API: uniqueness)."""

from concurrent.futures import ThreadPoolExecutor

from nacl.signing import SigningKey
from spec.hub_client import Account, HubClient, unique
from spec.hub_signing import text64

ARTIFACTS = "/api/v1/artifacts"


def test_100_publishes_of_one_version_make_one(author: Account) -> None:
    name = unique("race")

    with ThreadPoolExecutor(16) as pool:
        answers = list(
            pool.map(lambda n: author.push(name, content=str(n)), range(100))
        )

    statuses = [answer.status for answer in answers]
    assert sorted(statuses) == [201] + [409] * 99
    won = author.http.get(f"{ARTIFACTS}/{name}/1").json
    assert won["content"] == statuses.index(201)
    assert won["id"] == answers[statuses.index(201)].json["id"]


def test_20_registrations_of_one_address_make_one(anyone: HubClient) -> None:
    body = {"email": f"{unique('race')}@example.com", "password": "12345678"}

    with ThreadPoolExecutor(20) as pool:
        answers = list(
            pool.map(lambda _: anyone.post("/api/v1/register", body), range(20))
        )

    statuses = [answer.status for answer in answers]
    assert statuses.count(201) == 1
    # What is too much to hash at once is turned away, as the rate limiter does it.
    assert set(statuses) <= {201, 409, 429}
    refused = [answer for answer in answers if answer.status == 429]
    assert not [answer for answer in refused if answer.header("Content-Type")]
    assert all(answer.header("Retry-After") for answer in refused)


def test_20_endorsements_of_one_account_make_one(
    author: Account, rival: Account, anyone: HubClient
) -> None:
    path = f"{ARTIFACTS}/{author.publish()['id']}/endorsements"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rival.http.post(path, {}), range(20)))

    assert sorted(answer.status for answer in answers) == [201] + [409] * 19
    assert len(anyone.get(path).json) == 1


def test_downloads_at_once_are_all_counted(author: Account, anyone: HubClient) -> None:
    path = f"{ARTIFACTS}/{author.publish()['name']}/1"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: anyone.get(path), range(60)))

    counts = [answer.json["downloads"] for answer in answers]
    assert sorted(counts) == list(range(1, 61))


def test_of_accounts_that_take_one_address_at_once_one_gets_it(
    anyone: HubClient,
) -> None:
    accounts = [anyone.register() for _ in range(4)]
    body = {"email": f"{unique('wanted')}@example.com"}

    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(lambda each: each.http.patch("/api/v1/me/email", body), accounts)
        )

    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409]


def test_of_accounts_that_register_one_key_at_once_one_gets_it(
    anyone: HubClient,
) -> None:
    accounts = [anyone.register() for _ in range(4)]
    body = {"public_key": text64(bytes(SigningKey.generate().verify_key))}
    path = "/api/v1/me/signing-keys"

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda each: each.http.post(path, body), accounts))

    assert sorted(answer.status for answer in answers) == [201, 409, 409, 409]
