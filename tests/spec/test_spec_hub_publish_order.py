"""The order in which a publish is checked (hub API: POST /api/v1/artifacts, Errors)."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import Account, Answer, client_of, unique
from spec.hub_signing import Signer

MISSING = {"name": "there-is-no-such-artifact", "version": "1"}
NOBODYS = {"signature": "AAAA", "key_fingerprint": "0" * 64}
PROBLEMS: dict[str, dict[str, Any]] = {
    "name": {"name": "-"},
    "version": {"version": "-"},
    "tags": {"tags": [""]},
    "description": {"description": "x" * 1001},
    "cap": {"content": '"' + "x" * 262_144},
    "not-json": {"content": "{"},
    "schema": {"schema": {"type": "string"}},
    "visibility": {"visibility": "secret"},
    "empty-set": {"artifact_type": "set", "dependencies": []},
    "missing": {"dependencies": [MISSING]},
    "signature-alone": {"signature": "AAAA"},
    "unknown-key": NOBODYS,
}
"""In the order of the specification's list; the cap's content is no JSON either."""


PAIRS = [
    (first, second)
    for first, second in combinations(PROBLEMS, 2)
    if not PROBLEMS[first].keys() & PROBLEMS[second].keys()
]
"""Two problems that one request can have together."""


@pytest.mark.parametrize("pair", PAIRS, ids="-before-".join)
def test_earlier_problem_of_the_list_is_reported(
    author: Account, pair: tuple[str, str]
) -> None:
    first, second = (PROBLEMS[name] for name in pair)
    base = {"name": unique("art")}

    alone = author.push(**(base | first))
    together = author.push(**(base | second | first))

    assert (alone.status, together.status) == (400, 400)
    assert together.error == alone.error


def test_over_the_cap_is_reported_before_no_json(author: Account) -> None:
    words = "not json "
    errors = [
        author.push(content=words * count).error for count in (1, 1 + 262_144 // 9)
    ]

    assert errors[0] != errors[1]


def test_key_is_looked_up_before_the_signature_is_checked(
    author: Account, rival: Account
) -> None:
    signed = Signer.of(author).sign("[]")

    stranger = rival.push(content="{}", **signed)
    owner = author.push(content="{}", **signed)

    assert (stranger.status, owner.status) == (400, 400)
    assert stranger.error != owner.error


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problem_is_reported_before_the_conflict(author: Account, problem: str) -> None:
    taken = author.publish()["name"]
    fields = PROBLEMS[problem]

    assert author.push(**({"name": taken} | fields)).status == 400


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An approved account on a hub that requires signatures."""
    hub = HubProcess(tmp_path_factory.mktemp("strict"), require_signatures="1")
    try:
        hub.start()
        account = client_of(hub).register()
        hub.approve(account.email)
        yield account
    finally:
        hub.stop()


def test_signature_may_be_required(strict: Account) -> None:
    signer = Signer.of(strict)

    without, signed = strict.push(), strict.push(**signer.sign("{}"))

    assert (without.status, signed.status) == (400, 201)
    assert "signature" in without.error


@pytest.mark.parametrize("problem", PROBLEMS)
def test_required_signature_is_asked_for_last(strict: Account, problem: str) -> None:
    def error(**fields: Any) -> str:
        answer: Answer = strict.push(**({"name": "same"} | fields))
        assert answer.status == 400
        return answer.error

    assert error(**PROBLEMS[problem]) != error()


def test_required_signature_is_asked_for_before_the_conflict(strict: Account) -> None:
    name = strict.publish(**Signer.of(strict).sign("{}"))["name"]

    assert strict.push(name).status == 400
