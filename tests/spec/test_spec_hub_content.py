"""What may be published as content, and the schema it must fit (hub API: Artifacts)."""

import json
import select
from collections.abc import Iterator
from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import Account, Answer, HubClient, client_of, unique
from spec.hub_signing import content_hash

ARTIFACTS = "/api/v1/artifacts"
CAP = 262_144


def fetched(account: Account, made: dict[str, Any]) -> Answer:
    return account.http.get(f"{ARTIFACTS}/{made['name']}/{made['version']}")


CONTENTS = {
    "object": '{"a": [1, 2.5, {"b": null}]}',
    "empty-object": "{}",
    "array": "[1, 2, 3]",
    "text": '"just text"',
    "number": "17",
    "float": "-2.5e-3",
    "true": "true",
    "null": "null",
    "white-space-around": ' \t\r\n{"a" : 1}\n ',
    "unicode": '{"größe": "😀 \u2028"}',
    "escapes": '"\\u00e9 \\ud835\\udd4f \\" \\\\ \\/ \\n \\u0000"',
    "html": '"</script><b>&amp;"',
    "order-of-keys": '{"z": 1, "a": 2}',
    "zeros": '{"a": 1.0, "b": -0, "c": 1E5}',
    "big-integer": "123456789012345678901234567890",
    "depth-64": "[" * 64 + "]" * 64,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_any_json_value_is_content(author: Account, content: str) -> None:
    made = author.publish(content=content)

    answer = fetched(author, made)

    assert made["content_hash"] == content_hash(content)
    assert answer.json["content_hash"] == content_hash(content)
    assert json.dumps(answer.json["content"]) == json.dumps(json.loads(content))


BAD_CONTENTS = {
    "empty": "",
    "blank": "  ",
    "words": "not json",
    "unfinished": '{"a": 1',
    "two-values": "{} {}",
    "comma": '{"a": 1,}',
    "single-quotes": "{'a': 1}",
    "comment": "{} // why",
    "bare-key": "{a: 1}",
    "nan": '{"a": NaN}',
    "infinity": "Infinity",
    "minus-infinity": "[-Infinity]",
    "leading-zero": "01",
    "plus": "+1",
    "point": "1.",
    "hex": "0x10",
    "python": "None",
    "underscore": "1_000",
    "arabic-digit": "\u0661",
    "control-character": '"a\tb"',
    "bad-escape": '"\\x41"',
    "lone-surrogate": '"\\ud800"',
    "reversed-surrogates": '"\\ude00\\ud83d"',
    "byte-order-mark": "\ufeff{}",
    "form-feed": "\f{}",
    "no-break-space": "\xa0{}",
    "duplicate-key": '{"a": 1, "a": 2}',
    "duplicate-key-escaped": '{"a": 1, "\\u0061": 2}',
    "duplicate-key-deep": '[{"b": {"a": 1, "a": 1}}]',
    "depth-65": "[" * 65 + "]" * 65,
    "depth-65-of-objects": '{"a":' * 65 + "1" + "}" * 65,
    "depth-100000": "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("content", BAD_CONTENTS.values(), ids=BAD_CONTENTS.keys())
def test_content_is_strict_json(author: Account, content: str) -> None:
    name = unique("refused")

    answer = author.push(name, content=content)

    assert answer.status == 400
    assert "content" in answer.error.lower()
    assert author.http.get(f"{ARTIFACTS}/{name}/1").status == 404


def test_number_too_big_for_a_float_never_makes_bad_json(author: Account) -> None:
    name = unique("huge")

    if author.push(name, content="1e999").status == 201:
        answer = author.http.get(f"{ARTIFACTS}/{name}/1")
        assert answer.status == 200
        assert b"1e999" in answer.body
        assert b"Infinity" not in answer.body


def text_of_bytes(count: int, character: str = "x") -> str:
    """A JSON text of exactly so many bytes."""
    width = len(character.encode())
    inner, rest = divmod(count - 2, width)
    return '"' + "x" * rest + character * inner + '"'


SIZES = {
    "cap": (CAP, "x", 201),
    "cap-and-one": (CAP + 1, "x", 400),
    "cap-of-2-byte-characters": (CAP, "é", 201),
    "cap-and-one-of-2-byte-characters": (CAP + 1, "é", 400),
    "cap-of-4-byte-characters": (CAP, "😀", 201),
    "cap-of-deletes": (CAP, "\x7f", 201),
}


@pytest.mark.parametrize("row", SIZES.values(), ids=SIZES.keys())
def test_content_has_at_most_256_kilobytes(
    author: Account, row: tuple[int, str, int]
) -> None:
    count, character, status = row
    content = text_of_bytes(count, character)
    assert len(content.encode()) == count

    answer = author.push(content=content)

    assert answer.status == status
    if status == 201:
        assert answer.json["content_hash"] == content_hash(content)


def test_white_space_counts_for_the_cap(author: Account) -> None:
    assert author.push(content="{}".ljust(CAP)).status == 201
    assert author.push(content="{}".ljust(CAP + 1)).status == 400


def test_escapes_of_the_request_do_not_count_for_the_cap(author: Account) -> None:
    content = text_of_bytes(CAP)
    escaped = "".join(f"\\u{ord(character):04x}" for character in content)
    body = f'{{"name": "{unique("escaped")}", "version": "1", "content": "{escaped}"}}'

    answer = author.http.send(
        "POST", ARTIFACTS, body.encode(), {"Content-Type": "application/json"}
    )

    assert answer.status == 201
    assert answer.json["content_hash"] == content_hash(content)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An approved account on a hub that takes 100 bytes and signed contents only."""
    hub = HubProcess(tmp_path_factory.mktemp("small"), max_content_bytes="100")
    try:
        hub.start()
        account = client_of(hub).register()
        hub.approve(account.email)
        yield account
    finally:
        hub.stop()


def test_cap_is_a_setting(small: Account) -> None:
    statuses = [small.push(content=text_of_bytes(n)).status for n in (100, 101)]

    assert statuses == [201, 400]


DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
POSITIVE = {"type": "object", "properties": {"n": {"exclusiveMinimum": 0}}}
LOCAL = {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}
# In draft 7 a list of item schemas is `items`, later it is `prefixItems`.
TUPLE_7 = {"$schema": DRAFT_7, "items": [{"type": "integer"}]}
TUPLE_2020 = {"prefixItems": [{"type": "integer"}]}
SCHEMAS: dict[str, tuple[dict[str, Any], str, int]] = {
    "anything": ({}, "17", 201),
    "fits": (POSITIVE, '{"n": 1}', 201),
    "does-not-fit": (POSITIVE, '{"n": 0}', 400),
    "wrong-type": (POSITIVE, "[]", 400),
    "local-reference-fits": (LOCAL, "1", 201),
    "local-reference-does-not": (LOCAL, '"1"', 400),
    "anchor": ({"$defs": {"x": {"$anchor": "y", "const": 1}}, "$ref": "#y"}, "1", 201),
    "recursive": ({"items": {"$ref": "#"}, "type": "array"}, "[[[]]]", 201),
    "recursive-does-not-fit": ({"items": {"$ref": "#"}, "type": "array"}, "[1]", 400),
    "draft-2020-named": ({"$schema": DRAFT_2020} | TUPLE_2020, '["x"]', 400),
    "draft-2020-is-meant": (TUPLE_2020, '["x"]', 400),
    "draft-7-named": (TUPLE_7, '["x"]', 400),
    "draft-7-fits": (TUPLE_7, '[1, "x"]', 201),
    "unknown-type": ({"type": "thing"}, "{}", 400),
    "bad-keyword": ({"minimum": "low"}, "1", 400),
    "bad-deep-keyword": ({"properties": {"a": {"type": 5}}}, "{}", 400),
    "bad-pattern": ({"pattern": "("}, '"x"', 400),
    "unknown-draft": ({"$schema": "https://example.com/mine"}, "{}", 400),
    "dangling-reference": ({"$ref": "#/$defs/nothing"}, "{}", 400),
    "reference-to-itself": ({"$ref": "#"}, "{}", 400),
}


@pytest.mark.parametrize("row", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_content_must_conform_to_the_schema(
    author: Account, row: tuple[dict[str, Any], str, int]
) -> None:
    schema, content, status = row
    name = unique("schema")

    answer = author.push(name, schema=schema, content=content)

    assert answer.status == status
    again = author.http.get(f"{ARTIFACTS}/{name}/1")
    assert again.status == (200 if status == 201 else 404)
    if status == 201:
        assert answer.json["content_schema"] == schema
        assert again.json["content_schema"] == schema
    else:
        assert "schema" in answer.error.lower()


OUTSIDE = {
    "web": "http://127.0.0.1:1/schema.json",
    "file": "file:///etc/passwd",
    "relative": "other.json",
    "draft": DRAFT_7,
    "urn": "urn:example:other",
}


@pytest.mark.parametrize("reference", OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_schema_references_nothing_outside_itself(
    author: Account, reference: str, keyword: str
) -> None:
    answer = author.push(schema={keyword: reference}, content="{}")

    assert answer.status == 400
    assert "schema" in answer.error.lower()


def test_reference_outside_is_refused_also_where_it_is_not_reached(
    author: Account,
) -> None:
    schema = {"properties": {"never": {"$ref": "https://example.com/s.json"}}}

    assert author.push(schema=schema, content="{}").status == 400


# A number of words, so that nobody can guess the text it would have to match.
BOMBS: dict[str, tuple[dict[str, Any], object]] = {
    "pattern": ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
    "nested-references": (
        {
            "$defs": {
                f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10}
                for n in range(12)
            }
            | {"d12": {"type": "object"}},
            "$ref": "#/$defs/d0",
        },
        {},
    ),
    "unique-items": ({"uniqueItems": True}, [[n] for n in range(40_000)]),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_schema_that_takes_too_long_is_refused(author: Account, kind: str) -> None:
    schema, content = BOMBS[kind]
    text = json.dumps(content, separators=(",", ":"))

    answer = author.push(schema=schema, content=text[:CAP])

    assert answer.status in {201, 400}
    assert answer.status == 400 or kind == "unique-items"


def test_others_are_served_while_a_schema_takes_long(
    author: Account, anyone: HubClient
) -> None:
    # Time ends the check, and a busy machine may not have served the others by then.
    assert any(others_are_first(author, anyone) for _ in range(5))


def others_are_first(author: Account, anyone: HubClient) -> bool:
    schema, content = BOMBS["pattern"]
    with author.http.connection() as connection:
        body = {"name": unique("slow"), "version": "1", "schema": schema}
        connection.request(
            "POST",
            ARTIFACTS,
            json.dumps(body | {"content": json.dumps(content)}),
            author.http.head() | {"Content-Type": "application/json"},
        )
        for _ in range(3):
            assert anyone.get("/api/v1/artifacts/search").status == 200
        answered, _, _ = select.select([connection.sock], [], [], 0)
        assert connection.getresponse().status == 400
        return not answered
