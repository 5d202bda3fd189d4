"""Keys are for their owner alone, and what is no key, or does not sign, is one line."""

import json
import os
import shlex
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from nacl import pwhash
from nacl.secret import SecretBox
from nacl.signing import SigningKey, VerifyKey

from redlane.errors import RedlaneError
from redlane.hubclient.keys import Keys, LocalKey
from redlane.hubclient.locking import unlock

SEED, SALT = bytes(range(32)), b"0123456789abcdef"
KEY = SigningKey(SEED)
PUBLIC, TEXT = (b64encode(each).decode() for each in (bytes(KEY.verify_key), SEED))
MESSAGE, PASSPHRASE = b"m" * 64, "pâss phrase"
Make = Callable[[Path], object]


def locked(secret: bytes) -> dict[str, object]:
    """A secret locked as the manual says, quickly."""
    key = pwhash.argon2id.kdf(32, PASSPHRASE.encode(), SALT, 1, 8192)
    parts = {"salt": SALT, "box": bytes(SecretBox(key).encrypt(secret))}
    texts = {name: b64encode(each).decode() for name, each in parts.items()}
    return {**texts, "operations": 1, "memory": 8192}


LOCKED = locked(SEED)


def document(**fields: object) -> bytes:
    return json.dumps({"public_key": PUBLIC, **fields}).encode()


def nobody(name: str) -> str:
    raise AssertionError(f"a passphrase of {name} is asked for")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir(0o700)
    return tmp_path / "keys"


@pytest.fixture
def keys(directory: Path) -> Keys:
    return Keys(directory, nobody)


def write(directory: Path, data: bytes) -> Path:
    path = directory / "k.key"
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_bytes(data)
    return path


def opened(directory: Path, passphrase: str = PASSPHRASE) -> LocalKey:
    return Keys(directory, lambda _: passphrase).find("k")


def is_by(key: LocalKey, public_key: bytes) -> bool:
    return VerifyKey(public_key).verify(MESSAGE, key.sign(MESSAGE)) == MESSAGE


def refused(call: Callable[[], object], says: str | None = None) -> None:
    """It is an error of ours, in one line."""
    with pytest.raises(RedlaneError, match=says) as caught:
        call()
    assert str(caught.value).isprintable()


def test_generated_key_is_found_again_and_signs(keys: Keys) -> None:
    made, found = keys.generate("k", None), keys.find("k")
    assert (found, found.kind) == (made, "seed")
    assert is_by(found, made.public_key)


def test_all_keys_are_listed_by_their_names(keys: Keys, directory: Path) -> None:
    for name in ("b", "a.key", "B-2", "a" * 64):
        keys.generate(name, None)
    (directory / "note").write_text("no key")
    assert [each.name for each in keys.all()] == ["B-2", "a.key", "a" * 64, "b"]


def test_file_and_directory_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Keys(tmp_path / "new", nobody).generate("k", None)
    finally:
        os.umask(before)
    places = (tmp_path / "new", tmp_path / "new" / "k.key")
    assert [each.stat().st_mode & 0o777 for each in places] == [0o700, 0o600]


def test_key_with_a_passphrase_is_not_in_its_file(keys: Keys, directory: Path) -> None:
    made = keys.generate("k", PASSPHRASE)
    assert isinstance(made.secret, dict)
    seed = unlock(made.secret, PASSPHRASE)
    assert bytes(SigningKey(seed).verify_key) == made.public_key
    data = (directory / "k.key").read_bytes()
    forms = (seed, b64encode(seed)[:-3], seed.hex().encode(), PASSPHRASE.encode())
    assert not [each for each in forms if each in data]


def test_right_passphrase_signs_and_is_asked_for_by_the_keys_name(
    keys: Keys, directory: Path
) -> None:
    made, asked = keys.generate("k", PASSPHRASE), []

    def answer(name: str) -> str:
        asked.append(name)
        return PASSPHRASE

    found = Keys(directory, answer).find("k")
    assert (found.kind, asked) == ("locked", [])
    assert (is_by(found, made.public_key), asked) == (True, ["k"])


def test_key_is_locked_as_the_manual_says(directory: Path) -> None:
    write(directory, document(locked=LOCKED))
    assert is_by(opened(directory), bytes(KEY.verify_key))


@pytest.mark.parametrize("wrong", ["", "pass phrase", PASSPHRASE + " ", "\0"])
def test_wrong_passphrase_is_refused(directory: Path, wrong: str) -> None:
    write(directory, document(locked=LOCKED))
    found = opened(directory, wrong)
    refused(lambda: found.sign(MESSAGE), "^the passphrase is wrong$")


NO_NAMES = ["", ".", "..", ".a", "-a", "a/b", "../a", "a b", "a\0", "a\n", "é"]


@pytest.mark.parametrize("name", [*NO_NAMES, "a" * 65])
def test_name_that_is_none_is_refused(keys: Keys, directory: Path, name: str) -> None:
    says = "is no name of a key"
    refused(lambda: keys.find(name), says)
    refused(lambda: keys.generate(name, None), says)
    refused(lambda: keys.reference(name, "command", bytes(32), "true"), says)
    assert list(directory.iterdir()) == []


def test_key_that_is_not_there_is_told(keys: Keys) -> None:
    refused(lambda: keys.find("k"), "there is no key 'k' .*redlane hub keys list")


IN_THE_WAY: dict[str, Make] = {
    "key": lambda path: path.write_bytes(document(seed=TEXT)),
    "nonsense": lambda path: path.write_text("nonsense"),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("make", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_there_is_not_overwritten(
    keys: Keys, directory: Path, make: Make
) -> None:
    make(directory / "k.key")
    before = (directory / "k.key").lstat()
    says = "there is a key 'k' already"
    refused(lambda: keys.generate("k", None), says)
    refused(lambda: keys.reference("k", "command", bytes(32), "true"), says)
    assert [each.lstat() for each in directory.iterdir()] == [before]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o610, 0o666])
def test_file_that_others_may_use_is_refused(
    keys: Keys, directory: Path, mode: int
) -> None:
    write(directory, document(seed=TEXT)).chmod(mode)
    refused(lambda: keys.find("k"), "others may read this secret")
    refused(keys.all, "others may read this secret")


ODD: dict[str, Make] = {
    "directory": Path.mkdir,
    "named pipe": os.mkfifo,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_is_no_file_is_refused_at_once(
    keys: Keys, directory: Path, make: Make
) -> None:
    make(directory / "k.key")
    refused(lambda: keys.find("k"), "k.key")


NO_KEYS = {
    **{repr(each): each for each in (b"", b"key", b"5", b"[]", b"{}", b'"\xff"')},
    "short public half": document(public_key=PUBLIC[4:], seed=TEXT),
    "public half of no ASCII": document(public_key="é", seed=TEXT),
    "nobody who signs": document(seeds=TEXT),
    "two who sign": document(seed=TEXT, command="true"),
    "given twice": document(seed=TEXT)[:-1] + b', "seed": ""}',
    "endless": document(seed="a" * 100_000),
}


@pytest.mark.parametrize("data", NO_KEYS.values(), ids=NO_KEYS)
def test_file_that_holds_no_key_is_refused(
    keys: Keys, directory: Path, data: bytes
) -> None:
    path = write(directory, data)
    refused(lambda: keys.find("k"), f"^{path} holds no key$")


NO_SECRETS: tuple[object, ...] = ("", "!", "é", TEXT[4:], 5, None, [], {})
DAMAGED: dict[str, dict[str, object]] = {
    **{f"seed {each!r}": {"seed": each} for each in NO_SECRETS},
    **{f"locked {each!r}": {"locked": each} for each in NO_SECRETS},
    "salt of no ASCII": {"locked": {**LOCKED, "salt": "é"}},
    "short box": {"locked": {**LOCKED, "box": "AAAA"}},
    "box cut off": {"locked": {**LOCKED, "box": str(LOCKED["box"])[:-8]}},
    "negative operations": {"locked": {**LOCKED, "operations": -1}},
    "memory in many digits": {"locked": {**LOCKED, "memory": "9" * 5000}},
    "short secret": {"locked": locked(b"short")},
}


@pytest.mark.parametrize("fields", DAMAGED.values(), ids=DAMAGED)
def test_damaged_secret_signs_nothing(
    directory: Path, fields: dict[str, object]
) -> None:
    write(directory, document(**fields))
    refused(lambda: opened(directory).sign(MESSAGE))


@pytest.mark.parametrize("field", ["operations", "memory"])
@pytest.mark.usefixtures("twenty_seconds_of_work")
def test_hostile_file_does_not_take_the_machine(directory: Path, field: str) -> None:
    write(directory, document(locked={**LOCKED, field: 2**62}))
    refused(lambda: opened(directory).sign(MESSAGE))


def signing(directory: Path) -> str:
    """A command that signs, and is given what a shell would do something else with."""
    script = directory.parent / "sign it.py"
    script.write_text(f"""
import sys
from base64 import b64encode
from nacl.signing import SigningKey
message = sys.stdin.buffer.read()
print(b64encode(SigningKey({SEED!r}).sign(message).signature).decode())
""")
    return shlex.join([sys.executable, str(script), "$(HOME)"]) + " ; exit 1"


def test_command_signs(keys: Keys, directory: Path) -> None:
    keys.keep(keys.reference("k", "command", bytes(KEY.verify_key), signing(directory)))
    found = keys.find("k")
    assert (found.kind, is_by(found, bytes(KEY.verify_key))) == ("command", True)


FAILING = {
    "fails": ("false", "ends with 1"),
    "is killed": ("sh -c 'kill -9 $$'", "ends with -9"),
    "is not there": ("/nowhere/sign 3", "does not start: "),
    "is nothing": ("", "does not start: "),
    "has an open quote": ("sign '3", "fails: "),
    "prints no ASCII": ("echo é", "64 bytes"),
    "prints no UTF-8": ("printf '\\377'", "64 bytes"),
    "prints too little": ("echo AAAA", "64 bytes"),
    "prints two lines": (f"printf '{'A' * 44}\\n{'A' * 44}'", "64 bytes"),
}


@pytest.mark.parametrize(("command", "says"), FAILING.values(), ids=FAILING)
def test_command_that_does_not_sign_is_one_line(
    keys: Keys, command: str, says: str
) -> None:
    keys.keep(keys.reference("k", "command", bytes(KEY.verify_key), command))
    refused(lambda: keys.find("k").sign(MESSAGE), says)


def test_key_does_not_show_its_secret(keys: Keys) -> None:
    made = keys.generate("k", None)
    assert str(made.secret) not in repr(made)
