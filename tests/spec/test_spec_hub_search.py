"""Searching the artifacts (hub API: GET /api/v1/artifacts/search)."""

from collections.abc import Iterator
from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import Account, HubClient, client_of

SEARCH = "/api/v1/artifacts/search"
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
    "yanked",
    "artifact_type",
}
PUBLISHED: dict[str, dict[str, Any]] = {
    "plain": {"description": "Nothing special", "tags": ["one"]},
    "street": {"description": "Eine STRASSE in Köln", "tags": ["One", "two"]},
    "strasse": {"description": "gasse"},
    "percent": {"description": "100% of it"},
    "under_score": {"description": "snake"},
    "backslash": {"description": "a \\ b"},
    "sigma": {"description": "ΟΔΥΣΣΕΥΣ"},
    "dotless": {"description": "İstanbul"},
    "quote": {"description": 'it\'s "here"; DROP TABLE artifacts; --'},
    "hundred": {"description": "100 of it", "tags": ["two words"]},
    "content": {"content": '"needle in the content"'},
    "tagged": {"tags": ["needle", "%", "a,b", '"q"']},
}
PLENTY = 104


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path_factory.mktemp("search"))
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def client(stocked: HubProcess) -> HubClient:
    return client_of(stocked)


@pytest.fixture(scope="module")
def owner(stocked: HubProcess, client: HubClient) -> Account:
    """Publishes all that is public, then a private and a draft one."""
    owner = client.register("owner@example.com")
    stocked.approve(owner.email)
    for name, fields in PUBLISHED.items():
        owner.publish(name, **fields)
    owner.publish("filler-first")
    for number in range(PLENTY - len(PUBLISHED) - 1):
        owner.publish("filler", version=str(number))
    owner.publish("hidden-private", visibility="private", tags=["hidden"])
    owner.publish("hidden-draft", visibility="draft", tags=["hidden"])
    return owner


@pytest.fixture(scope="module")
def other(stocked: HubProcess, client: HubClient, owner: Account) -> Account:
    """Has published nothing public."""
    del owner
    other = client.register("other@example.com")
    stocked.approve(other.email)
    other.publish("others-private", visibility="private")
    return other


@pytest.fixture(scope="module", autouse=True)
def _all_is_published(owner: Account, other: Account) -> None:
    """Nothing is published any more while the tests look."""


def search(client: HubClient, **query: object) -> dict[str, Any]:
    answer = client.get(SEARCH, **query)
    assert answer.status == 200, answer
    body = answer.json
    assert body.keys() == {"results", "total"}
    return dict(body)


def found(client: HubClient, **query: object) -> list[str]:
    return [row["name"] for row in search(client, **query)["results"]]


def test_summary_has_its_fields(client: HubClient, owner: Account) -> None:
    [summary] = search(client, q="street")["results"]

    full = client.get("/api/v1/artifacts/street/1").json
    assert summary.keys() == FIELDS
    same = FIELDS - {"downloads"}
    assert {key: summary[key] for key in same} == {key: full[key] for key in same}
    assert summary["owner"] == owner.email


def test_newest_comes_first(client: HubClient) -> None:
    rows = search(client, limit=100)["results"]

    newest = [str(n) for n in range(PLENTY - len(PUBLISHED) - 2, -1, -1)]
    assert [row["version"] for row in rows if row["name"] == "filler"] == newest
    times = [row["created_at"] for row in rows]
    assert times == sorted(times, reverse=True)


QUERIES: dict[str, tuple[str, list[str]]] = {
    "name": ("plain", ["plain"]),
    "part-of-a-name": ("lai", ["plain"]),
    "description": ("special", ["plain"]),
    "case-of-a-name": ("PLAIN", ["plain"]),
    "case-of-a-description": ("nothing SPECIAL", ["plain"]),
    "name-and-description": ("strasse", ["strasse", "street"]),
    "sharp-s": ("straße", ["strasse", "street"]),
    "capital-sharp-s": ("STRAẞE", ["strasse", "street"]),
    "umlaut": ("KÖLN", ["street"]),
    "final-sigma": ("οδυσσευς", ["sigma"]),
    "other-sigma": ("ΟΔΥΣΣΕΥσ", ["sigma"]),
    "percent": ("%", ["percent"]),
    "percent-inside": ("100%", ["percent"]),
    "underscore": ("_", ["under_score"]),
    "underscore-is-no-wildcard": ("pla_n", []),
    "percent-is-no-wildcard": ("p%n", []),
    "backslash": ("\\", ["backslash"]),
    "backslash-percent": ("\\%", []),
    "star-is-no-wildcard": ("p*n", []),
    "question-mark-is-no-wildcard": ("pla?n", []),
    "single-quote": ("it's", ["quote"]),
    "double-quote": ('"here"', ["quote"]),
    "sql": ("'; DROP TABLE artifacts; --", []),
    "words-are-not-split": ("special nothing", []),
    "blank-counts": ("  ", []),
    "not-in-the-content": ("needle in", []),
    "not-in-the-tags": ("needle", []),
    "not-in-the-version": ("103", []),
    "not-in-the-owner": ("example.com", []),
    "hidden": ("hidden", []),
    "nul": ("plain\0", []),
    "long": ("x" * 4000, []),
    "emoji": ("😀", []),
}


@pytest.mark.parametrize("row", QUERIES.values(), ids=QUERIES.keys())
def test_q_is_a_substring_of_name_or_description(
    client: HubClient, row: tuple[str, list[str]]
) -> None:
    q, names = row

    assert sorted(found(client, q=q)) == names


TAGS: dict[str, tuple[str, list[str]]] = {
    "exact": ("two", ["street"]),
    "lower-case": ("one", ["plain"]),
    "capital": ("One", ["street"]),
    "part": ("tw", []),
    "words": ("two words", ["hundred"]),
    "percent": ("%", ["tagged"]),
    "comma": ("a,b", ["tagged"]),
    "half-of-a-comma": ("a", []),
    "quotes": ('"q"', ["tagged"]),
    "blank-after": ("one ", []),
    "hidden": ("hidden", []),
}


@pytest.mark.parametrize("row", TAGS.values(), ids=TAGS.keys())
def test_tag_is_exact(client: HubClient, row: tuple[str, list[str]]) -> None:
    tag, names = row

    assert found(client, tag=tag) == names


@pytest.mark.parametrize("q", ["plain", "there is none", "hundred"])
def test_tag_takes_precedence_over_q(client: HubClient, q: str) -> None:
    assert found(client, q=q, tag="two") == ["street"]


def test_empty_q_and_tag_are_no_filter(client: HubClient) -> None:
    everything = found(client)

    assert found(client, q="", tag="") == everything
    assert found(client, q="") == everything
    assert found(client, tag="") == everything
    assert found(client, q="street", tag="") == ["street"]


LIMITS = {
    "absent": ({}, 20),
    "one": ({"limit": 1}, 1),
    "hundred": ({"limit": 100}, 100),
    "hundred-and-one": ({"limit": 101}, 100),
    "huge": ({"limit": 10**30}, 100),
    "zero": ({"limit": 0}, 1),
    "negative": ({"limit": -7}, 1),
    "negative-huge": ({"limit": -(10**30)}, 1),
}


@pytest.mark.parametrize("row", LIMITS.values(), ids=LIMITS.keys())
def test_limit_is_clamped_to_1_and_100(
    client: HubClient, row: tuple[dict[str, int], int]
) -> None:
    query, count = row

    assert len(found(client, **query)) == count


OFFSETS = {
    "zero": (0, 20),
    "negative": (-5, 20),
    "negative-huge": (-(10**30), 20),
    "near-the-end": (PLENTY - 3, 3),
    "end": (PLENTY, 0),
    "huge": (10**30, 0),
    "just-over-63-bits": (2**63, 0),
}


@pytest.mark.parametrize("row", OFFSETS.values(), ids=OFFSETS.keys())
def test_offset_skips_and_negatives_are_zero(
    client: HubClient, row: tuple[int, int]
) -> None:
    offset, count = row

    names = found(client, offset=offset)

    assert len(names) == count
    if offset < 0:
        assert names == found(client)


NO_INTEGERS = ["ten", "1.5", "1e1", "0x10", "1_0", "", " ", "5 ", "NaN", "true", "--5"]


@pytest.mark.parametrize("text", NO_INTEGERS)
@pytest.mark.parametrize("name", ["limit", "offset"])
def test_limit_and_offset_are_integers(client: HubClient, name: str, text: str) -> None:
    answer = client.get(SEARCH, **{name: text})

    assert answer.status == 400
    assert name in answer.error


@pytest.mark.parametrize("limit", [7, 20, 100])
def test_pages_hold_everything_once(client: HubClient, limit: int) -> None:
    seen: list[str] = []
    while True:
        page = search(client, limit=limit, offset=len(seen))["results"]
        seen += [row["id"] for row in page]
        if len(page) < limit:
            break

    assert len(seen) == len(set(seen)) == PLENTY


QUERIES_OF_TOTAL: list[dict[str, object]] = [
    {},
    {"q": "street"},
    {"q": "there is none"},
    {"tag": "two"},
    {"limit": 1},
    {"offset": 10**6},
    {"include_yanked": "true"},
]


@pytest.mark.parametrize("query", QUERIES_OF_TOTAL, ids=str)
def test_total_does_not_change_with_the_query(
    client: HubClient, query: dict[str, object]
) -> None:
    assert search(client, **query)["total"] == PLENTY


def test_total_counts_what_the_caller_sees(
    client: HubClient, owner: Account, other: Account
) -> None:
    clients = [client, owner.http, other.http, client.signed_in("nonsense")]

    totals = [search(each)["total"] for each in clients]

    assert totals == [PLENTY, PLENTY + 2, PLENTY + 1, PLENTY]


def test_own_hidden_artifacts_are_found(
    client: HubClient, owner: Account, other: Account
) -> None:
    hidden = ["hidden-draft", "hidden-private"]

    assert found(owner.http, q="hidden") == hidden
    assert found(owner.http, tag="hidden") == hidden
    assert found(owner.http)[:2] == hidden
    for stranger in (client, other.http, client.signed_in("nonsense")):
        assert found(stranger, q="hidden") == []
        assert found(stranger, tag="hidden") == []


@pytest.mark.parametrize("include", ["true", "false"])
def test_yanked_artifacts_are_found_by_nobody(
    stocked: HubProcess, client: HubClient, owner: Account, include: str
) -> None:
    del stocked
    made = owner.publish(f"yanked-{include}")
    path = f"/api/v1/artifacts/{made['id']}/yank"
    before = search(client)["total"]
    owner.http.post(path, {})
    try:
        for each in (client, owner.http):
            assert found(each, q="yanked", include_yanked=include) == []
        assert search(client, include_yanked=include)["total"] == before - 1
        owner.http.delete(path)
        assert found(client, q="yanked") == [made["name"]]
        assert search(client)["total"] == before
    finally:
        owner.http.post(path, {})


def test_published_artifact_is_found_at_once(client: HubClient, owner: Account) -> None:
    before = search(client)["total"]
    made = owner.publish("Brand-New")
    try:
        assert found(client, q="brand-new") == ["Brand-New"]
        assert search(client)["total"] == before + 1
    finally:
        owner.http.post(f"/api/v1/artifacts/{made['id']}/yank", {})


def test_unknown_query_fields_are_ignored(client: HubClient) -> None:
    assert found(client, q="street", sort="name", page=2) == ["street"]


def test_plus_in_a_query_is_a_space(client: HubClient) -> None:
    answer = client.send("GET", f"{SEARCH}?q=nothing+special")

    assert [row["name"] for row in answer.json["results"]] == ["plain"]


def test_downloads_are_shown(client: HubClient, owner: Account) -> None:
    made = owner.publish("counted")
    fetched = client.get("/api/v1/artifacts/counted/1").json["downloads"]
    try:
        [summary] = search(client, q="counted")["results"]
        assert fetched == 1
        assert summary["downloads"] in {0, 1}
    finally:
        owner.http.post(f"/api/v1/artifacts/{made['id']}/yank", {})
