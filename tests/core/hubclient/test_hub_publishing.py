"""`redlane hub push|yank|unyank|endorse|keys` as processes, against a real hub."""

import hashlib
import json
import os
import pty
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hub_process import HubProcess
from nacl.signing import SigningKey
from preloaded import run_preloaded

from redlane.hubclient import Artifact, Hub, HubRefusedError

NAMES = map("policy-{}".format, count())
REDLANE = (sys.executable, "-m", "redlane", "hub")
PROGRAM = (str(Path(sys.executable).with_name("redlane")), "hub")
SECONDS = 60.0
POLICY = {"type": "Simple", "pattern": "é  ü", "action": "Block", "id": "p"}
FOUND = '[{"action":"Block","id":"p","pattern":"é  ü","type":"Simple"}]'
"""What is published of that policy."""


@dataclass(frozen=True)
class Person:
    """Who is logged in, in a home of their own."""

    address: str
    email: str
    token: str
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        named = {"REDLANE_HUB_URL": self.address, "REDLANE_HUB_TOKEN": self.token}
        kept = {key: each for key, each in named.items() if each}
        return {**kept, "HOME": str(self.home), "PATH": os.environ["PATH"]}

    def start(
        self, *words: str, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            words,
            cwd=self.home,
            env=self.environment,
            text=True,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        """The exit status, and what is written."""
        whole = (*PROGRAM, *words)
        done = run_preloaded(whole, b"", self.environment, self.home, SECONDS)
        return done[0], done[1].decode(), done[2].decode()

    def ok(self, *words: str) -> str:
        code, out, error = self.run(*words)
        assert code == 0, error
        return out

    def told(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def refused(self, code: int, says: str, *words: str) -> None:
        """It is one line, and that exit status."""
        done, out, error = self.run(*words)
        assert (done, out, error.count("\n")) == (code, "", 1), error
        assert error.startswith("redlane: ")
        assert says in error

    def typing(self, *words: str, answers: tuple[str, ...]) -> int:
        """The exit status, after a person at a terminal has answered each question."""
        ours, theirs = pty.openpty()
        with self.start(*REDLANE, *words, stdin=theirs) as process:
            os.close(theirs)
            assert process.stderr is not None
            for answer in answers:
                asked = ""
                while not asked.endswith((": ", "[y/N] ")):
                    more = process.stderr.read(1)
                    assert more, asked
                    asked += more
                os.write(ours, f"{answer}\n".encode())
            process.communicate()
        os.close(ours)
        return process.returncode

    def write(self, value: Any = POLICY, name: str = "p.json") -> str:
        text = value if isinstance(value, str) else json.dumps(value, indent=2)
        (self.home / name).write_text(text)
        return name

    def push(self, *words: str, value: Any = POLICY) -> str:
        """NAME@1, which is published."""
        name = next(NAMES)
        self.ok("push", self.write(value), "--name", name, "--version", "1", *words)
        return f"{name}@1"

    def artifact(self, named: str) -> Artifact:
        name, _, version = named.partition("@")
        with Hub(self.address, self.token) as hub:
            return hub.artifact(name, version)

    def is_there(self, named: str) -> bool:
        try:
            return self.artifact(named).id != ""
        except HubRefusedError as error:
            return error.status != HTTPStatus.NOT_FOUND

    def signature(self, named: str) -> tuple[bool, bool | None, str | None]:
        found = self.artifact(named)
        return found.signed, found.signature_valid, found.key_fingerprint

    def key(self, name: str = "default") -> str:
        """The fingerprint of a new key that the hub knows."""
        self.ok("keys", "generate", name)
        return str(self.told("keys", "add", name)["fingerprint"])


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Person]]:
    hub = HubProcess(tmp_path_factory.mktemp("hub"))
    hub.start()
    try:
        address, found = f"http://{hub.host}:{hub.port}", {}
        for name in ("ada", "bob", "eve"):
            email = f"{name}@example.org"
            with Hub(address) as client:
                client.register(email, "correct horse")
                token = client.login(email, "correct horse").token
            found[name] = Person(address, email, token, Path())
            if name != "eve":
                hub.approve(email)
        yield found
    finally:
        hub.stop()


@pytest.fixture
def ada(people: dict[str, Person], tmp_path: Path) -> Person:
    return replace(people["ada"], home=tmp_path)


@pytest.fixture
def bob(people: dict[str, Person], tmp_path: Path) -> Person:
    return replace(people["bob"], home=tmp_path)


@pytest.fixture
def nobody(ada: Person) -> Person:
    return replace(ada, token="")


def test_pushed_is_canonical_and_anybody_computes_its_hash(ada: Person) -> None:
    made = ada.told("push", ada.write(), "--name", "canonical", "--version", "1")
    found = ada.artifact("canonical@1")
    assert (found.content, found.signed) == ([POLICY], False)
    digest = hashlib.sha256(FOUND.encode()).hexdigest()
    assert (made["content_hash"], found.content_hash) == (digest, digest)


def test_several_files_are_one_artifact(ada: Person) -> None:
    q, r = ({**POLICY, "id": each} for each in "qr")
    files = ada.write([POLICY, q]), ada.write(r, "r.json")
    ada.ok("push", *files, "--name", "several", "--version", "1")
    assert ada.artifact("several@1").content == [POLICY, q, r]


BROKEN = {
    "no JSON": ("{", "line 1 column 2"),
    "no policy": (5, "a policy must be an object"),
    "error": ({**POLICY, "type": "Regex", "pattern": "("}, "p: "),
    "unknown type": ({**POLICY, "type": "Weather"}, "Weather"),
    "one id twice": ([POLICY, POLICY], "p: broken.json has this id already"),
    "id of another file": ({**POLICY, "id": "good"}, "good.json has this id already"),
}


@pytest.mark.parametrize(("value", "says"), BROKEN.values(), ids=BROKEN)
def test_what_does_not_load_is_not_published(
    ada: Person, value: Any, says: str
) -> None:
    file, name = ada.write(value, "broken.json"), next(NAMES)
    good = ada.write({**POLICY, "id": "good"}, "good.json")
    code, out, error = ada.run("push", good, file, "--name", name, "--version", "1")
    assert (code, out, says in error) == (2, "", True)
    *lines, last = error.splitlines()
    assert [each for each in lines if each.startswith(f"error: {file}: ")] == lines
    assert last == "redlane: nothing is published: the files do not load"
    assert not ada.is_there(f"{name}@1")


USAGE: dict[str, tuple[tuple[str, ...], str]] = {
    "no policies": (("none.json",), "hold no policies"),
    "nothing to publish": ((), "--member"),
    "any JSON of nothing": (("--any-json", "--member", "a@1"), "one file"),
    "any JSON of two": (("--any-json", "p.json", "p.json"), "one file"),
    "any JSON that is none": (("--any-json", "no.json"), "no.json: line 1"),
    "member without version": (("--member", "a"), "NAME@VERSION"),
    "unknown visibility": (("p.json", "--visibility", "secret"), "secret"),
    "unknown key": (("p.json", "--sign", "gone"), "there is no key 'gone'"),
}


@pytest.mark.parametrize(("words", "says"), USAGE.values(), ids=USAGE)
def test_what_cannot_be_pushed_is_one_line(
    ada: Person, words: tuple[str, ...], says: str
) -> None:
    ada.write()
    ada.write("{", "no.json")
    ada.write("[]", "none.json")
    name = next(NAMES)
    ada.refused(2, says, "push", *words, "--name", name, "--version", "1")
    assert not ada.is_there(f"{name}@1")


def test_members_make_a_set(ada: Person) -> None:
    one, two = ada.push(), ada.push()
    words = ("--member", one, "--member", two, "--name", "set", "--version", "1")
    made = ada.told("push", *words)
    assert made["artifact_type"] == "set"
    assert [f"{e['name']}@{e['version']}" for e in made["dependencies"]] == [one, two]


@pytest.mark.parametrize("value", [{"b": 1, "a": [2.5, None]}, [5], "text", None])
def test_any_json_is_published_as_it_is(ada: Person, value: Any) -> None:
    named = ada.push("--any-json", value=json.dumps(value))
    assert ada.artifact(named).content == value


@pytest.mark.parametrize("visibility", ["private", "draft"])
def test_what_is_not_public_is_its_owners_alone(
    ada: Person, bob: Person, nobody: Person, visibility: str
) -> None:
    named = ada.push("--visibility", visibility, "--tag", visibility)
    search = ("search", "--tag", visibility)
    assert [each["visibility"] for each in ada.told(*search)] == [visibility]
    assert ada.told("show", named)["visibility"] == visibility
    for each in (bob, nobody):
        assert each.told(*search) == []
        each.refused(1, "the hub says: ", "show", named)


def test_account_that_is_not_approved_publishes_nothing(
    people: dict[str, Person], tmp_path: Path
) -> None:
    eve = replace(people["eve"], home=tmp_path)
    words = ("push", eve.write(), "--name", "eves", "--version", "1")
    eve.refused(1, "the hub says: your account is pending admin approval", *words)


def test_version_is_published_once(ada: Person) -> None:
    name = ada.push().partition("@")[0]
    words = ("push", ada.write(), "--name", name, "--version", "1")
    ada.refused(1, f"artifact '{name}@1' already exists", *words)


def test_signed_is_valid_by_the_key_that_is_named(ada: Person) -> None:
    first, second = ada.key(), ada.key("second")
    assert ada.signature(ada.push("--sign")) == (True, True, first)
    assert ada.signature(ada.push("--sign", "second")) == (True, True, second)


@pytest.mark.parametrize("by", ["name", "fingerprint"])
def test_revoked_keys_signatures_are_not_valid(ada: Person, by: str) -> None:
    key = ada.key()
    named = ada.push("--sign")
    ada.ok("keys", "revoke", "default" if by == "name" else key, "--yes")
    assert ada.signature(named) == (True, False, key)
    ada.refused(1, "already revoked", "keys", "revoke", key, "--yes")


def test_revoking_without_a_terminal_wants_yes(ada: Person) -> None:
    key = ada.key()
    ada.refused(1, "say --yes", "keys", "revoke", "default")
    assert ada.signature(ada.push("--sign")) == (True, True, key)


@pytest.mark.parametrize(("answer", "code"), [("Yes", 0), ("n", 1), ("", 1)])
def test_revoking_asks_at_a_terminal(ada: Person, answer: str, code: int) -> None:
    ada.key()
    named = ada.push("--sign")
    assert ada.typing("keys", "revoke", "default", answers=(answer,)) == code
    assert ada.signature(named)[1] == (code != 0)


def test_passphrase_is_asked_for_at_a_terminal(ada: Person) -> None:
    generate = ("keys", "generate", "--passphrase")
    assert ada.typing(*generate, answers=("one", "two")) == 2
    assert ada.typing(*generate, answers=("one", "one")) == 0
    assert ada.told("keys", "add")["kind"] == "locked"
    push = ("push", ada.write(), "--name", "locked", "--version", "1", "--sign")
    ada.refused(2, "there is no terminal to ask", *push)
    assert ada.typing(*push, answers=("two",)) == 2
    assert ada.typing(*push, answers=("one",)) == 0
    assert ada.signature("locked@1")[:2] == (True, True)


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="there is no ssh-agent")
def test_key_of_the_ssh_agent_signs_what_is_pushed(ada: Person) -> None:
    ada.write()
    script = """
trap 'ssh-agent -k > /dev/null' EXIT
ssh-keygen -q -t ed25519 -N '' -C ada@laptop -f key && ssh-add -q key || exit 3
"$@" keys add --ssh-agent bob@laptop && exit 4
"$@" keys add --ssh-agent ada@laptop --json &&
"$@" push p.json --name by-agent --version 1 --sign
"""
    with ada.start("ssh-agent", "sh", "-c", script, "sh", *REDLANE) as process:
        _, error = process.communicate()
    assert process.returncode == 0, error
    assert "the ssh-agent has no Ed25519 key 'bob@laptop'" in error
    assert ada.signature("by-agent@1")[:2] == (True, True)


ADDED: dict[str, tuple[tuple[str, ...], str]] = {
    "key that is not there": (("gone",), "there is no key 'gone'"),
    "no base64": (("--command", "true", "--public-key", "!"), "32 bytes"),
    "no ASCII": (("--command", "true", "--public-key", "é"), "32 bytes"),
    "no agent": (("--ssh-agent", "ada"), "SSH_AUTH_SOCK names none"),
}


@pytest.mark.parametrize(("words", "says"), ADDED.values(), ids=ADDED)
def test_what_is_no_key_is_not_added(
    ada: Person, words: tuple[str, ...], says: str
) -> None:
    ada.refused(2, says, "keys", "add", *words)
    assert not (ada.home / ".redlane").exists()


def test_key_that_the_hub_refuses_is_not_kept(ada: Person) -> None:
    public = b64encode(bytes(SigningKey.generate().verify_key)).decode()
    words = ("--command", "true", "--public-key", public)
    ada.ok("keys", "add", "first", *words)
    ada.refused(1, "this fingerprint already exists", "keys", "add", "second", *words)
    assert [each.name for each in ada.home.glob(".redlane/keys/*")] == ["first.key"]


def test_keys_are_listed_here_and_on_the_hub(bob: Person) -> None:
    bob.key("gone")
    (bob.home / ".redlane/keys/gone.key").unlink()
    bob.key("old")
    bob.ok("keys", "revoke", "old", "--yes")
    bob.ok("keys", "generate", "here")
    rows = bob.told("keys", "list")
    found = {each["name"]: (each["label"], each["on_hub"]) for each in rows}
    assert found == {"here": (None, False), None: ("gone", True), "old": ("old", True)}
    assert [each["name"] for each in rows if each["revoked_at"]] == ["old"]
    lines = bob.ok("keys", "list").splitlines()
    assert [each.split()[0] for each in lines] == [each["fingerprint"] for each in rows]


def test_without_a_login_the_keys_here_are_listed_with_a_note(nobody: Person) -> None:
    made = nobody.told("keys", "generate")
    assert (made["name"], made["on_hub"]) == ("default", False)
    code, out, error = nobody.run("keys", "list", "--json")
    assert (code, json.loads(out)) == (0, [made])
    assert "the keys here alone: nobody is logged in" in error


def test_yanked_is_off_the_lists_until_it_is_put_back(ada: Person) -> None:
    named = ada.push("--tag", "yanked")
    ada.ok("yank", named, "--reason", "blocks too much")
    assert "yanked:      blocks too much\n" in ada.ok("show", named)
    assert ada.told("search", "--tag", "yanked") == []
    ada.ok("unyank", named)
    assert "yanked:" not in ada.ok("show", named)
    assert len(ada.told("search", "--tag", "yanked")) == 1


def test_endorsed_once_until_it_is_withdrawn(ada: Person, bob: Person) -> None:
    named = ada.push()
    ada.ok("endorse", named)
    bob.ok("endorse", named, "--level", "official")
    bob.refused(1, "you have already endorsed this artifact", "endorse", named)
    assert endorsed(named, ada) == {ada.email: "verified", bob.email: "official"}
    bob.ok("endorse", named, "--withdraw")
    assert endorsed(named, ada) == {ada.email: "verified"}
    bob.refused(1, "you have not vouched for it", "endorse", named, "--withdraw")


def endorsed(named: str, who: Person) -> dict[str, str]:
    found = who.told("show", named)["endorsements"]
    return {each["email"]: each["level"] for each in found}
