"""Of several faults the one that stands first in the specification is reported."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hub_instance import Running, new_hub
from hub_publisher import Publisher, base64_text, new_publisher
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane_hub.errors import InvalidInputError
from redlane_hub.services import publish_rules as rules

MOST = 64
Body = dict[str, Any]
Fault = Callable[[Body, Publisher], None]


def _add(field: str, value: Any) -> Fault:
    return lambda body, _: body.update({field: value})


def _over_the_cap(body: Body, _ann: Publisher) -> None:
    body["content"] += " " * MOST


def _no_json(body: Body, _ann: Publisher) -> None:
    body["content"] = "{" + body["content"]


def _need(body: Body, name: str) -> None:
    body.setdefault("dependencies", []).append({"name": name, "version": "1"})


def _missing(body: Body, _ann: Publisher) -> None:
    _need(body, "missing")


def _cycle(body: Body, _ann: Publisher) -> None:
    _need(body, body["name"])


def _wrong_signature(body: Body, ann: Publisher) -> None:
    body |= {"signature": base64_text(bytes(64)), "key_fingerprint": ann.fingerprint}


def _unknown_key(body: Body, _ann: Publisher) -> None:
    body |= {"signature": base64_text(bytes(64)), "key_fingerprint": "0" * 64}


FAULTS: dict[str, tuple[Fault, str]] = {
    "name": (_add("name", "-"), "'name' must be"),
    "version": (_add("version", ""), "'version' must be"),
    "tags": (_add("tags", [""]), "'tags[0]' must have"),
    "description": (_add("description", "x" * 1001), "'description' must have"),
    "cap": (_over_the_cap, "'content' must have at most"),
    "json": (_no_json, "'content' is not valid JSON"),
    "schema": (_add("schema", {"type": "null"}), "'content' does not conform"),
    "visibility": (_add("visibility", "hidden"), "'visibility' must be"),
    "set": (_add("artifact_type", "set"), "'dependencies': a set needs"),
    "missing": (_missing, "'dependencies': 'missing@1' does not exist"),
    "cycle": (_cycle, "'dependencies' form a cycle back"),
    "alone": (_add("signature", "x"), "'signature' and 'key_fingerprint' must"),
    "key": (_unknown_key, "'key_fingerprint' is no registered"),
    "signature": (_wrong_signature, "'signature' does not verify"),
    "conflict": (_add("name", "taken"), "artifact 'taken@1' already exists"),
}
"""In the specification's order."""

ORDER = list(FAULTS)
EXCLUDING = ({"set", "missing"}, {"set", "cycle"}, {"alone", "key"})
"""Pairs that no body can have: the one mends the other."""
EXCLUDING += ({"alone", "signature"},)


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Publisher]:
    running = new_hub(tmp_path_factory.mktemp("hub"), max_content_bytes=MOST)
    made = new_publisher(running)
    made.register_key()
    made.publish("taken")
    yield made
    running.close()


def possible(names: set[str]) -> bool:
    return not any(pair <= names for pair in EXCLUDING)


def published(running: Running) -> int:
    counted = running.database.reading().execute("SELECT count(*) FROM artifacts")
    number: int = counted.fetchone()[0]
    return number


@pytest.mark.parametrize("name", ORDER)
def test_fault_alone_is_reported(ann: Publisher, name: str) -> None:
    assert_reported(ann, {name})


@settings(max_examples=examples(120), deadline=None)
@given(st.sets(st.sampled_from(ORDER), min_size=2, max_size=5).filter(possible))
def test_first_fault_is_reported_and_nothing_is_published(
    ann: Publisher, names: set[str]
) -> None:
    assert_reported(ann, names)


def assert_reported(ann: Publisher, names: set[str]) -> None:
    body: Body = {"name": "fresh", "version": "1", "content": "{}"}
    for name in sorted(names, key=ORDER.index, reverse=True):
        FAULTS[name][0](body, ann)
    first = min(names, key=ORDER.index)
    before = published(ann.running)
    answer = ann.publish(**body)
    assert answer.json["error"].startswith(FAULTS[first][1])
    assert answer.status_code == (409 if first == "conflict" else 400)
    assert published(ann.running) == before


def test_form_is_reported_before_every_rule(ann: Publisher) -> None:
    answer = ann.publish("-", description=5)
    assert answer.json["error"] == "'description' must be a string"


SIGNS = st.text(alphabet="aZ09-_.+/ \n\0é٣@", max_size=5)
TEXTS = st.text(max_size=6) | SIGNS | st.integers(60, 130).map("x".__mul__)


def accepted(check: Callable[[str], None], text: str) -> bool:
    try:
        check(text)
    except InvalidInputError:
        return False
    return True


@given(TEXTS)
def test_name_is_as_specified(text: str) -> None:
    expected = re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9\-_.]{0,127}", text)
    assert accepted(rules.check_name, text) == bool(expected)


@given(TEXTS)
def test_version_is_as_specified(text: str) -> None:
    expected = re.fullmatch(r"[a-zA-Z0-9][a-zA-Z0-9\-_.+]{0,63}", text)
    assert accepted(rules.check_version, text) == bool(expected)


@given(st.lists(TEXTS, max_size=22))
def test_tags_are_as_specified(tags: list[str]) -> None:
    expected = len(tags) <= 20 and all(1 <= len(tag) <= 64 for tag in tags)
    assert accepted(lambda _: rules.check_tags(tuple(tags)), "") == expected
