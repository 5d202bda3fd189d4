"""`hub-trust.json`: whose signatures count, and which keys came in place of others."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from core.sharing.sharing_samples import KEY, NEW_KEY, OTHER_KEY
from hypothesis import given
from hypothesis import strategies as st

from redlane.errors import LoadError, UsageError
from redlane.policies.files import LARGEST
from redlane.sharing.names import FINGERPRINT
from redlane.sharing.trust import Publisher, Trust, read_trust

KEYS = st.from_regex(FINGERPRINT, fullmatch=True)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PUBLISHERS = st.builds(Publisher, TEXTS, st.none() | TEXTS, st.booleans())
TRUSTS = st.builds(
    Trust,
    st.dictionaries(KEYS, PUBLISHERS, max_size=4),
    st.dictionaries(KEYS, KEYS, max_size=4),
)

ONE = {"since": "2026-01-01T00:00:00Z", "note": None}
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "publishers": {KEY: ONE},
    "replaced": {OTHER_KEY: KEY},
}


def document(**fields: Any) -> dict[str, Any]:
    return {**DOCUMENT, **fields}


WRONG: tuple[Any, ...] = (None, True, 7, "text", [], [KEY], [[KEY, ONE]])
FALSE: tuple[Any, ...] = (7, True, [], {})
BAD_KEYS = ["", "a", "a" * 63, "a" * 65, "A" * 64, "g" * 64, "a" * 64 + "\n", "../a"]
DAMAGED: dict[str, Any] = {
    **{f"document {each!r}": each for each in (*WRONG, {})},
    **{
        f"no {name}": {key: each for key, each in DOCUMENT.items() if key != name}
        for name in DOCUMENT
    },
    **{f"version {each!r}": document(version=each) for each in (0, 2, "1", None, [1])},
    **{f"publishers {each!r}": document(publishers=each) for each in WRONG},
    **{f"replaced {each!r}": document(replaced=each) for each in WRONG},
    **{
        f"publisher {each!r}": document(publishers={KEY: each}) for each in (*WRONG, {})
    },
    **{
        f"no {name} of one": document(publishers={KEY: {name: "text"}})
        for name in ("since", "note")
    },
    **{
        f"since {each!r}": document(publishers={KEY: {**ONE, "since": each}})
        for each in (None, *FALSE)
    },
    **{
        f"note {each!r}": document(publishers={KEY: {**ONE, "note": each}})
        for each in FALSE
    },
    **{
        f"states {each!r}": document(publishers={KEY: {**ONE, "states": each}})
        for each in WRONG
        if each is not True
    },
    **{f"key {each!r}": document(publishers={each: ONE}) for each in BAD_KEYS},
    **{f"old {each!r}": document(replaced={each: KEY}) for each in BAD_KEYS},
    **{
        f"new {each!r}": document(replaced={KEY: each}) for each in (*BAD_KEYS, 7, None)
    },
}
BYTES = {
    "nothing": b"",
    "no JSON": b"{",
    "invalid UTF-8": b'{"version": 1, "publishers": {"\xff": {}}, "replaced": {}}',
    "twice": b'{"version": 1, "publishers": {}, "publishers": {}, "replaced": {}}',
    "deep": b"[" * 100_000,
    "huge": b" " * (LARGEST + 1),
}


def test_without_a_file_nobody_is_trusted(tmp_path: Path) -> None:
    assert read_trust(tmp_path / "hub-trust.json") == Trust()


@given(TRUSTS)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, trust: Trust
) -> None:
    path = tmp_path_factory.getbasetemp() / "hub-trust.json"
    path.write_bytes(trust.as_bytes())
    assert read_trust(path) == trust


def test_a_key_of_before_there_were_statements_states_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hub-trust.json"
    path.write_text(json.dumps(DOCUMENT))
    assert read_trust(path).publishers == {
        KEY: Publisher(str(ONE["since"]), None, states=False)
    }


@pytest.mark.parametrize("value", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, value: Any) -> None:
    path = tmp_path / "hub-trust.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(LoadError) as found:
        read_trust(path)
    assert str(found.value).startswith(f"{path} is damaged")


@pytest.mark.parametrize("data", BYTES.values(), ids=BYTES)
def test_a_file_that_is_no_json_is_an_error_that_names_it(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "hub-trust.json"
    path.write_bytes(data)
    with pytest.raises(LoadError) as found:
        read_trust(path)
    assert str(found.value).startswith(f"{path}: ")


def test_a_key_is_trusted_since_now_with_its_note() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    (publisher,) = Trust().trusting(KEY, "Ada").publishers.values()
    assert publisher.note == "Ada"
    assert publisher.since.endswith("Z")
    assert before <= datetime.fromisoformat(publisher.since) <= datetime.now(UTC)


def test_a_key_in_place_of_another_takes_its_trust_away() -> None:
    trust = Trust().trusting(KEY, None).trusting(NEW_KEY, None, replaces=KEY)
    assert [*trust.publishers] == [NEW_KEY]
    assert trust.is_continued(KEY, NEW_KEY)
    assert not trust.is_continued(NEW_KEY, KEY)


def test_a_key_may_replace_one_that_was_not_trusted() -> None:
    assert Trust().trusting(NEW_KEY, None, replaces=KEY).is_continued(KEY, NEW_KEY)


def test_a_key_that_is_trusted_no_more_continues_nothing() -> None:
    trust = Trust().trusting(NEW_KEY, None, replaces=KEY).without(NEW_KEY)
    assert not trust.is_continued(KEY, NEW_KEY)
    assert trust.replaced == {KEY: NEW_KEY}


def test_a_key_does_not_replace_itself() -> None:
    with pytest.raises(UsageError, match="does not replace itself"):
        Trust().trusting(KEY, None, replaces=KEY)


def test_a_key_that_comes_back_is_continued_by_nothing() -> None:
    trust = Trust().trusting(NEW_KEY, None, replaces=KEY).trusting(KEY, None, NEW_KEY)
    assert [*trust.publishers] == [KEY]
    assert trust.is_continued(NEW_KEY, KEY)
    assert not trust.is_continued(KEY, NEW_KEY)


def test_what_is_trusted_before_stays_as_it_was() -> None:
    before = Trust()
    before.trusting(KEY, None).trusting(NEW_KEY, None, replaces=KEY)
    assert before == Trust()


def test_who_is_trusted_no_more_is_gone() -> None:
    trust = Trust().trusting(KEY, None).trusting(OTHER_KEY, None).without(KEY)
    assert [*trust.publishers] == [OTHER_KEY]


def test_who_is_not_trusted_cannot_be_distrusted() -> None:
    with pytest.raises(UsageError, match=f"{KEY} is not trusted"):
        Trust().without(KEY)


@given(st.lists(KEYS, min_size=1, max_size=8, unique=True))
def test_the_last_key_of_a_chain_continues_each_and_is_alone(keys: list[str]) -> None:
    trust = Trust().trusting(keys[0], None)
    for old, new in pairwise(keys):
        trust = trust.trusting(new, None, replaces=old)
    assert [*trust.publishers] == keys[-1:]
    assert all(trust.is_continued(each, keys[-1]) for each in keys)
    assert not any(trust.is_continued(keys[-1], each) for each in keys[:-1])


@given(KEYS)
def test_a_key_continues_itself_whoever_is_trusted(key: str) -> None:
    assert Trust().is_continued(key, key)


def test_a_stranger_continues_nobody() -> None:
    trust = Trust().trusting(KEY, None).trusting(OTHER_KEY, None)
    assert not trust.is_continued(KEY, OTHER_KEY)


@given(st.dictionaries(KEYS, KEYS, max_size=6), KEYS)
def test_a_circle_of_replaced_keys_ends(replaced: dict[str, str], key: str) -> None:
    circle = dict(zip(replaced, [*replaced][1:] + [*replaced][:1], strict=True))
    assert not any(Trust({}, circle).is_continued(old, f"{key}0") for old in circle)
