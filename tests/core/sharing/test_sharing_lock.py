"""`hub.lock`: what it says comes back, and a strange one says nothing at all."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from core.sharing.sharing_samples import KEY, lock_of, locked
from hypothesis import given
from hypothesis import strategies as st

from redlane.errors import LoadError
from redlane.policies.files import LARGEST
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, Locked, policy_file, read_lock, role_file
from redlane.sharing.names import FINGERPRINT, NAME, VERSION

NAMES = st.from_regex(NAME, fullmatch=True)
DIGESTS = st.from_regex(FINGERPRINT, fullmatch=True)
RELEASES = st.from_regex(VERSION, fullmatch=True)
FILES = st.builds(policy_file, NAMES) | st.builds(role_file, NAMES)
ENTRIES = st.builds(
    Locked,
    version=RELEASES,
    content_hash=DIGESTS,
    key_fingerprint=st.none() | DIGESTS,
    dependencies=st.dictionaries(NAMES, RELEASES, max_size=3),
    files=st.dictionaries(FILES, DIGESTS, max_size=3),
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LOCKS = st.builds(
    lambda hub, artifacts: Lock(
        hub, {name: _own(name, each) for name, each in artifacts.items()}
    ),
    TEXTS,
    st.dictionaries(NAMES, ENTRIES, max_size=4),
)


def _own(name: str, locked: Locked) -> Locked:
    """The same, with no file of policies but its own."""
    files = {
        path: digest
        for path, digest in locked.files.items()
        if path in (*locked.role_files, policy_file(name))
    }
    return replace(locked, files=files)


ENTRY: dict[str, Any] = {
    "version": "1",
    "content_hash": KEY,
    "key_fingerprint": None,
    "dependencies": {"other": "2"},
    "files": {"policies/hub/team.json": KEY, "roles/team.json": KEY},
}
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "hub": "https://hub.example",
    "artifacts": {"team": ENTRY},
}


def without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key != name}


def document(**fields: Any) -> dict[str, Any]:
    return {**DOCUMENT, **fields}


def entry(**fields: Any) -> dict[str, Any]:
    return document(artifacts={"team": {**ENTRY, **fields}})


FALSE: tuple[Any, ...] = (7, True, [], {})
WRONG: list[Any] = [None, True, 7, 1.5, "text", [], ["team"], [["team", {}]], {}]
PATHS = {
    "above": "policies/hub/../team.json",
    "far above": "../../etc/passwd.json",
    "role above": "roles/../settings.json",
    "absolute": "/etc/passwd",
    "absolute role": "/roles/team.json",
    "own policy": "policies/team.json",
    "settings": "settings.json",
    "deeper": "policies/hub/a/b.json",
    "deeper role": "roles/a/b.json",
    "hidden": "policies/hub/.team.json",
    "no name": "roles/.json",
    "another ending": "roles/team.py",
    "line": "roles/team.json\n",
    "nul": "roles/te\0am.json",
    "doubled slash": "roles//team.json",
    "dot": "./roles/team.json",
    "too long": f"roles/{'a' * 129}.json",
    "nothing": "",
}
MAPPINGS: list[Any] = [7, "text", [], ["a"], {"a": 1}, {"a": None}, {"a": ["1"]}]
BAD_NAMES = ["", "a/b", "..", "../a", "/a", ".a", "a@1", "a b", "a\n", "é", "a" * 129]
BAD_VERSIONS = ["", "1/2", "../1", ".1", "1\n", "1 ", "é", "1" * 65]
BAD_DIGESTS = ["", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n"]

DAMAGED: dict[str, Any] = {
    **{f"document {each!r}": each for each in WRONG},
    **{f"no {each}": without(DOCUMENT, each) for each in DOCUMENT},
    **{
        f"version {each!r}": document(version=each)
        for each in (0, 2, "1", *FALSE[2:], None)
    },
    **{f"hub {each!r}": document(hub=each) for each in (None, *FALSE)},
    **{f"artifacts {each!r}": document(artifacts=each) for each in WRONG if each != {}},
    **{
        f"artifact {each!r}": document(artifacts={"team": each})
        for each in (*WRONG, "version")
    },
    **{f"name {each!r}": document(artifacts={each: ENTRY}) for each in BAD_NAMES},
    **{
        f"no {each} of one": document(artifacts={"team": without(ENTRY, each)})
        for each in ENTRY
    },
    **{
        f"{name} {each!r}": entry(**{name: each})
        for name in ("version", "content_hash", "key_fingerprint")
        for each in (*FALSE, "")
    },
    **{
        f"{name} null": entry(**{name: None})
        for name in without(ENTRY, "key_fingerprint")
    },
    **{
        f"{name} {each!r}": entry(**{name: each})
        for name in ("dependencies", "files")
        for each in MAPPINGS
    },
    **{f"release {each!r}": entry(version=each) for each in BAD_VERSIONS},
    **{f"hash {each!r}": entry(content_hash=each) for each in BAD_DIGESTS},
    **{f"key {each!r}": entry(key_fingerprint=each) for each in BAD_DIGESTS},
    **{f"digest {each!r}": entry(files={"roles/a.json": each}) for each in BAD_DIGESTS},
    **{f"needs {each!r}": entry(dependencies={each: "1"}) for each in BAD_NAMES},
    **{f"needs a@{each!r}": entry(dependencies={"a": each}) for each in BAD_VERSIONS},
    **{f"path {name}": entry(files={each: KEY}) for name, each in PATHS.items()},
}
BYTES = {
    "nothing": b"",
    "no JSON": b"{",
    "invalid UTF-8": b'{"version": 1, "hub": "\xff", "artifacts": {}}',
    "UTF-16": json.dumps(DOCUMENT).encode("utf-16"),
    "nul": b"\0" * 100,
    "lone surrogate": rb'{"version": 1, "hub": "\ud800", "artifacts": {}}',
    "twice": b'{"version": 1, "hub": "", "hub": "", "artifacts": {}}',
    "NaN": b'{"version": NaN, "hub": "", "artifacts": {}}',
    "huge number": b'{"version": 1' + b"0" * 10_000 + b', "hub": "", "artifacts": {}}',
    "deep": b"[" * 100_000,
    "deep and whole": b"[" * 1000 + b"]" * 1000,
    "huge": b" " * (LARGEST + 1),
}


def test_without_a_file_nothing_is_installed(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "hub.lock") == Lock()


@given(LOCKS)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, lock: Lock
) -> None:
    path = tmp_path_factory.getbasetemp() / "hub.lock"
    path.write_bytes(lock.as_bytes())
    assert read_lock(path) == lock
    assert read_lock(path).as_bytes() == lock.as_bytes()


def test_the_order_of_artifacts_changes_no_byte() -> None:
    one, other = lock_of(a="", b=""), lock_of(b="", a="")
    assert one.as_bytes() == other.as_bytes()


def test_fields_of_a_newer_redlane_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "hub.lock"
    path.write_text(json.dumps({**entry(more=1), "more": [2]}), encoding="utf-8")
    assert list(read_lock(path).artifacts) == ["team"]


@pytest.mark.parametrize("value", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_lock_is_an_error_that_names_it(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "hub.lock"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(LoadError) as found:
        read_lock(path)
    assert str(found.value).startswith(f"{path} is damaged")


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES)
def test_a_lock_that_is_no_json_is_an_error_that_names_it(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "hub.lock"
    path.write_bytes(data)
    with pytest.raises(LoadError) as found:
        read_lock(path)
    assert str(found.value).startswith(f"{path}: ")


def test_a_lock_that_is_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=f"{tmp_path}: not a file but a directory"):
        read_lock(tmp_path)


@pytest.mark.parametrize("to", ["nowhere", "hub.lock"])
def test_a_lock_that_is_a_link_to_nothing_is_not_absent(
    tmp_path: Path, to: str
) -> None:
    (tmp_path / "hub.lock").symlink_to(to)
    with pytest.raises(LoadError, match=r"hub\.lock: cannot be read"):
        read_lock(tmp_path / "hub.lock")


def test_files_of_all_artifacts_are_the_files_of_the_lock() -> None:
    one, two = policy_file("one"), role_file("two")
    lock = Lock(
        "", {"one": locked(files={one: KEY}), "two": locked(files={two: "b" * 64})}
    )
    assert lock.files == {one: KEY, two: "b" * 64}
    assert [each.role_files for each in lock.artifacts.values()] == [[], [two]]


def test_what_nothing_needs_was_asked_for() -> None:
    lock = lock_of(team="git tags", git="tags", tags="", own="")
    assert lock.roots == ["team", "own"]
    assert lock.needing("tags") == ["team", "git"]


@pytest.mark.parametrize(
    ("roots", "reached"),
    [
        ("", ""),
        ("tags", "tags"),
        ("git", "git tags"),
        ("team", "team git tags"),
        ("own tags", "own tags"),
        ("unknown", ""),
        ("one", "one two"),
    ],
)
def test_what_is_reached_is_all_that_is_needed(roots: str, reached: str) -> None:
    lock = lock_of(team="git", git="tags gone", tags="", own="", one="two", two="one")
    assert lock.reached(roots.split()) == set(reached.split())


def test_what_is_left_is_sorted_and_of_the_same_hub() -> None:
    lock = lock_of(b="", c="", a="").only({"c", "a"})
    assert (lock.hub, [*lock.artifacts]) == ("https://hub.example", ["a", "c"])


def test_versions_that_agree_are_required_and_enough() -> None:
    lock_of(team="git", git="").require_agreement()


@pytest.mark.parametrize(
    ("others", "says"),
    [({}, "it would go"), ({"git": locked("2")}, "it would be 2")],
)
def test_another_version_than_what_is_needed_is_refused(
    others: dict[str, Locked], says: str
) -> None:
    lock = Lock("", {"team": locked("3", needed={"git": "1"}), **others})
    with pytest.raises(RefusedError) as found:
        lock.require_agreement()
    assert f"team@3 needs git@1, and {says}" in str(found.value)
