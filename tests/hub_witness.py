"""Clients that remember what a hub acknowledged, and hold it to that after a kill.

Each witness does one thing after the other and knows what it was doing when the answer
did not come: that must then have happened as a whole, or not at all.
"""

import base64
import hashlib
import itertools
import json
import secrets
import select
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from hub_process import HubProcess
from nacl.signing import SigningKey
from spec.hub_client import JSON, Answer, HubClient, client_of, read_answer
from spec.hub_tokens import SECRET

from redlane_hub.clock import system_clock, timestamp
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account
from redlane_hub.security.tokens import Tokens
from redlane_hub.store import accounts
from redlane_hub.store.database import Database
from redlane_hub.store.migrations import migrate

__all__ = [
    "Endorser",
    "KeyHolder",
    "Member",
    "Owner",
    "PasswordChanger",
    "Publisher",
    "Talk",
    "Witness",
    "expect",
    "member",
    "prepared_hub",
    "talk_to",
]

ARTIFACTS = "/api/v1/artifacts"
KEYS = "/api/v1/me/signing-keys"
PASSWORD = "correct horse"
PASSWORD_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$xBrwlwzBJek+CrOuVq/NeQ"
    "$ZAmkg8BS9avdwByTnjZoRkfUNmIGFNmAvUYVcFuqf4M"
)
_numbers = itertools.count()


@dataclass(frozen=True)
class Member:
    """An approved account of a hub."""

    id: str
    email: str
    token: str


class Talk:
    """One connection of a member to a hub; each request from an address of its own."""

    def __init__(self, client: HubClient, token: str | None = None) -> None:
        self._client = client.signed_in(token)
        self._opened = self._client.connection()
        self._connection = self._opened.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.__exit__(None, None, None)

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """One request; what breaks the connection is raised."""
        self.send(method, path, body)
        return self.answer()

    def send(self, method: str, path: str, body: object = None) -> None:
        """A request whose answer is for later."""
        head = self._client.head() | ({} if body is None else JSON)
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, head)

    @property
    def is_answered(self) -> bool:
        """Whether something of the answer has come."""
        return bool(select.select([self._connection.sock], [], [], 0)[0])

    def answer(self) -> Answer:
        """The answer to what was sent."""
        return read_answer(self._connection)


class Witness(Protocol):
    """Somebody who uses the hub, and remembers."""

    member: Member

    def act(self, talk: Talk) -> None:
        """Do one thing; it is acknowledged when this returns."""

    def check(self, talk: Talk) -> None:
        """Hold the hub to what it acknowledged, and learn what became of the rest."""


def prepared_hub(hub: HubProcess) -> Tokens:
    """Make the hub's database; what signs tokens for its accounts."""
    migrate(hub.database)
    hub.settings["secret"] = SECRET
    return Tokens(SECRET.encode(), system_clock)


def member(hub: HubProcess, tokens: Tokens) -> Member:
    """A new approved account, put into the database: hashing takes its time."""
    email = f"member-{next(_numbers)}-{secrets.token_hex(4)}@example.com"
    made = Account(
        id=new_id(),
        email=email,
        is_endorsed=False,
        is_approved=False,
        created_at=timestamp(system_clock()),
    )
    database = Database(hub.database)
    with database.transaction() as connection:
        accounts.insert(connection, made, PASSWORD_HASH)
        accounts.set_approved(connection, made.id, True)  # noqa: FBT003  # its signature
    database.close()
    return Member(made.id, email, tokens.issue(made.id, email))


def expect(answer: Answer, status: int) -> Any:
    """What an answer says, which must have this status and be whole."""
    assert answer.status == status, answer
    return answer.json if answer.body else None


@dataclass
class Publisher:
    """Publishes artifacts of all kinds; some are signed, some need the one before."""

    member: Member
    fingerprint: str | None = None
    key: SigningKey = field(default_factory=SigningKey.generate)
    published: dict[str, dict[str, Any]] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)
    pending: dict[str, Any] | None = None

    @property
    def public_key(self) -> dict[str, str]:
        """The body that registers its key."""
        public = base64.b64encode(bytes(self.key.verify_key)).decode()
        return {"public_key": public}

    def act(self, talk: Talk) -> None:
        """Publish one."""
        self.pending = self._next()
        expect(talk.ask("POST", ARTIFACTS, self.pending), 201)
        self._has_published()

    def check(self, talk: Talk) -> None:
        """Every artifact is whole; the one without an answer is whole or absent."""
        if self.pending is not None:
            name = self.pending["name"]
            if talk.ask("GET", f"{ARTIFACTS}/{name}/1").status == 404:
                assert self._found(talk, tag=f"tag-{name}") == []
                assert self._found(talk, q=name) == []
                # Nothing of it is left that could stand in its way.
                expect(talk.ask("POST", ARTIFACTS, self.pending), 201)
            self._has_published()
        for name in self.unchecked:
            self._check_whole(talk, self.published[name])
        self.unchecked.clear()

    def check_all(self, talk: Talk) -> None:
        """Once more, everything."""
        self.unchecked = list(self.published)
        self.check(talk)

    def _has_published(self) -> None:
        assert self.pending is not None
        self.published[self.pending["name"]] = self.pending
        self.unchecked.append(self.pending["name"])
        self.pending = None

    def _next(self) -> dict[str, Any]:
        number = next(_numbers)
        name = f"art-{number}"
        content = json.dumps({"number": number, "filling": "x" * (number % 7 * 900)})
        body: dict[str, Any] = {
            "name": name,
            "version": "1",
            "content": content,
            "description": f"Number {number}",
            "tags": [f"tag-{name}", "all"],
            "visibility": ("public", "private", "draft")[number % 3],
        }
        if self.published and number % 2:
            last = next(reversed(self.published))
            body["dependencies"] = [{"name": last, "version": "1", "required": True}]
        if self.fingerprint is not None and number % 5 < 2:
            body |= self.signed(content)
        return body

    def signed(self, content: str) -> dict[str, Any]:
        """The two fields that sign a content."""
        digest = hashlib.sha256(content.encode()).hexdigest()
        signature = self.key.sign(digest.encode()).signature
        return {
            "signature": base64.b64encode(signature).decode(),
            "key_fingerprint": self.fingerprint,
        }

    def _check_whole(self, talk: Talk, body: dict[str, Any]) -> None:
        name = body["name"]
        found = expect(talk.ask("GET", f"{ARTIFACTS}/{name}/1"), 200)
        digest = hashlib.sha256(body["content"].encode()).hexdigest()
        assert found["content"] == json.loads(body["content"])
        assert found["content_hash"] == digest
        assert found["tags"] == body["tags"]
        assert found["dependencies"] == body.get("dependencies", [])
        assert found["visibility"] == body["visibility"]
        assert found["signature_valid"] is (True if "signature" in body else None)
        assert found["downloads"] >= 1
        assert self._found(talk, tag=f"tag-{name}") == [name]
        assert name in self._found(talk, q=name)
        walk = expect(talk.ask("GET", f"{ARTIFACTS}/{name}/1/resolve"), 200)
        direct = [each for each in walk["dependencies"] if each["depth"] == 1]
        assert [each["name"] for each in direct] == [
            each["name"] for each in body.get("dependencies", [])
        ]
        assert all(each["found"] for each in walk["dependencies"])

    def _found(self, talk: Talk, **query: str) -> list[str]:
        ((name, text),) = query.items()
        path = f"{ARTIFACTS}/search?limit=100&{name}={text}"
        found = expect(talk.ask("GET", path), 200)
        return [each["name"] for each in found["results"]]


@dataclass
class KeyHolder:
    """Registers signing keys, and revokes every second one of them."""

    member: Member
    revoked: dict[str, bool] = field(default_factory=dict)
    pending: tuple[str, bool] | None = None

    def act(self, talk: Talk) -> None:
        """Register one, or revoke the last one."""
        last = next(reversed(self.revoked), None)
        if last is not None and not self.revoked[last] and len(self.revoked) % 2:
            self.pending = (last, True)
            expect(talk.ask("DELETE", f"{KEYS}/{last}"), 204)
        else:
            public = bytes(SigningKey.generate().verify_key)
            self.pending = (hashlib.sha256(public).hexdigest(), False)
            body = {"public_key": base64.b64encode(public).decode(), "label": "one"}
            expect(talk.ask("POST", KEYS, body), 201)
        self._has_done()

    def check(self, talk: Talk) -> None:
        """Every key is there, and revoked if it was."""
        listed = expect(talk.ask("GET", KEYS), 200)
        found = {each["fingerprint"]: each["revoked_at"] is not None for each in listed}
        assert all(each["label"] == "one" for each in listed)
        if self.pending is not None:
            fingerprint, revoked = self.pending
            if found.get(fingerprint) is revoked:
                self._has_done()
            self.pending = None
        assert found == self.revoked

    def _has_done(self) -> None:
        assert self.pending is not None
        fingerprint, revoked = self.pending
        self.revoked[fingerprint] = revoked
        self.pending = None


@dataclass
class PasswordChanger:
    """Changes its password, at most so many times between two checks."""

    member: Member
    most: int = 1
    password: str = PASSWORD
    before: str | None = None
    pending: str | None = None
    changed: int = 0

    def act(self, talk: Talk) -> None:
        """Change it, or look at the own account where that would be too often."""
        if self.changed == self.most:
            expect(talk.ask("GET", "/api/v1/me"), 200)
            return
        self.changed += 1
        self.pending = f"{PASSWORD} {next(_numbers)}"
        body = {"current_password": self.password, "new_password": self.pending}
        expect(talk.ask("PATCH", "/api/v1/me/password", body), 200)
        self.before, self.password, self.pending = self.password, self.pending, None

    def check(self, talk: Talk) -> None:
        """Exactly one password is good, and the acknowledged one if there is one."""
        if self.pending is not None:
            if self._is_good(talk, self.pending):
                self.before, self.password = self.password, self.pending
            else:
                self.before = self.pending
            self.pending = None
            assert self._is_good(talk, self.password)
            assert not self._is_good(talk, self.before)
        elif self.changed:
            assert self._is_good(talk, self.password)
            assert self.before is not None
            assert not self._is_good(talk, self.before)
        self.changed = 0

    def _is_good(self, talk: Talk, password: str) -> bool:
        body = {"email": self.member.email, "password": password}
        answer = talk.ask("POST", "/api/v1/login", body)
        assert answer.status in {200, 401}, answer
        return answer.status == 200


@dataclass
class Endorser:
    """Endorses an artifact, takes that back, and so on."""

    member: Member
    artifact_id: str
    endorsement: str | None = None
    is_pending: bool = False

    def act(self, talk: Talk) -> None:
        """Endorse, or take it back."""
        path = f"{ARTIFACTS}/{self.artifact_id}/endorsements"
        self.is_pending = True
        if self.endorsement is None:
            self.endorsement = expect(talk.ask("POST", path, {}), 201)["id"]
        else:
            expect(talk.ask("DELETE", f"{path}/{self.endorsement}"), 204)
            self.endorsement = None
        self.is_pending = False

    def check(self, talk: Talk) -> None:
        """The endorsement is there, or it is not."""
        path = f"{ARTIFACTS}/{self.artifact_id}/endorsements"
        listed = expect(talk.ask("GET", path), 200)
        own = [each["id"] for each in listed if each["user_id"] == self.member.id]
        assert len(own) <= 1
        found = own[0] if own else None
        if self.is_pending:
            # Another one must not have taken the place of the one that was there.
            assert None in {found, self.endorsement} or found == self.endorsement
            self.endorsement, self.is_pending = found, False
        assert found == self.endorsement


@dataclass
class Owner:
    """Yanks its artifact and unyanks it, for another reason each time."""

    member: Member
    artifact_id: str
    name: str
    reason: str | None = None
    pending: tuple[str | None] | None = None

    def act(self, talk: Talk) -> None:
        """Yank or unyank."""
        path = f"{ARTIFACTS}/{self.artifact_id}/yank"
        if self.reason is None:
            self.pending = (f"reason {next(_numbers)}",)
            expect(talk.ask("POST", path, {"reason": self.pending[0]}), 204)
        else:
            self.pending = (None,)
            expect(talk.ask("DELETE", path), 204)
        (self.reason,), self.pending = self.pending, None

    def check(self, talk: Talk) -> None:
        """It is yanked or not, and found accordingly."""
        found = expect(talk.ask("GET", f"{ARTIFACTS}/{self.name}/1"), 200)
        reason = found["yanked_reason"]
        if self.pending is not None:
            assert reason in {self.reason, self.pending[0]}
            self.reason, self.pending = reason, None
        assert (found["yanked"], reason) == (self.reason is not None, self.reason)
        for query in (f"q={self.name}", f"tag=tag-{self.name}"):
            listed = expect(talk.ask("GET", f"{ARTIFACTS}/search?{query}"), 200)
            names = [each["name"] for each in listed["results"]]
            assert names == ([self.name] if reason is None else [])


def talk_to(hub: HubProcess, who: Member | None = None) -> Talk:
    """A connection to the hub."""
    return Talk(client_of(hub), who.token if who else None)
