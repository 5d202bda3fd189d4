"""A publisher's statement is of one release, by one key, and of nothing else."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import pytest
from hub_people import fingerprint_of
from hub_statements import Hand
from hypothesis import assume, example, given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from redlane.errors import RedlaneError
from redlane.hubclient import Artifact, Dependency, Release
from redlane.hubclient.signing import canonical, content_hash
from redlane.hubclient.statement import STATEMENT, Proof, proof_of, stating

KEY, OTHER = SigningKey(bytes(range(32))), SigningKey(bytes(32))
CONTENT: Any = [{"id": "é", "pattern": "rm  -rf", "n": 1.5}]
MEMBERS = (
    Dependency("git", "1", required=True),
    Dependency("git", "2", required=True),
    Dependency("tags", "1", required=False),
)
RELEASE = Release(
    "team", "3", canonical(CONTENT), artifact_type="set", dependencies=MEMBERS
)
OWN = {"type": "array", "$defs": {"p": {"const": "redlane-statement"}}}


def pulled(release: Release = RELEASE, key: SigningKey = KEY) -> Artifact:
    """A release as a hub tells of it once it was pushed with --sign."""
    return Artifact(
        id="1",
        name=release.name,
        version=release.version,
        description=None,
        owner="ada@example.org",
        owner_is_endorsed=False,
        tags=(),
        downloads=0,
        visibility="public",
        created_at="2026-01-01T00:00:00Z",
        content=CONTENT,
        content_hash=content_hash(release.content),
        content_schema=stating(release, Hand(key)),
        signed=True,
        key_fingerprint=fingerprint_of(key),
        signature_valid=True,
        artifact_type=release.artifact_type,
        yanked=False,
        yanked_reason=None,
        dependencies=release.dependencies,
    )


FOUND = pulled()
WORDS: dict[str, str] = FOUND.content_schema[STATEMENT]


@pytest.mark.parametrize("needs", [*permutations(MEMBERS)])
def test_statement_holds_for_what_was_stated_in_any_order(
    needs: tuple[Dependency, ...],
) -> None:
    assert proof_of(replace(FOUND, dependencies=needs)) is Proof.HOLDS


@pytest.mark.parametrize("text", ['{"b": 1, "a": "\\u00e9"}', '{"b":1,"a":"é"}'])
def test_statement_holds_for_content_that_others_have_written(text: str) -> None:
    found = pulled(replace(RELEASE, content=text))
    found = replace(found, content=json.loads(text))
    assert proof_of(found) is Proof.HOLDS


@pytest.mark.parametrize("kind", ["artifact", "set"])
def test_statement_holds_for_what_needs_nothing(kind: str) -> None:
    release = replace(RELEASE, artifact_type=kind, dependencies=())
    assert proof_of(pulled(release)) is Proof.HOLDS


OF_NO_MATTER: dict[str, dict[str, Any]] = {
    "the hub's id": {"id": "2"},
    "description": {"description": "d"},
    "owner": {"owner": "eve@example.org"},
    "tags": {"tags": ("t",)},
    "downloads": {"downloads": 5},
    "yanked": {"yanked": True, "yanked_reason": "r"},
    "what the hub says of the signature": {"signed": False, "signature_valid": False},
    "a need told twice": {"dependencies": (*MEMBERS, MEMBERS[0])},
}


@pytest.mark.parametrize("fields", OF_NO_MATTER.values(), ids=OF_NO_MATTER)
def test_statement_is_of_nothing_that_is_not_in_it(fields: dict[str, Any]) -> None:
    assert proof_of(replace(FOUND, **fields)) is Proof.HOLDS


@pytest.mark.parametrize("schema", [{}, OWN, {STATEMENT: "theirs", "type": "array"}])
def test_schema_of_ones_own_stays_beside_the_statement(schema: dict[str, Any]) -> None:
    made = stating(replace(RELEASE, schema=schema), Hand(KEY))
    rest = {key: each for key, each in made.items() if key != STATEMENT}
    assert rest == {key: each for key, each in schema.items() if key != STATEMENT}
    assert proof_of(replace(FOUND, content_schema=made)) is Proof.HOLDS


def test_schema_that_is_given_is_not_changed() -> None:
    given_one = {**OWN}
    stating(replace(RELEASE, schema=given_one), Hand(KEY))
    assert given_one == OWN


def test_statement_is_public_key_and_signature_in_base64() -> None:
    public = b64encode(bytes(KEY.verify_key)).decode()
    assert {*WORDS} == {"public_key", "signature"}
    assert (WORDS["public_key"], len(WORDS["signature"])) == (public, 88)


NONE: dict[str, Any] = {
    "no schema": None,
    "an empty one": {},
    "one of its own": OWN,
    "any": True,
    "a list": [STATEMENT],
    "a text": STATEMENT,
    "deep inside": {"properties": {STATEMENT: WORDS}},
    "of another name": {STATEMENT.upper(): WORDS},
}


@pytest.mark.parametrize("schema", NONE.values(), ids=NONE)
def test_without_a_statement_there_is_none(schema: Any) -> None:
    assert proof_of(replace(FOUND, content_schema=schema)) is Proof.NONE


def needing(*needs: Dependency) -> Artifact:
    return replace(FOUND, dependencies=needs)


def saying(statement: object) -> Artifact:
    return replace(FOUND, content_schema={STATEMENT: statement})


def words(**fields: Any) -> Artifact:
    return saying({**WORDS, **fields})


def without(word: str) -> Artifact:
    return saying({key: each for key, each in WORDS.items() if key != word})


def with_content(content: Any) -> Artifact:
    """Another content, and the hash that it has."""
    return replace(
        FOUND, content=content, content_hash=content_hash(canonical(content))
    )


def statement_of(**fields: Any) -> Artifact:
    """What was stated of another release, on this one."""
    return replace(
        FOUND, content_schema=pulled(replace(RELEASE, **fields)).content_schema
    )


def signature_of(message: bytes) -> str:
    return b64encode(KEY.sign(message).signature).decode()


FIRST, *REST = MEMBERS
HERS = fingerprint_of(OTHER)
ZERO_KEY, ZEROS = (b64encode(bytes(each)).decode() for each in (32, 64))
HIS = pulled(key=OTHER).content_schema[STATEMENT]
DIGITS = FOUND.content_hash.encode()
BROKEN: dict[str, Artifact] = {
    "another name": replace(FOUND, name="teams"),
    "another version": replace(FOUND, version="3.0"),
    "name and version moved": replace(FOUND, name="tea", version="m3"),
    "another type": replace(FOUND, artifact_type="artifact"),
    "another content, and its hash": with_content([]),
    "another content of that hash, it says": replace(FOUND, content=[]),
    "another hash of that content, it says": replace(FOUND, content_hash="0" * 64),
    "hash in capitals": replace(FOUND, content_hash=FOUND.content_hash.upper()),
    "true for one": with_content([{**CONTENT[0], "n": True}]),
    "another need": needing(replace(FIRST, name="gita"), *REST),
    "a need in another version": needing(replace(FIRST, version="1.1"), *REST),
    "a need that is optional now": needing(replace(FIRST, required=False), *REST),
    "an optional one that is required now": needing(
        *MEMBERS[:2], replace(MEMBERS[2], required=True)
    ),
    "names and versions exchanged": needing(
        *(Dependency(e.version, e.name, e.required) for e in MEMBERS)
    ),
    "one more": needing(*MEMBERS, Dependency("evil", "1", required=True)),
    "one more that is optional": needing(
        *MEMBERS, Dependency("evil", "1", required=False)
    ),
    "one less": needing(*REST),
    "none": needing(),
    "both keys' own, exchanged": saying(HIS),
    "another's public key": words(public_key=HIS["public_key"]),
    "another's signature": words(signature=HIS["signature"]),
    "fingerprint of somebody else": replace(
        FOUND, key_fingerprint=fingerprint_of(OTHER)
    ),
    "fingerprint in capitals": replace(
        FOUND, key_fingerprint=fingerprint_of(KEY).upper()
    ),
    "no fingerprint": replace(FOUND, key_fingerprint=None),
    "of the version before": statement_of(version="2"),
    "of another artifact": statement_of(name="other"),
    "of another content": statement_of(content="[]"),
    "of fewer needs": statement_of(dependencies=MEMBERS[1:]),
    "the hub's own message signed": words(signature=signature_of(DIGITS)),
    "the content signed": words(signature=signature_of(RELEASE.content.encode())),
    "nothing signed": words(signature=signature_of(b"")),
    "no statement but null": saying(None),
    "a list": saying([WORDS["public_key"], WORDS["signature"]]),
    "a text": saying(WORDS["signature"]),
    "a number": saying(5),
    "true": saying(True),  # noqa: FBT003  # a value
    "empty": saying({}),
    "no key": without("public_key"),
    "no signature": without("signature"),
    "keys in capitals": saying({key.upper(): each for key, each in WORDS.items()}),
    "a bit of the signature": words(signature="AAAA" + WORDS["signature"][4:]),
    "zeros by a key of zeros": words(public_key=ZERO_KEY, signature=ZEROS),
}
VALUES: dict[str, Any] = {
    "null": None,
    "a number": 5,
    "true": True,
    "a list": [],
    "an object": {},
    "nothing": "",
    "no base64": "!" * 88,
    "no ASCII": "é" * 88,
    "too short": b64encode(bytes(31)).decode(),
    "too long": b64encode(bytes(65)).decode(),
}
DAMAGES: dict[str, Callable[[str], str]] = {
    "a space": lambda text: f" {text}",
    "a line end": lambda text: f"{text}\n",
    "without padding": lambda text: text.rstrip("="),
    "more padding": lambda text: f"{text}===",
    "half of it": lambda text: text[: len(text) // 2],
    "twice": lambda text: text * 2,
    "of a URL": lambda text: text.translate(str.maketrans("+/", "-_")) + "-",
}


@pytest.mark.parametrize("found", BROKEN.values(), ids=BROKEN)
def test_statement_does_not_hold_for_anything_else(found: Artifact) -> None:
    assert proof_of(found) is Proof.BROKEN


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("word", ["public_key", "signature"])
def test_what_is_no_key_or_signature_breaks_it(word: str, value: Any) -> None:
    assert proof_of(words(**{word: value})) is Proof.BROKEN


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("word", ["public_key", "signature"])
def test_damaged_base64_breaks_it(word: str, damage: Callable[[str], str]) -> None:
    assert proof_of(words(**{word: damage(WORDS[word])})) is Proof.BROKEN


@dataclass(frozen=True)
class Liar:
    """A signer whose signature is what a test says."""

    sign_it: Callable[[bytes], bytes]
    public_key: bytes = bytes(KEY.verify_key)

    def sign(self, message: bytes) -> bytes:
        return self.sign_it(message)


LIARS: Mapping[str, Liar] = {
    "another key": Liar(Hand(OTHER).sign),
    "another public half": Liar(Hand(KEY).sign, bytes(OTHER.verify_key)),
    "no public half": Liar(Hand(KEY).sign, b""),
    "always the hub's message": Liar(lambda _: Hand(KEY).sign(DIGITS)),
    "nothing": Liar(lambda _: b""),
    "too much": Liar(lambda message: Hand(KEY).sign(message) + b"\0"),
}


@pytest.mark.parametrize("liar", LIARS.values(), ids=LIARS)
def test_signer_that_lies_is_an_error(liar: Liar) -> None:
    with pytest.raises(RedlaneError, match="not one by its public half"):
        stating(RELEASE, liar)


STRINGS: dict[str, Callable[[Artifact], str]] = {
    "name": lambda of: of.name,
    "version": lambda of: of.version,
    "artifact_type": lambda of: of.artifact_type,
    "content_hash": lambda of: of.content_hash,
    "key_fingerprint": lambda of: str(of.key_fingerprint),
    "a need's name": lambda of: of.dependencies[0].name,
    "a need's version": lambda of: of.dependencies[0].version,
    "a pattern": lambda of: str(of.content[0]["pattern"]),
}


def changed(what: str, text: str) -> Artifact:
    """The artifact with another text for one of the stated strings."""
    if what == "a pattern":
        return with_content([{**CONTENT[0], "pattern": text}])
    fields: dict[str, Any] = {what.rpartition(" ")[2]: text}
    if what.startswith("a need's "):
        return needing(replace(FIRST, **fields), *REST)
    return replace(FOUND, **fields)


@given(st.sampled_from([*STRINGS]), st.text())
@example("name", "team\0")
@example("version", "\uff13")
@example("a pattern", "rm -rf")
@example("a pattern", "rm\u00a0 -rf")
def test_any_change_of_any_stated_string_breaks_it(what: str, text: str) -> None:
    assume(text != STRINGS[what](FOUND))
    assert proof_of(changed(what, text)) is Proof.BROKEN


NEEDS = st.builds(Dependency, st.text(), st.text(), st.booleans())


@given(st.lists(NEEDS, max_size=4), st.lists(NEEDS, max_size=4))
def test_statement_of_some_needs_holds_for_no_others(
    stated: list[Dependency], told: list[Dependency]
) -> None:
    found = pulled(replace(RELEASE, dependencies=tuple(stated)))
    same = {*stated} == {*told}
    expected = Proof.HOLDS if same else Proof.BROKEN
    assert proof_of(replace(found, dependencies=tuple(told))) is expected


@given(st.text(), st.text(), st.text())
def test_statement_holds_for_whatever_was_stated(
    name: str, version: str, kind: str
) -> None:
    release = replace(RELEASE, name=name, version=version, artifact_type=kind)
    assert proof_of(pulled(release)) is Proof.HOLDS
