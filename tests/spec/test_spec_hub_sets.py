"""Sets, their members, and walks of dependencies (hub API: members, resolve)."""

from typing import Any

import pytest
from spec.hub_client import Account, HubClient, unique

ARTIFACTS = "/api/v1/artifacts"
Edge = dict[str, Any]


def edge(name: str, *, required: bool = True) -> Edge:
    return {"name": name, "version": "1", "required": required}


def publish(account: Account, *edges: Edge, **fields: object) -> str:
    """An artifact with dependencies; its name."""
    return str(account.publish(dependencies=list(edges), **fields)["name"])


def walk(client: HubClient, name: str) -> list[tuple[str, int]]:
    """The names and depths that resolving finds, in its order."""
    answer = client.get(f"{ARTIFACTS}/{name}/1/resolve")
    assert answer.status == 200, answer
    return [(row["name"], row["depth"]) for row in answer.json["dependencies"]]


def test_members_are_the_dependencies_of_a_set(
    anyone: HubClient, author: Account
) -> None:
    members = [edge(publish(author)), edge(publish(author), required=False)]
    name = publish(author, *members, artifact_type="set")

    answer = anyone.get(f"{ARTIFACTS}/{name}/1/members")

    assert answer.status == 200
    assert answer.json == {"set_name": name, "set_version": "1", "members": members}


def test_members_are_direct_ones_only(anyone: HubClient, author: Account) -> None:
    inner = publish(author, edge(publish(author)), artifact_type="set")
    name = publish(author, edge(inner), artifact_type="set")

    answer = anyone.get(f"{ARTIFACTS}/{name}/1/members")

    assert answer.json["members"] == [edge(inner)]


@pytest.mark.parametrize("visibility", ["public", "private", "draft"])
@pytest.mark.parametrize("token", [None, "nonsense"], ids=["anonymous", "wrong-token"])
def test_members_are_shown_to_anyone(
    anyone: HubClient, author: Account, visibility: str, token: str | None
) -> None:
    member = edge(publish(author, visibility="private"))
    name = publish(author, member, artifact_type="set", visibility=visibility)

    answer = anyone.signed_in(token).get(f"{ARTIFACTS}/{name}/1/members")

    assert (answer.status, answer.json["members"]) == (200, [member])


@pytest.mark.parametrize("visibility", ["public", "private", "draft"])
def test_members_of_what_is_no_set_is_400(
    anyone: HubClient, author: Account, visibility: str
) -> None:
    name = publish(author, edge(publish(author)), visibility=visibility)

    answer = anyone.get(f"{ARTIFACTS}/{name}/1/members")

    assert answer.status == 400
    assert answer.error


def test_members_of_a_yanked_set_are_shown(anyone: HubClient, author: Account) -> None:
    member = edge(publish(author))
    made = author.publish(artifact_type="set", dependencies=[member])
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    assert anyone.get(f"{ARTIFACTS}/{made['name']}/1/members").status == 200


@pytest.mark.parametrize("what", ["members", "resolve"])
def test_nonexistent_artifact_is_404(anyone: HubClient, what: str) -> None:
    answer = anyone.get(f"{ARTIFACTS}/there-is-none/1/{what}")

    assert answer.status == 404
    assert answer.error


def test_artifact_without_dependencies_resolves_to_none(
    anyone: HubClient, author: Account
) -> None:
    name = publish(author)

    answer = anyone.get(f"{ARTIFACTS}/{name}/1/resolve")

    assert answer.status == 200
    assert answer.json == {"root": f"{name}@1", "dependencies": []}


def test_walk_has_its_fields(anyone: HubClient, author: Account) -> None:
    leaf = publish(author)
    middle = publish(author, edge(leaf))
    root = publish(author, edge(middle, required=False))

    answer = anyone.get(f"{ARTIFACTS}/{root}/1/resolve")

    assert answer.json == {
        "root": f"{root}@1",
        "dependencies": [
            edge(middle, required=False) | {"depth": 1, "found": True},
            edge(leaf) | {"depth": 2, "found": True},
        ],
    }


def test_walk_goes_breadth_first_in_the_order_of_the_edges(
    anyone: HubClient, author: Account
) -> None:
    a1, a2, b1 = (publish(author) for _ in range(3))
    a, b = publish(author, edge(a2), edge(a1)), publish(author, edge(b1))
    root = publish(author, edge(b), edge(a))

    assert walk(anyone, root) == [(b, 1), (a, 1), (b1, 2), (a2, 2), (a1, 2)]


def test_each_artifact_appears_once_at_its_least_depth(
    anyone: HubClient, author: Account
) -> None:
    leaf = publish(author)
    middle = publish(author, edge(leaf))
    other = publish(author, edge(middle), edge(leaf))
    root = publish(author, edge(other), edge(leaf, required=False))

    assert walk(anyone, root) == [(other, 1), (leaf, 1), (middle, 2)]


def test_versions_are_walked_apart(anyone: HubClient, author: Account) -> None:
    leaf = publish(author)
    author.publish(leaf, version="2", dependencies=[edge(leaf)])
    root = publish(author, {"name": leaf, "version": "2"})

    rows = anyone.get(f"{ARTIFACTS}/{root}/1/resolve").json["dependencies"]

    assert [(r["version"], r["depth"]) for r in rows] == [("2", 1), ("1", 2)]


def test_many_paths_to_one_artifact_take_no_time(
    anyone: HubClient, author: Account
) -> None:
    """A ladder of pairs: 2^24 paths, and 50 artifacts."""
    rung = [publish(author), publish(author)]
    for _ in range(24):
        rung = [publish(author, *map(edge, rung)) for _ in range(2)]

    rows = walk(anyone, publish(author, *map(edge, rung)))

    assert len(rows) == 50
    assert [depth for _, depth in rows] == sorted([*range(1, 26)] * 2)


def test_walk_stops_at_depth_50(anyone: HubClient, author: Account) -> None:
    names = [publish(author)]
    for _ in range(52):
        names.append(publish(author, edge(names[-1])))
    root, *below = names[::-1]

    rows = walk(anyone, root)

    assert rows == [(name, depth + 1) for depth, name in enumerate(below[:50])]
    assert walk(anyone, below[1])[-1] == (names[0], 50)


def test_what_depth_50_depends_on_may_be_seen_nearer(
    anyone: HubClient, author: Account
) -> None:
    leaf = publish(author)
    names = [publish(author, edge(leaf))]
    for _ in range(50):
        names.append(publish(author, edge(names[-1])))
    root = publish(author, edge(names[-1]), edge(leaf))

    rows = walk(anyone, root)

    assert rows[1] == (leaf, 1)
    assert max(depth for _, depth in rows) == 50
    assert names[0] not in dict(rows)


HIDDEN = pytest.mark.parametrize("visibility", ["private", "draft"])


@HIDDEN
def test_hidden_root_is_resolved_for_its_owner_only(
    anyone: HubClient, author: Account, rival: Account, visibility: str
) -> None:
    leaf = publish(author)
    root = unique("hidden")
    path = f"{ARTIFACTS}/{root}/1/resolve"
    clients = (anyone, rival.http, anyone.signed_in("nonsense"))
    before = [client.get(path).body for client in clients]
    author.publish(root, dependencies=[edge(leaf)], visibility=visibility)

    after = [client.get(path) for client in clients]

    assert walk(author.http, root) == [(leaf, 1)]
    assert [answer.status for answer in after] == [404, 404, 404]
    assert [answer.body for answer in after] == before


@HIDDEN
def test_visibility_is_checked_on_the_root_only(
    anyone: HubClient, author: Account, visibility: str
) -> None:
    leaf = publish(author, visibility=visibility)
    middle = publish(author, edge(leaf), visibility=visibility)
    root = publish(author, edge(middle))

    answer = anyone.get(f"{ARTIFACTS}/{root}/1/resolve")

    found = [(row["name"], row["found"]) for row in answer.json["dependencies"]]
    assert found == [(middle, True), (leaf, True)]


def test_yanked_dependency_is_found(anyone: HubClient, author: Account) -> None:
    made = author.publish()
    root = publish(author, edge(made["name"]))
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    [row] = anyone.get(f"{ARTIFACTS}/{root}/1/resolve").json["dependencies"]

    assert row["found"] is True


def test_yanked_root_is_resolved(anyone: HubClient, author: Account) -> None:
    leaf = publish(author)
    made = author.publish(dependencies=[edge(leaf)])
    author.http.post(f"{ARTIFACTS}/{made['id']}/yank", {})

    assert walk(anyone, made["name"]) == [(leaf, 1)]
