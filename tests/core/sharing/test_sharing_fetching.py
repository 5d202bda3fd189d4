"""What a hub gives is what was asked for, whole, or it is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest
from core.sharing.sharing_samples import KEY, MemoryHub, artifact, digest, needs, quiet

from redlane.hubclient import (
    Artifact,
    HubRefusedError,
    HubUnavailableError,
    Resolution,
    Resolved,
)
from redlane.sharing.errors import RefusedError
from redlane.sharing.fetching import MOST_ARTIFACTS, fetch, fetch_one, is_missing

GONE = HubRefusedError("gone", 404)
FORBIDDEN = HubRefusedError("forbidden", 403)


def resolved(named: str, *, found: bool = True) -> Resolved:
    name, _, version = named.partition("@")
    return Resolved(name, version, required=True, depth=1, found=found)


def resolution(root: str, *needed: str) -> Resolution:
    return Resolution(root, tuple(resolved(each) for each in needed))


def test_all_that_is_needed_comes_along() -> None:
    memory = MemoryHub(
        artifact("tags@1"),
        artifact("git@2", *needs("tags@1")),
        artifact("team@3", *needs("git@2")),
        artifact("other@1"),
    )
    found = fetch(memory.hub, [("team", "3")], quiet)
    assert found.roots == ("team",)
    assert {*found.artifacts} == {"team", "git", "tags"}


def test_what_two_need_is_fetched_once() -> None:
    memory = MemoryHub(
        artifact("tags@1"),
        artifact("a@1", *needs("tags@1")),
        artifact("b@1", *needs("tags@1")),
    )
    found = fetch(memory.hub, [("a", "1"), ("b", "1"), ("a", "1")], quiet)
    assert {*found.artifacts} == {"a", "b", "tags"}
    assert sorted(memory.asked) == ["a@1", "b@1", "tags@1"]


def test_whoever_waits_is_told_how_far_it_is() -> None:
    memory = MemoryHub(artifact("tags@1"), artifact("team@1", *needs("tags@1")))
    told: list[tuple[int, int]] = []
    fetch(memory.hub, [("team", "1")], lambda done, of: told.append((done, of)))
    assert told == [(1, 2), (2, 2)]


def test_nothing_is_fetched_for_nothing() -> None:
    found = fetch(MemoryHub().hub, [], quiet)
    assert (found.roots, {**found.artifacts}) == ((), {})


def test_artifacts_that_need_each_other_are_fetched() -> None:
    memory = MemoryHub(artifact("a@1", *needs("b@1")), artifact("b@1", *needs("a@1")))
    assert {*fetch(memory.hub, [("a", "1")], quiet).artifacts} == {"a", "b"}


@pytest.mark.parametrize("is_listed", [True, False])
def test_what_is_not_required_may_be_missing(is_listed: bool) -> None:  # noqa: FBT001  # a case
    memory = MemoryHub(artifact("team@1", *needs("tags@1", required=False)))
    if is_listed:
        memory.resolutions["team@1"] = resolution("team@1", "tags@1")
    assert {*fetch(memory.hub, [("team", "1")], quiet).artifacts} == {"team"}


def test_what_is_required_and_nowhere_is_refused() -> None:
    memory = MemoryHub(artifact("team@1", *needs("tags@1")))
    with pytest.raises(RefusedError, match="tags@1 is needed, and the hub does not"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_what_is_required_and_listed_and_cannot_be_had_is_refused() -> None:
    memory = MemoryHub(artifact("team@1", *needs("tags@1")))
    memory.resolutions["team@1"] = resolution("team@1", "tags@1")
    with pytest.raises(RefusedError, match="tags@1 is needed, and the hub does not"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_what_the_hub_adds_to_what_is_needed_comes_to_nothing() -> None:
    memory = MemoryHub(
        artifact("team@1", *needs("tags@1")),
        artifact("tags@1", *needs("git@1", required=False)),
        artifact("git@2"),
        artifact("x@1", *needs("y@1")),
        artifact("y@1"),
    )
    added = resolution("team@1", "tags@1", "git@2", "x@1", "y@1")
    memory.resolutions["team@1"] = added
    found = fetch(memory.hub, [("team", "1")], quiet)
    assert {*found.artifacts} == {"team", "tags"}


def test_what_was_asked_for_must_be_there() -> None:
    with pytest.raises(HubRefusedError, match="no team@1"):
        fetch(MemoryHub().hub, [("team", "1")], quiet)


def test_another_refusal_than_that_there_is_none_is_one_of_all() -> None:
    memory = MemoryHub(artifact("team@1", *needs("tags@1", required=False)))
    memory.resolutions["team@1"] = resolution("team@1", "tags@1")
    memory.answers["tags", "1"] = FORBIDDEN
    with pytest.raises(HubRefusedError, match="forbidden"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_a_hub_that_leaves_out_what_is_needed_is_refused() -> None:
    memory = MemoryHub(artifact("tags@1"), artifact("team@1", *needs("tags@1")))
    memory.resolutions["team@1"] = resolution("team@1")
    with pytest.raises(RefusedError, match="tags@1 is needed"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_a_hub_that_tells_another_version_of_what_is_needed_is_refused() -> None:
    memory = MemoryHub(artifact("tags@2"), artifact("team@1", *needs("tags@1")))
    memory.resolutions["team@1"] = resolution("team@1", "tags@2")
    with pytest.raises(RefusedError, match="tags@1 is needed"):
        fetch(memory.hub, [("team", "1")], quiet)


@pytest.mark.parametrize("asked", [["a@1", "a@2"], ["b@1"], ["c@1", "a@1"]])
def test_two_versions_of_one_artifact_do_not_go_together(asked: list[str]) -> None:
    memory = MemoryHub(
        artifact("a@1"),
        artifact("a@2"),
        artifact("c@1", *needs("a@2")),
        artifact("b@1", *needs("a@1", "c@1")),
    )
    roots = [(each.split("@")[0], each.split("@")[1]) for each in asked]
    with pytest.raises(RefusedError, match="a is needed twice, as"):
        fetch(memory.hub, roots, quiet)


@pytest.mark.parametrize("root", ["team@2", "other@1", "", "team"])
def test_a_resolution_of_something_else_is_nonsense(root: str) -> None:
    memory = MemoryHub(artifact("team@1"))
    memory.resolutions["team@1"] = resolution(root)
    with pytest.raises(HubUnavailableError, match="asked for team@1, it tells what"):
        fetch(memory.hub, [("team", "1")], quiet)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("../../etc/passwd", "1"),
        ("/etc/passwd", "1"),
        ("a/b", "1"),
        (".hidden", "1"),
        ("", "1"),
        ("a\n", "1"),
        ("a" * 129, "1"),
        ("a", ""),
        ("a", "../1"),
        ("a", "1" * 65),
        ("a", "1\n"),
    ],
)
def test_a_name_that_can_be_no_file_is_nonsense(name: str, version: str) -> None:
    memory = MemoryHub(artifact("team@1"))
    needed = (Resolved(name, version, required=True, depth=1, found=True),)
    memory.resolutions["team@1"] = Resolution("team@1", needed)
    with pytest.raises(HubUnavailableError, match="cannot be the name and version"):
        fetch(memory.hub, [("team", "1")], quiet)
    assert memory.asked == []


@pytest.mark.parametrize("name", ["../a", "a/b", ""])
def test_a_name_that_can_be_no_file_is_needed_by_nothing(name: str) -> None:
    (needed,) = needs("x@1")
    memory = MemoryHub(artifact("team@1", replace(needed, name=name)))
    memory.resolutions["team@1"] = resolution("team@1")
    with pytest.raises(RefusedError, match="is needed, and the hub does not have it"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_more_than_can_be_meant_is_refused_before_it_is_fetched() -> None:
    memory = MemoryHub(artifact("team@1"))
    many = [f"a{number}@1" for number in range(MOST_ARTIFACTS)]
    memory.resolutions["team@1"] = resolution("team@1", *many)
    with pytest.raises(RefusedError, match="more than 1000 artifacts"):
        fetch(memory.hub, [("team", "1")], quiet)
    assert memory.asked == []


def test_what_the_hub_does_not_find_is_not_asked_for() -> None:
    memory = MemoryHub(artifact("team@1"))
    needed = (resolved("tags@1", found=False),)
    memory.resolutions["team@1"] = Resolution("team@1", needed)
    fetch(memory.hub, [("team", "1")], quiet)
    assert memory.asked == ["team@1"]


@pytest.mark.parametrize("other", ["team@2", "other@1", "Team@1"])
def test_another_artifact_than_was_asked_for_is_nonsense(other: str) -> None:
    memory = MemoryHub()
    memory.answers["team", "1"] = artifact(other)
    with pytest.raises(HubUnavailableError, match=f"it tells of {other}"):
        fetch_one(memory.hub, "team", "1")


@pytest.mark.parametrize("key", [None, "", "a" * 63, "A" * 64, "../a"])
def test_a_signature_by_no_key_is_nonsense(key: str | None) -> None:
    memory = MemoryHub(artifact("team@1", signed=True, key_fingerprint=key))
    with pytest.raises(HubUnavailableError, match="team@1 is signed by no key"):
        fetch_one(memory.hub, "team", "1")


VALUES: list[Any] = [
    None,
    7,
    1.5,
    "é \u2028 \U0001f600",
    [],
    {"b": 1, "a": {"d": [1, 2], "c": "é"}},
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize(
    "layout",
    [{"separators": (",", ":")}, {}, {"indent": 2}, {"indent": 4}, {"indent": "\t"}],
)
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_content_has_the_hash_of_the_text_that_was_published(
    value: Any,
    ascii_only: bool,  # noqa: FBT001  # a case
    layout: dict[str, Any],
    is_sorted: bool,  # noqa: FBT001  # a case
    end: str,
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, sort_keys=is_sorted, **layout)
    text += end
    told = digest(text.encode())
    memory = MemoryHub(artifact("a@1", content=value, content_hash=told))
    assert fetch_one(memory.hub, "a", "1").content == value


def other_hash(of: Artifact, how: str) -> str:
    return {
        "none": "",
        "another": "e" * 64,
        "upper": of.content_hash.upper(),
        "longer": f"{of.content_hash}0",
        "of its text": digest(str(of.content).encode()),
    }[how]


@pytest.mark.parametrize("how", ["none", "another", "upper", "longer", "of its text"])
def test_a_content_of_another_hash_is_refused(how: str) -> None:
    true = artifact("team@1", key=KEY)
    memory = MemoryHub(replace(true, content_hash=other_hash(true, how)))
    with pytest.raises(RefusedError, match="team@1 has not the hash"):
        fetch(memory.hub, [("team", "1")], quiet)


def test_a_content_that_was_changed_on_its_way_is_refused() -> None:
    memory = MemoryHub(replace(artifact("team@1"), content=[{"id": "mine"}]))
    with pytest.raises(RefusedError, match="team@1 has not the hash"):
        fetch_one(memory.hub, "team", "1")


def test_only_that_there_is_none_is_missing() -> None:
    assert is_missing(GONE)
    assert not is_missing(FORBIDDEN)
