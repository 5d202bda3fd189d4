"""Reading an artifact: who may, every field, and the counter (hub API: Artifact)."""

from decimal import Decimal
from json import loads
from typing import Any

import pytest
from spec.hub_client import TIMESTAMP, Account, Answer, HubClient, unique
from spec.hub_signing import Signer, content_hash

ARTIFACTS = "/api/v1/artifacts"
FIELDS = {
    "id",
    "name",
    "version",
    "description",
    "owner",
    "owner_is_endorsed",
    "tags",
    "downloads",
    "visibility",
    "created_at",
    "content",
    "content_hash",
    "content_schema",
    "signed",
    "key_fingerprint",
    "signature_valid",
    "artifact_type",
    "yanked",
    "yanked_reason",
    "dependencies",
}


def fetch(client: HubClient, made: dict[str, Any]) -> Answer:
    return client.get(f"{ARTIFACTS}/{made['name']}/{made['version']}")


def test_artifact_has_its_fields(anyone: HubClient, author: Account) -> None:
    made = author.publish(content='{"a": [1, null]}')

    answer = fetch(anyone, made)

    assert answer.status == 200
    assert answer.json.keys() == FIELDS
    assert answer.json == made | {
        "owner_is_endorsed": False,
        "downloads": 1,
        "content": {"a": [1, None]},
        "signature_valid": None,
        "yanked": False,
        "yanked_reason": None,
    }


def test_artifact_comes_back_as_it_was_published(
    anyone: HubClient, author: Account
) -> None:
    edge = {"name": author.publish()["name"], "version": "1", "required": False}
    content = '{"größe": "😀"}'
    sent = {
        "description": 'with "quotes", \\ and \u2028 lines\n',
        "tags": ["ä", '"quoted"', "</script>"],
        "artifact_type": "set",
        "dependencies": [edge],
    }
    schema = {"type": "object", "title": "größe"}
    signed = Signer.of(author).sign(content)
    made = author.publish(content=content, schema=schema, **sent, **signed)

    body = fetch(anyone, made).json

    assert {key: body[key] for key in sent} == sent
    assert (body["content"], body["content_schema"]) == (loads(content), schema)
    assert body["content_hash"] == content_hash(content)
    assert body["key_fingerprint"] == signed["key_fingerprint"]
    assert (body["signed"], body["signature_valid"]) == (True, True)
    assert TIMESTAMP.fullmatch(body["created_at"])


def test_numbers_keep_all_their_digits(anyone: HubClient, author: Account) -> None:
    numbers = "[123456789012345678901234567890.125, 0.1, 1e-400, 9007199254740993]"
    made = author.publish(content=numbers)

    body = loads(fetch(anyone, made).body, parse_float=Decimal)

    assert body["content"] == loads(numbers, parse_float=Decimal)


@pytest.mark.parametrize("version", ["1.0+b.1", "1.0%2Bb.1", "1%2E0+b.1"])
def test_version_may_be_percent_encoded(
    anyone: HubClient, author: Account, version: str
) -> None:
    name = author.publish(version="1.0+b.1")["name"]

    assert anyone.get(f"{ARTIFACTS}/{name}/{version}").json["version"] == "1.0+b.1"


MISSING = {
    "name": "there-is-none/1",
    "version": "{name}/2",
    "part-of-the-version": "{name}/1.",
    "other-case": "{NAME}/1",
    "like-pattern": "{stem}%25/1",
    "like-underscore": "_{rest}/1",
    "impossible-name": "-/1",
    "long": "x" * 2000 + "/1",
    "invalid-utf-8": "{name}%FF/1",
}


@pytest.mark.parametrize("kind", MISSING)
def test_nonexistent_artifact_is_404(
    anyone: HubClient, author: Account, kind: str
) -> None:
    name = author.publish()["name"]
    path = MISSING[kind].format(
        name=name, NAME=name.upper(), stem=name[:-1], rest=name[1:]
    )

    answer = anyone.get(f"{ARTIFACTS}/{path}")

    assert answer.status == 404
    assert answer.error


HIDDEN = pytest.mark.parametrize("visibility", ["private", "draft"])


@HIDDEN
def test_owner_reads_what_is_hidden(author: Account, visibility: str) -> None:
    made = author.publish(visibility=visibility)

    answer = fetch(author.http, made)

    assert (answer.status, answer.json["visibility"]) == (200, visibility)


@HIDDEN
@pytest.mark.parametrize("caller", ["anonymous", "other", "wrong-token"])
def test_hidden_artifact_is_as_a_nonexistent_one(
    anyone: HubClient, author: Account, rival: Account, visibility: str, caller: str
) -> None:
    client = {
        "anonymous": anyone,
        "other": rival.http,
        "wrong-token": anyone.signed_in("nonsense"),
    }[caller]
    made = {"name": unique("hidden"), "version": "1"}

    before = fetch(client, made)
    author.publish(made["name"], visibility=visibility)
    after = fetch(client, made)

    assert (before.status, after.status) == (404, 404)
    assert after.body == before.body
    assert without_date(after) == without_date(before)


def without_date(answer: Answer) -> list[tuple[str, str]]:
    """The headers that could give something away."""
    changing = {"date", "x-request-id"}
    return [each for each in answer.headers if each[0].lower() not in changing]


@HIDDEN
def test_refused_fetch_counts_no_download(
    anyone: HubClient, author: Account, rival: Account, visibility: str
) -> None:
    made = author.publish(visibility=visibility)
    for client in (anyone, rival.http, anyone):
        fetch(client, made)

    assert fetch(author.http, made).json["downloads"] == 1


def test_each_fetch_counts_itself(
    anyone: HubClient, author: Account, rival: Account
) -> None:
    made = author.publish()

    clients = [anyone, author.http, rival.http, anyone]
    counts = [fetch(client, made).json["downloads"] for client in clients]

    assert counts == [1, 2, 3, 4]


def test_downloads_of_versions_are_counted_apart(
    anyone: HubClient, author: Account
) -> None:
    first = author.publish(version="1")
    second = author.publish(first["name"], version="2")
    fetch(anyone, first)

    assert fetch(anyone, second).json["downloads"] == 1
    assert fetch(anyone, first).json["downloads"] == 2


def test_only_a_fetch_counts(anyone: HubClient, author: Account) -> None:
    edge = {"name": author.publish()["name"], "version": "1"}
    made = author.publish(artifact_type="set", dependencies=[edge])
    path = f"{ARTIFACTS}/{made['name']}/1"
    for each in (f"{path}/members", f"{path}/resolve"):
        assert anyone.get(each).status == 200
    anyone.get(f"{ARTIFACTS}/search", q=made["name"])
    anyone.get(f"{ARTIFACTS}/{made['id']}/endorsements")

    assert fetch(anyone, made).json["downloads"] == 1


def test_owner_is_the_accounts_address_today(hub: Any, anyone: HubClient) -> None:
    account = anyone.register()
    hub.approve(account.email)
    made = account.publish()
    email = f"{unique('moved')}@example.com"

    account.http.patch("/api/v1/me/email", {"email": email})

    assert fetch(anyone, made).json["owner"] == email
    [found] = anyone.get(f"{ARTIFACTS}/search", q=made["name"]).json["results"]
    assert found["owner"] == email
    # The old token carries the old address, and nobody trusts it.
    assert account.publish()["owner"] == email


def test_owner_who_is_a_recognised_publisher_is_shown_as_one(
    hub: Any, anyone: HubClient
) -> None:
    account = anyone.register()
    hub.approve(account.email)
    made = account.publish()
    shown = [fetch(anyone, made).json["owner_is_endorsed"]]

    for more in ([], ["--revoke"]):
        hub.command("recognise", account.email, *more)
        shown.append(fetch(anyone, made).json["owner_is_endorsed"])
        [found] = anyone.get(f"{ARTIFACTS}/search", q=made["name"]).json["results"]
        assert found["owner_is_endorsed"] == shown[-1]

    assert shown == [False, True, False]


WORDS = ["yank", "endorsements", "search", "members", "resolve"]


@pytest.mark.parametrize("name", [*WORDS, "artifacts"])
@pytest.mark.parametrize("version", WORDS)
def test_names_and_versions_may_be_words_of_the_routes(
    anyone: HubClient, author: Account, name: str, version: str
) -> None:
    member = {"name": author.publish()["name"], "version": "1"}
    made = author.publish(
        name, version=version, artifact_type="set", dependencies=[member]
    )
    path = f"{ARTIFACTS}/{name}/{version}"

    if version != "endorsements":
        # That path asks for the endorsements of an artifact's id, which a name is not.
        assert anyone.get(path).json["id"] == made["id"]
    assert anyone.get(f"{path}/members").json["set_version"] == version
    assert anyone.get(f"{path}/resolve").json["root"] == f"{name}@{version}"


@pytest.mark.parametrize("version", ["yank", "endorsements"])
def test_name_may_look_like_an_id(
    anyone: HubClient, author: Account, version: str
) -> None:
    made = author.publish()
    if version == "endorsements":
        # This path is the list of endorsements of an artifact: no other can be meant.
        assert anyone.get(f"{ARTIFACTS}/{made['id']}/{version}").json == []
    else:
        named = author.publish(made["id"], version=version)
        assert fetch(anyone, named).json["id"] == named["id"]
