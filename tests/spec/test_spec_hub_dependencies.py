"""What an artifact may depend on (hub API: POST /api/v1/artifacts)."""

from typing import Any

import pytest
from spec.hub_client import Account, unique

ARTIFACTS = "/api/v1/artifacts"


def test_dependencies_keep_their_order_and_duplicates_are_stored_once(
    author: Account,
) -> None:
    names = sorted((author.publish()["name"] for _ in range(3)), reverse=True)
    edges = [{"name": name, "version": "1", "required": True} for name in names]

    body = author.publish(dependencies=[*edges, edges[0]])

    assert body["dependencies"] == edges


REQUIRED: dict[str, tuple[dict[str, Any], bool]] = {
    "absent": ({}, True),
    "null": ({"required": None}, True),
    "true": ({"required": True}, True),
    "false": ({"required": False}, False),
}


@pytest.mark.parametrize("row", REQUIRED.values(), ids=REQUIRED.keys())
def test_dependency_is_required_unless_it_says_else(
    author: Account, row: tuple[dict[str, Any], bool]
) -> None:
    given, required = row
    edge = {"name": author.publish()["name"], "version": "1"}

    body = author.publish(dependencies=[edge | given])

    assert body["dependencies"] == [edge | {"required": required}]


@pytest.mark.parametrize("required", ["yes", 1, 0, "true"])
def test_required_is_a_boolean(author: Account, required: object) -> None:
    edge = {"name": author.publish()["name"], "version": "1", "required": required}

    assert author.push(dependencies=[edge]).status == 400


@pytest.mark.parametrize("more", [{}, {"required": False}], ids=["needed", "optional"])
@pytest.mark.parametrize("kind", ["artifact", "set"])
def test_missing_dependency_is_named(
    author: Account, more: dict[str, bool], kind: str
) -> None:
    missing = {"name": unique("missing"), "version": "1.2", **more}

    answer = author.push(dependencies=[missing], artifact_type=kind)

    assert answer.status == 400
    assert f"{missing['name']}@1.2" in answer.error


def test_first_missing_dependency_is_named(author: Account) -> None:
    there = {"name": author.publish()["name"], "version": "1"}
    missing = [{"name": unique("missing"), "version": "1"} for _ in range(2)]

    answer = author.push(dependencies=[there, *missing])

    assert missing[0]["name"] in answer.error
    assert missing[1]["name"] not in answer.error


def test_other_version_of_a_dependency_is_missing(author: Account) -> None:
    name = author.publish(version="1")["name"]

    answer = author.push(dependencies=[{"name": name, "version": "2"}])

    assert answer.status == 400
    assert f"{name}@2" in answer.error


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_hidden_dependency_of_another_is_as_a_missing_one(
    author: Account, rival: Account, visibility: str
) -> None:
    hidden, missing = unique("hidden-aa"), unique("missing-a")
    author.publish(hidden, visibility=visibility)

    errors = [
        rival.push(dependencies=[{"name": name, "version": "1"}])
        for name in (hidden, missing)
    ]

    assert [answer.status for answer in errors] == [400, 400]
    assert errors[0].error.replace(hidden, missing) == errors[1].error


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_own_hidden_artifact_can_be_depended_on(
    author: Account, visibility: str
) -> None:
    name = author.publish(visibility=visibility)["name"]

    assert author.push(dependencies=[{"name": name, "version": "1"}]).status == 201


def test_public_artifact_of_another_can_be_depended_on(
    author: Account, rival: Account
) -> None:
    name = author.publish()["name"]

    assert rival.push(dependencies=[{"name": name, "version": "1"}]).status == 201


def test_yanked_artifact_can_be_depended_on(author: Account) -> None:
    made = author.publish()
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    answer = author.push(dependencies=[{"name": made["name"], "version": "1"}])

    assert answer.status == 201


def test_artifact_cannot_depend_on_itself(author: Account) -> None:
    name = unique("self")

    answer = author.push(name, dependencies=[{"name": name, "version": "1"}])

    assert answer.status == 400
    assert f"{name}@1" in answer.error


def test_artifact_can_depend_on_another_version_of_itself(author: Account) -> None:
    name = author.publish(version="1")["name"]
    edge = {"name": name, "version": "1"}

    assert author.push(name, version="2", dependencies=[edge]).status == 201


def test_cycle_back_to_the_artifact_is_refused(author: Account) -> None:
    first, second = unique("first"), unique("second")
    edges = {first: second, second: first}

    answers = [
        author.push(name, dependencies=[{"name": to, "version": "1"}])
        for name, to in edges.items()
    ]

    assert [answer.status for answer in answers] == [400, 400]


@pytest.mark.parametrize("count", [2, 5000])
def test_many_duplicates_of_a_dependency_are_one(author: Account, count: int) -> None:
    edge = {"name": author.publish()["name"], "version": "1", "required": True}

    assert author.publish(dependencies=[edge] * count)["dependencies"] == [edge]


def test_thousands_of_missing_dependencies_are_one_400(author: Account) -> None:
    missing = [{"name": f"missing-{n}", "version": "1"} for n in range(5000)]

    answer = author.push(dependencies=missing)

    assert answer.status == 400
    assert "missing-0@1" in answer.error
