"""Tells the story of a demonstration hub through the services that people use."""

import secrets
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from nacl.signing import SigningKey

from redlane_hub.cli.demo_story import (
    ENDORSEMENTS,
    PEOPLE,
    PUBLICATIONS,
    Person,
    Publication,
)
from redlane_hub.conformance import SchemaChecker
from redlane_hub.model import Account, Level
from redlane_hub.security.passwords import Passwords
from redlane_hub.security.secrets import load_secrets
from redlane_hub.security.signatures import content_hash, fingerprint
from redlane_hub.security.tokens import Tokens
from redlane_hub.services.accounts import Accounts
from redlane_hub.services.administration import Administration
from redlane_hub.services.endorsements import Endorsements
from redlane_hub.services.keys import Keys
from redlane_hub.services.publishing import Publishing
from redlane_hub.services.yanking import Yanking
from redlane_hub.settings import Settings
from redlane_hub.store.database import Database
from redlane_hub.wire.publishing import DependencyForm, PublishForm

__all__ = ["Login", "tell_story"]

_BETWEEN = timedelta(hours=31)
"""Between one event of the story and the next; the last is now."""


@dataclass(frozen=True, slots=True)
class Login:
    """An account of the demonstration, and its password."""

    email: str
    password: str


class _Calendar:
    """A clock that is moved from one event to the next."""

    def __init__(self, end: datetime, events: int) -> None:
        self._now = end - events * _BETWEEN

    def __call__(self) -> datetime:
        return self._now

    def turn(self) -> None:
        self._now += _BETWEEN


def tell_story(settings: Settings, end: datetime) -> list[Login]:
    """Fill a migrated database; the logins of everybody in it."""
    events = len(PEOPLE) + len(PUBLICATIONS) + len(ENDORSEMENTS)
    calendar = _Calendar(end, events)
    database = Database(settings.database_path)
    try:
        with _told(settings, database, calendar) as story:
            for person in PEOPLE:
                calendar.turn()
                story.enter(person)
            for publication in PUBLICATIONS:
                calendar.turn()
                story.publish(publication)
            for email, name, version, level in ENDORSEMENTS:
                calendar.turn()
                story.endorse(email, name, version, level)
            return story.logins
    finally:
        database.close()


@contextmanager
def _told(
    settings: Settings, database: Database, calendar: _Calendar
) -> Iterator["_Story"]:
    checker, passwords = SchemaChecker(), Passwords()
    tokens = Tokens(load_secrets(settings).token, calendar)
    checker.start()
    try:
        accounts = Accounts(database, calendar, passwords, tokens)
        publishing = Publishing(database, calendar, checker, settings)
        yield _Story(database, calendar, accounts, publishing)
    finally:
        checker.stop()
        passwords.close()


class _Story:
    """Who is there, with which key, and what they published."""

    def __init__(
        self,
        database: Database,
        calendar: _Calendar,
        accounts: Accounts,
        publishing: Publishing,
    ) -> None:
        self.logins: list[Login] = []
        self._accounts = accounts
        self._publishing = publishing
        self._administration = Administration(database)
        self._keys = Keys(database, calendar)
        self._yanking = Yanking(database)
        self._endorsements = Endorsements(database, calendar)
        self._people: dict[str, Account] = {}
        self._signing: dict[str, SigningKey] = {}
        self._published: dict[tuple[str, str], str] = {}

    def enter(self, person: Person) -> None:
        """Register a person, and their key."""
        login = Login(person.email, secrets.token_urlsafe(9))
        account = self._accounts.register(login.email, login.password)
        self._administration.approve(person.email, value=person.approved)
        self._administration.recognise(person.email, value=person.recognised)
        if person.key is not None:
            key = SigningKey.generate()
            public_key = b64encode(bytes(key.verify_key)).decode()
            self._keys.register(account.id, public_key, person.key)
            self._signing[person.email] = key
        self._people[person.email] = account
        self.logins.append(login)

    def publish(self, publication: Publication) -> None:
        """Publish, signed where there is a key, and yank what was a mistake."""
        owner = self._people[publication.owner]
        signature, key = self._signed(publication)
        form = PublishForm(
            name=publication.name,
            version=publication.version,
            content=publication.content,
            description=publication.description,
            tags=publication.tags,
            visibility=publication.visibility,
            artifact_type="set" if publication.needs else "artifact",
            dependencies=tuple(DependencyForm(*each) for each in publication.needs),
            schema=publication.schema,
            signature=signature,
            key_fingerprint=key,
        )
        made = self._publishing.publish(owner, form).artifact
        self._published[publication.name, publication.version] = made.id
        if publication.yanked is not None:
            self._yanking.yank(made.id, owner.id, publication.yanked)

    def _signed(self, publication: Publication) -> tuple[str | None, str | None]:
        key = self._signing.get(publication.owner)
        if key is None:
            return None, None
        digest = content_hash(publication.content.encode())
        signature = b64encode(key.sign(digest.encode()).signature).decode()
        return signature, fingerprint(bytes(key.verify_key))

    def endorse(self, email: str, name: str, version: str, level: str) -> None:
        """Let a person put their word behind an artifact."""
        artifact_id = self._published[name, version]
        self._endorsements.endorse(artifact_id, self._people[email], Level(level))
