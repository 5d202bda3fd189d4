"""Members and walks: breadth first, each once, no deeper than 50."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher
from hub_shelf import empty_database, put, put_account
from hypothesis import given, settings
from hypothesis import strategies as st

from redlane_hub.services.dependencies import Dependencies
from redlane_hub.store.database import Database

Graph = dict[int, list[tuple[int, bool]]]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = empty_database(Path(tmp_path_factory.mktemp("walks")))
    yield made
    made.close()


def need(name: str, version: str = "1", *, required: bool = True) -> dict[str, Any]:
    return {"name": name, "version": version, "required": required}


def resolve(running: Running, name: str, token: str | None = None) -> Any:
    found = running.call("GET", f"{ARTIFACTS}/{name}/1/resolve", token)
    return found.json if found.status_code == 200 else found.status_code


def test_members_are_shown_to_all_in_the_sets_order(
    running: Running, ann: Publisher
) -> None:
    for name in ("b", "a"):
        ann.publish(name, visibility="private")
    needs = [need("b"), need("a", required=False)]
    ann.publish("set", artifact_type="set", dependencies=needs, visibility="draft")
    found = running.call("GET", f"{ARTIFACTS}/set/1/members")
    assert found.text == (
        '{"set_name": "set", "set_version": "1", "members": ['
        '{"name": "b", "version": "1", "required": true}, '
        '{"name": "a", "version": "1", "required": false}]}'
    )


def test_only_sets_have_members(running: Running, ann: Publisher) -> None:
    ann.publish("a")
    ann.publish("b", dependencies=[need("a")])
    refused = running.call("GET", f"{ARTIFACTS}/b/1/members")
    assert (refused.status_code, refused.json) == (400, {"error": "'b@1' is not a set"})
    assert running.call("GET", f"{ARTIFACTS}/b/2/members").status_code == 404


def test_a_walk_shows_the_nearest_first(running: Running, ann: Publisher) -> None:
    ann.publish("far")
    ann.publish("near", dependencies=[need("far")])
    ann.publish("root", dependencies=[need("near", required=False), need("far")])
    found = running.call("GET", f"{ARTIFACTS}/root/1/resolve")
    assert found.text == (
        '{"root": "root@1", "dependencies": ['
        '{"name": "near", "version": "1", "required": false, "depth": 1, '
        '"found": true}, '
        '{"name": "far", "version": "1", "required": true, "depth": 1, '
        '"found": true}]}'
    )


def test_visibility_counts_at_the_root_only(running: Running, ann: Publisher) -> None:
    bob = running.register("bob@example.com")
    ann.publish("hidden", visibility="private")
    ann.publish("shown", dependencies=[need("hidden")])
    ann.publish("root", dependencies=[need("shown")], visibility="draft")
    assert len(resolve(running, "shown")["dependencies"]) == 1
    assert len(resolve(running, "root", ann.token)["dependencies"]) == 2
    assert resolve(running, "root") == resolve(running, "root", bob) == 404
    assert resolve(running, "absent", ann.token) == 404


def test_what_is_gone_is_listed_as_not_found(running: Running, ann: Publisher) -> None:
    for name, needs in (("a", []), ("b", [need("a")]), ("c", [need("b")])):
        ann.publish(name, dependencies=needs)
    with running.database.transaction() as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for table in ("contents", "downloads", "dependencies"):
            connection.execute(
                f"DELETE FROM {table} WHERE number IN"
                " (SELECT number FROM artifacts WHERE name = 'b')"
            )
        connection.execute("DELETE FROM artifacts WHERE name = 'b'")
    expected = {**need("b"), "depth": 1, "found": False}
    assert resolve(running, "c")["dependencies"] == [expected]


def test_a_yanked_dependency_is_found(running: Running, ann: Publisher) -> None:
    made = ann.publish("a").json["id"]
    ann.publish("b", dependencies=[need("a")])
    running.call("POST", f"{ARTIFACTS}/{made}/yank", ann.token, json={})
    assert resolve(running, "b")["dependencies"][0]["found"] is True


def build(connection: Any, graph: Graph) -> str:
    """Artifacts `n@1` that need what the graph says; missing ones are dangling."""
    owner = put_account(connection)
    prefix = owner[:8]
    for node, needs in graph.items():
        put(
            connection,
            owner,
            f"{prefix}-{node}",
            dependencies=tuple(
                (f"{prefix}-{other}", "1", required) for other, required in needs
            ),
        )
    return prefix


def plain_walk(graph: Graph, root: int) -> list[tuple[int, bool, int, bool]]:
    queue, seen, found = [(root, 0)], {root}, []
    while queue:
        node, depth = queue.pop(0)
        if depth == 50:
            continue
        for other, required in graph[node]:
            if other not in seen:
                seen.add(other)
                found.append((other, required, depth + 1, other in graph))
                if other in graph:
                    queue.append((other, depth + 1))
    return found


def walk(database: Database, graph: Graph, root: int = 0) -> list[Any]:
    with database.transaction() as connection:
        prefix = build(connection, graph)
    reached = Dependencies(database).resolve(f"{prefix}-{root}", "1", None)
    return [
        (
            int(each.needed.name.removeprefix(f"{prefix}-")),
            each.needed.required,
            each.depth,
            each.found,
        )
        for each in reached
    ]


# Cycles cannot be published; a walk must end even so.
graphs = st.dictionaries(
    st.integers(0, 12),
    st.lists(st.tuples(st.integers(0, 15), st.booleans()), max_size=5),
    max_size=12,
).map(lambda graph: {**graph, 0: graph.get(0, [(1, True), (2, False)])})


@settings(deadline=None)
@given(graphs)
def test_a_walk_is_what_a_plain_walk_is(database: Database, graph: Graph) -> None:
    assert walk(database, graph) == plain_walk(graph, 0)


def test_depth_50_is_listed_and_51_is_not(database: Database) -> None:
    chain: Graph = {node: [(node + 1, True)] for node in range(60)}
    found = walk(database, chain)
    assert [depth for _, _, depth, _ in found] == list(range(1, 51))
    assert found == plain_walk(chain, 0)


def test_a_walk_survives_tens_of_thousands_of_edges(database: Database) -> None:
    layers = 8
    width = 50
    first: Graph = {0: [(1 + place, True) for place in range(width)]}
    for layer in range(layers):
        start = 1 + layer * width
        below = [(start + width + place, True) for place in range(width)]
        for place in range(width):
            first[start + place] = below
    found = walk(database, first)
    assert len(found) == (layers + 1) * width
    assert sum(map(len, first.values())) > 20_000
    assert [depth for _, _, depth, _ in found] == sorted(each[2] for each in found)


def test_a_walk_survives_a_wide_artifact(database: Database) -> None:
    wide: Graph = {0: [(place, True) for place in range(1, 20_001)]}
    found = walk(database, wide)
    assert len(found) == 20_000
    assert {(depth, exists) for _, _, depth, exists in found} == {(1, False)}
