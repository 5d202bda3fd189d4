"""Graphs that would make one walk pass millions of needs are not published."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_publisher import ARTIFACTS, Publisher, new_publisher
from hub_shelf import put, put_account

from redlane_hub.services.dependencies import MOST_EDGES
from redlane_hub.wire.publishing import MOST_DEPENDENCIES

WIDTH = 100
TOO_LONG = f"'dependencies' lead to more than {MOST_EDGES} needs in all: depend on less"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def ann(running: Running) -> Publisher:
    return new_publisher(running)


def layer(running: Running, name: str, below: str | None, width: int = WIDTH) -> None:
    """Artifacts that each need all of the layer below."""
    needs = tuple((f"{below}-{place}", "1", True) for place in range(WIDTH))
    with running.database.transaction() as connection:
        owner = put_account(connection)
        for place in range(width):
            needed = needs if below else ()
            put(connection, owner, f"{name}-{place}", dependencies=needed)


def needs(name: str, width: int) -> list[dict[str, str]]:
    return [{"name": f"{name}-{place}", "version": "1"} for place in range(width)]


def test_what_leads_to_too_many_needs_is_not_published(
    running: Running, ann: Publisher
) -> None:
    layer(running, "c", None)
    layer(running, "b", "c")
    # 99 needs, and 100 of each of those.
    fits = ann.publish("fits", dependencies=needs("b", WIDTH - 1))
    assert fits.status_code == 201
    refused = ann.publish("refused", dependencies=needs("b", WIDTH))
    assert (refused.status_code, refused.json) == (400, {"error": TOO_LONG})
    # Once it is deep enough, a single need is too much.
    layer(running, "a", "b", width=1)
    assert ann.publish("above", dependencies=needs("a", 1)).json == {"error": TOO_LONG}


def test_what_is_met_often_counts_once(running: Running, ann: Publisher) -> None:
    layer(running, "c", None)
    layer(running, "b", "c", width=50)
    twice = [*needs("b", 50), *needs("c", WIDTH)]
    assert ann.publish("both", dependencies=twice).status_code == 201
    chain = ["both", *(f"link-{number}" for number in range(60))]
    for below, name in itertools.pairwise(chain):
        needed = [{"name": below, "version": "1"}]
        assert ann.publish(name, dependencies=needed).status_code == 201
    walk = running.call("GET", f"{ARTIFACTS}/{chain[-1]}/1/resolve").json
    assert len(walk["dependencies"]) == 50


def test_dependencies_have_a_limit(running: Running, ann: Publisher) -> None:
    layer(running, "a", None, width=MOST_DEPENDENCIES)
    every = needs("a", MOST_DEPENDENCIES)
    assert ann.publish("all", dependencies=[*every, *every]).status_code == 201
    one_more = {"name": "a-0", "version": "1", "required": False}
    absent = {"name": "absent", "version": "1"}
    named = ann.publish("more", dependencies=[absent, *every]).json["error"]
    assert named == "'dependencies': 'absent@1' does not exist"
    refused = ann.publish("more", dependencies=[*every, one_more])
    assert refused.status_code == 400
    assert refused.json == {
        "error": f"'dependencies' must be at most {MOST_DEPENDENCIES}, "
        f"not {MOST_DEPENDENCIES + 1}"
    }
