"""People who publish on a real hub, pull from it, and type `redlane hub`."""

import json
import os
import pty
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hub_process import HubProcess
from nacl.signing import SigningKey
from preloaded import run_preloaded

from redlane.hubclient import Artifact, Dependency, Hub, Release
from redlane.hubclient.signing import canonical, content_hash, fingerprint

__all__ = ["GO", "Person", "fingerprint_of", "people_of", "policy"]

GO = ("--yes", "--trust-new")
"""Yes to all that is asked of what starts no program."""
PASSWORD = "correct horse"
SECONDS = 60.0
QUESTION = re.compile(r"(\[y/N\]|^The passphrase .*:) \Z", re.MULTILINE)
"""What a person at a terminal answers."""


def policy(name: str = "p", **fields: Any) -> dict[str, Any]:
    """A policy that loads."""
    plain = {"id": name, "type": "Simple", "pattern": name, "action": "Block"}
    return {**plain, **fields}


def fingerprint_of(key: SigningKey) -> str:
    """What a key is known by."""
    return fingerprint(bytes(key.verify_key))


@dataclass(frozen=True)
class Person:
    """Somebody with a home, and with an account where there is a token."""

    address: str
    home: Path = Path()
    token: str = ""
    email: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def redlane(self) -> Path:
        """Where the files of redlane are."""
        return self.home / ".redlane"

    @property
    def environment(self) -> dict[str, str]:
        named = {"REDLANE_HUB_URL": self.address, "REDLANE_HUB_TOKEN": self.token}
        kept = {key: each for key, each in named.items() if each}
        own = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        return {**kept, **own, **self.variables}

    def at(self, home: Path) -> "Person":
        """The same one in another home."""
        return replace(self, home=home)

    def run(self, *words: str) -> tuple[int, str, str]:
        """The exit status of a command of `redlane`, and what is written."""
        whole = (str(Path(sys.executable).with_name("redlane")), *words)
        done = run_preloaded(whole, b"", self.environment, self.home, SECONDS)
        return done[0], done[1].decode(), done[2].decode()

    def ok(self, *words: str) -> str:
        """What `redlane hub` prints."""
        code, out, error = self.run("hub", *words)
        assert code == 0, error
        return out

    def told(self, *words: str) -> Any:
        """The same as JSON."""
        return json.loads(self.ok(*words, "--json"))

    def refused(self, code: int, says: str, *words: str) -> None:
        """That exit status, and one line on standard error; no file is another one."""
        before = self.files()
        done, _, error = self.run("hub", *words)
        assert (done, error.count("\n")) == (code, 1), error
        assert error.startswith("redlane: ")
        assert says in error
        assert self.files() == before

    def typing(self, *words: str, answers: tuple[str, ...]) -> tuple[int, str]:
        """The exit status and standard error, each question answered at a terminal."""
        whole = (sys.executable, "-m", "redlane", "hub", *words)
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            whole,
            cwd=self.home,
            env=self.environment,
            text=True,
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            os.close(theirs)
            assert process.stderr is not None
            asked = ""
            for answer in answers:
                while not QUESTION.search(asked):
                    more = process.stderr.read(1)
                    assert more, asked
                    asked += more
                os.write(ours, f"{answer}\n".encode())
                asked += "\n"
            asked += process.stderr.read()
        os.close(ours)
        return process.returncode, asked

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Every file of redlane's, with its mode and what is in it."""
        return {
            str(each.relative_to(self.redlane)): (each.stat().st_mode, _bytes(each))
            for each in self.redlane.rglob("*")
            if not each.is_dir() or each.name == "hub"
        }

    def write(self, path: str, value: Any) -> Path:
        """A file of redlane's: a text as it is, and JSON of all else."""
        file = self.redlane / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))
        return file

    def read(self, path: str) -> Any:
        return json.loads((self.redlane / path).read_bytes())

    @property
    def lock(self) -> dict[str, Any]:
        """The artifacts of the lock."""
        return dict(self.read("hub.lock")["artifacts"])

    def publish(
        self,
        named: str,
        content: Any = None,
        *,
        key: SigningKey | None = None,
        needs: Sequence[str] = (),
        optional: Sequence[str] = (),
        kind: str = "artifact",
        visibility: str = "public",
    ) -> str:
        """NAME@VERSION, which is published: a policy of that name, or what is given."""
        name, _, version = named.partition("@")
        text = canonical([policy(name)] if content is None else content)
        release = Release(
            name,
            version,
            text,
            artifact_type=kind,
            visibility=visibility,
            dependencies=(
                *_needs(needs, required=True),
                *_needs(optional, required=False),
            ),
        )
        if key is not None:
            signed = key.sign(content_hash(text).encode()).signature
            release = replace(
                release,
                signature=b64encode(signed).decode(),
                key_fingerprint=fingerprint_of(key),
            )
        with Hub(self.address, self.token) as hub:
            hub.publish(release)
        return named

    def push(self, named: str, *words: str, content: Any = None) -> str:
        """The same as `redlane hub push` publishes it, from this home."""
        name, _, version = named.partition("@")
        is_set = content is None and "--member" in words
        content = [policy(name)] if content is None else content
        files = [] if is_set else [str(self.write(f"pushed/{name}.json", content))]
        self.ok("push", *files, "--name", name, "--version", version, *words)
        return named

    def artifact(self, named: str) -> Artifact:
        name, _, version = named.partition("@")
        with Hub(self.address, self.token) as hub:
            return hub.artifact(name, version)

    def new_key(self) -> SigningKey:
        """A key that the hub knows as this account's."""
        made = SigningKey.generate()
        with Hub(self.address, self.token) as hub:
            hub.add_key(b64encode(bytes(made.verify_key)).decode())
        return made

    def revoke(self, key: SigningKey) -> None:
        with Hub(self.address, self.token) as hub:
            hub.revoke_key(fingerprint_of(key))

    def yank(self, named: str, reason: str | None = None) -> None:
        with Hub(self.address, self.token) as hub:
            hub.yank(self.artifact(named).id, reason)

    def endorse(self, named: str) -> None:
        with Hub(self.address, self.token) as hub:
            hub.endorse(self.artifact(named).id)


@contextmanager
def people_of(
    directory: Path, *names: str
) -> Iterator[tuple[HubProcess, list[Person]]]:
    """A hub, and accounts on it that may publish."""
    process, found = HubProcess(directory), []
    process.start()
    try:
        address = f"http://{process.host}:{process.port}"
        for name in names:
            email = f"{name}@example.org"
            with Hub(address) as client:
                client.register(email, PASSWORD)
                token = client.login(email, PASSWORD).token
            process.approve(email)
            found.append(Person(address, token=token, email=email))
        yield process, found
    finally:
        process.stop()


def _needs(named: Sequence[str], *, required: bool) -> Iterator[Dependency]:
    for name, _, version in (each.partition("@") for each in named):
        yield Dependency(name, version, required)


def _bytes(path: Path) -> bytes:
    return b"" if path.is_dir() else path.read_bytes()
