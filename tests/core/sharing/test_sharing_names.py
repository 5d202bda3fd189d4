"""Names and versions of a hub become names of files: no other ones are taken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.errors import UsageError
from redlane.sharing.names import (
    NAME,
    VERSION,
    checked_fingerprint,
    is_older,
    reference,
)

NUMBERED = st.lists(st.integers(0, 99), min_size=1, max_size=5).map(
    lambda numbers: ".".join(map(str, numbers))
)
VERSIONS = NUMBERED | st.from_regex(VERSION, fullmatch=True)

REFERENCES = {
    "name": ("team", ("team", None)),
    "version": ("team@1.0.0", ("team", "1.0.0")),
    "digit": ("9@v1+b-2_x", ("9", "v1+b-2_x")),
    "marks": ("a_b.c-D@1", ("a_b.c-D", "1")),
    "longest": (f"{'a' * 128}@{'1' * 64}", ("a" * 128, "1" * 64)),
}
NONE = {
    "nothing": "",
    "no name": "@1",
    "no version": "team@",
    "two versions": "team@1@2",
    "parent": "..",
    "path": "a/b",
    "absolute": "/a",
    "above": "../a",
    "version above": "a@../1",
    "version with a slash": "a@1/2",
    "version starts with a mark": "a@.1",
    "hidden": ".team",
    "option": "-team",
    "backslash": "a\\b",
    "space": "a b",
    "line": "team\n",
    "version with a line": "team@1\n",
    "nul": "a\0",
    "letter": "é",
    "digit of another script": "٣",
    "too long": "a" * 129,
    "version too long": f"a@{'1' * 65}",
    "surrogate": "a\udcff",
}


@pytest.mark.parametrize(("named", "is_"), REFERENCES.values(), ids=REFERENCES)
def test_a_reference_is_a_name_and_maybe_a_version(
    named: str, is_: tuple[str, str | None]
) -> None:
    assert reference(named) == is_


@pytest.mark.parametrize("named", NONE.values(), ids=NONE)
def test_what_cannot_be_a_file_name_is_no_reference(named: str) -> None:
    with pytest.raises(UsageError, match="must be NAME or NAME@VERSION"):
        reference(named)


@given(st.text(max_size=20))
def test_a_reference_is_refused_or_stays_within_its_directory(named: str) -> None:
    try:
        name, version = reference(named)
    except UsageError:
        return
    assert NAME.fullmatch(name)
    assert not {"/", "\0"} & {*name, *(version or "")}
    assert not name.startswith(".")


@pytest.mark.parametrize("text", ["0a" * 32, f" {'0A' * 32}\n"])
def test_a_fingerprint_is_taken_however_it_was_copied(text: str) -> None:
    assert checked_fingerprint(text) == "0a" * 32


@pytest.mark.parametrize(
    "text", ["", "a" * 63, "a" * 65, "g" * 64, f"{'a' * 32} {'a' * 31}", "٣" * 64]
)
def test_what_is_no_sha_256_is_no_fingerprint(text: str) -> None:
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        checked_fingerprint(text)


OLDER = [
    ("1", "2"),
    ("1.9", "1.10"),
    ("v1", "2"),
    ("1", "v1.0.1"),
    ("1.0", "1.0.1"),
    ("0", "0.0.1"),
    ("09", "10"),
    ("1", "2-beta"),
    ("1+x", "2"),
    ("2024-01-01", "2025-06-01"),
    ("1.0-rc1", "1.0"),
    ("1.0-rc1", "1.1"),
]
NEVER = [
    ("1", "1.0.0"),
    ("1.0", "v1"),
    ("01", "1"),
    ("0", "0.0"),
    ("a", "b"),
    ("", "1"),
    ("vv1", "2"),
]


@pytest.mark.parametrize(("one", "other"), OLDER)
def test_a_version_with_lower_numbers_is_older(one: str, other: str) -> None:
    assert is_older(one, other)
    assert not is_older(other, one)


@pytest.mark.parametrize(("one", "other"), NEVER)
def test_versions_are_not_compared_by_more_than_numbers(one: str, other: str) -> None:
    assert not is_older(one, other)
    assert not is_older(other, one)


@given(VERSIONS)
def test_no_version_is_older_than_itself(one: str) -> None:
    assert not is_older(one, one)


@given(VERSIONS, VERSIONS)
def test_of_two_versions_at_most_one_is_older(one: str, other: str) -> None:
    assert not (is_older(one, other) and is_older(other, one))


@given(NUMBERED, NUMBERED, NUMBERED)
def test_older_than_an_older_one_is_older(one: str, two: str, three: str) -> None:
    assert is_older(one, three) or not (is_older(one, two) and is_older(two, three))


def test_the_longest_version_that_there_can_be_is_compared() -> None:
    assert is_older("1" * 63, "1" * 64)
