"""`redlane hub push --sign` states what it signs, and no hub is taken at its word."""

import json
import shlex
import sqlite3
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hub_people import GO, Person, fingerprint_of, people_of, policy
from hub_process import HubProcess
from nacl import pwhash
from nacl.secret import SecretBox
from nacl.signing import SigningKey

NAMES = map("policy-{}".format, count())
SALT, PASSPHRASE = bytes(16), "pâss phrase"


@dataclass(frozen=True)
class Place:
    """A hub, and ada, who publishes on it, in a home with a key that it knows."""

    hub: HubProcess
    ada: Person
    key: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with people_of(tmp_path_factory.mktemp("hub"), "ada") as (hub, (found,)):
        ada = found.at(tmp_path_factory.mktemp("ada"))
        ada.ok("keys", "generate")
        yield Place(hub, ada, ada.told("keys", "add")["fingerprint"])


@pytest.fixture
def ada(place: Place) -> Person:
    return place.ada


@pytest.fixture
def me(ada: Person, tmp_path: Path) -> Person:
    """Somebody without an account, in a home of nothing."""
    home = tmp_path / "me"
    home.mkdir()
    return Person(ada.address, home)


@pytest.fixture
def name() -> str:
    return next(NAMES)


def states(who: Person) -> dict[str, bool]:
    """The trusted keys, and whether each is known to state what it signs."""
    found = who.read("hub-trust.json")["publishers"]
    return {key: each["states"] for key, each in found.items()}


def test_what_was_pushed_with_sign_is_checked_by_pull(
    place: Place, me: Person, name: str
) -> None:
    low = place.ada.push(f"{name}-low@1", "--sign")
    place.ada.push(f"{name}@1", "--member", low, "--sign")
    out = me.ok("pull", name, *GO)
    lines = [each for each in out.splitlines() if each.startswith("+ ")]
    by = f"@1  signed by {place.key}, published by ada@example.org"
    assert lines == [f"+ {name}{by}", f"+ {name}-low{by}"]


def test_scripts_are_told_what_was_checked(ada: Person, me: Person, name: str) -> None:
    low = ada.publish(f"{name}-low@1", key=ada.new_key())
    ada.push(f"{name}@1", "--member", low, "--sign")
    found = me.told("pull", name, *GO)["artifacts"]
    checked = {each["name"]: each["checked"] for each in found}
    assert checked == {name: True, f"{name}-low": False}


def test_what_has_no_statement_is_signed_by_the_hubs_word(
    ada: Person, me: Person, name: str
) -> None:
    key = ada.new_key()
    out = me.ok("pull", ada.publish(f"{name}@1", key=key), *GO)
    by = f"signed by {fingerprint_of(key)}, says the hub, published by"
    assert f"+ {name}@1  {by} ada@example.org\n" in out
    assert states(me) == {fingerprint_of(key): False}


def test_show_tells_what_was_checked_here(place: Place, me: Person, name: str) -> None:
    out = me.ok("show", place.ada.push(f"{name}@1", "--sign"))
    told = "good, says the hub; checked here, with the needs; key"
    assert f"signature:   {told} {place.key}\n" in out


def test_show_tells_what_is_the_hubs_word(ada: Person, me: Person, name: str) -> None:
    key = ada.new_key()
    out = me.ok("show", ada.publish(f"{name}@1", key=key))
    told = f"signature:   good, says the hub; key {fingerprint_of(key)}\n"
    assert told in out


def test_pushed_without_sign_has_no_statement(ada: Person, name: str) -> None:
    found = ada.artifact(ada.push(f"{name}@1"))
    assert (found.signed, found.content_schema) == (False, None)


@pytest.mark.parametrize("how", ["asked", "by phone"])
def test_that_a_key_states_is_noted_after_a_pull(
    place: Place, me: Person, name: str, how: str
) -> None:
    if how == "by phone":
        me.ok("trust", place.key)
        assert states(me) == {place.key: False}
    me.ok("pull", place.ada.push(f"{name}@1", "--sign"), *GO)
    assert states(me) == {place.key: True}
    (told,) = me.told("trusted")
    assert (told["fingerprint"], told["states"]) == (place.key, True)


@pytest.mark.parametrize("words", [("--dry-run",), ()], ids=["dry", "refused"])
def test_nothing_is_noted_where_nothing_is_pulled(
    place: Place, me: Person, name: str, words: tuple[str, ...]
) -> None:
    me.ok("trust", place.key)
    place.ada.push(f"{name}@1", "--sign")
    me.run("hub", "pull", name, *words)
    assert states(me) == {place.key: False}


def test_key_in_the_place_of_another_states_as_that_one_did(
    place: Place, me: Person, name: str
) -> None:
    me.ok("pull", place.ada.push(f"{name}@1", "--sign"), *GO)
    new = place.ada.new_key()
    me.ok("trust", fingerprint_of(new), "--replaces", place.key)
    assert states(me) == {fingerprint_of(new): True}
    place.ada.publish(f"{name}@2", policy(f"{name}-2"), key=new)
    me.refused(1, "say --trust-new", "update", "--yes")


OLDER = "UPDATE artifacts SET dependencies = replace(dependencies, '\"2\"', '\"1\"')"
TAMPERED: dict[str, tuple[str, ...]] = {
    "another version": (OLDER, "UPDATE dependencies SET version = '1'"),
    "optional": (
        "UPDATE artifacts SET dependencies = replace(dependencies, 'true', 'false')",
        "UPDATE dependencies SET required = 0",
    ),
    "none": (
        "UPDATE artifacts SET dependencies = '[]'",
        "DELETE FROM dependencies",
    ),
    "no set": ("UPDATE artifacts SET artifact_type = 'artifact'",),
}


@pytest.mark.parametrize("statements", TAMPERED.values(), ids=TAMPERED)
def test_set_that_somebody_has_changed_in_the_database_is_refused(
    place: Place, me: Person, name: str, statements: tuple[str, ...]
) -> None:
    for each in "12":
        content = [policy(f"{name}-{each}")]
        place.ada.push(f"{name}-low@{each}", "--sign", content=content)
    place.ada.push(f"{name}@1", "--member", f"{name}-low@2", "--sign")
    before = place.ada.artifact(f"{name}@1")
    with closing(sqlite3.connect(place.hub.database)) as database, database:
        asked = database.execute("SELECT number FROM artifacts WHERE name = ?", (name,))
        (number,) = asked.fetchone()
        for each in statements:
            database.execute(f"{each} WHERE number = ?", (number,))
    after = place.ada.artifact(f"{name}@1")
    assert (after != before, after.signature_valid) == (True, True)
    says = f"what the publisher of {name}@1 has signed is of something else"
    me.refused(1, says, "pull", name, *GO)
    assert "STATEMENT IS OF SOMETHING ELSE; key" in me.ok("show", name)


def locked(seed: bytes) -> dict[str, object]:
    """A key's seed locked as the manual says, quickly."""
    key = pwhash.argon2id.kdf(32, PASSPHRASE.encode(), SALT, 1, 8192)
    parts = {"salt": SALT, "box": bytes(SecretBox(key).encrypt(seed))}
    texts = {name: b64encode(each).decode() for name, each in parts.items()}
    return {**texts, "operations": 1, "memory": 8192}


def kept(who: Person, made: SigningKey, **fields: Any) -> str:
    """The name of that key in a home."""
    name = f"k-{fingerprint_of(made)[:8]}"
    public = b64encode(bytes(made.verify_key)).decode()
    document = json.dumps({"public_key": public, **fields})
    who.write(f"keys/{name}.key", document).chmod(0o600)
    return name


def is_stated(ada: Person, named: str) -> bool:
    return "; checked here, with the needs; key" in ada.ok("show", named)


def test_passphrase_is_asked_for_once(ada: Person, name: str) -> None:
    made = ada.new_key()
    key = kept(ada, made, locked=locked(bytes(made)))
    file = str(ada.write(f"pushed/{name}.json", policy(name)))
    words = ("push", file, "--name", name, "--version", "1", "--sign", key)
    code, asked = ada.typing(*words, answers=(PASSPHRASE,))
    assert (code, asked.count("The passphrase of the key")) == (0, 1), asked
    assert is_stated(ada, f"{name}@1")


def test_command_signs_the_content_and_the_statement(
    ada: Person, name: str, tmp_path: Path
) -> None:
    made, script, log = ada.new_key(), tmp_path / "sign.py", tmp_path / "log"
    script.write_text(f"""
import sys
from base64 import b64encode
from nacl.signing import SigningKey
message = sys.stdin.buffer.read()
with open({str(log)!r}, "ab") as log:
    log.write(message + b"\\n")
print(b64encode(SigningKey({bytes(made)!r}).sign(message).signature).decode())
""")
    key = kept(ada, made, command=shlex.join([sys.executable, str(script)]))
    ada.push(f"{name}@1", "--sign", key)
    assert is_stated(ada, f"{name}@1")
    content, statement = log.read_text().splitlines()
    assert content == ada.artifact(f"{name}@1").content_hash
    assert json.loads(statement) == {
        "statement": "redlane release 1",
        "name": name,
        "version": "1",
        "content_hash": content,
        "artifact_type": "artifact",
        "dependencies": [],
    }
