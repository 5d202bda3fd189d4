"""Requests, mails, failures, waiting, confirmations in any order, beside a model."""

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hub_instance import Clock
from hub_mail_server import TOKEN
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)
from tiers import examples

from redlane_hub.clock import timestamp
from redlane_hub.errors import InvalidInputError
from redlane_hub.mail import MailError, MailRefusedError
from redlane_hub.model import Account
from redlane_hub.security.passwords import Passwords
from redlane_hub.services.reset_mail import ResetMailWorker
from redlane_hub.services.reset_queue import retry_delay
from redlane_hub.services.resets import Resets
from redlane_hub.store import accounts
from redlane_hub.store.database import Database
from redlane_hub.store.migrations import migrate

INVALID = r"^invalid or expired reset token$"
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LIFETIME = timedelta(minutes=30)
PASSWORDS = Passwords(1)
OUTCOMES = {
    "up": None,
    "down": MailError("down"),
    "refused": MailRefusedError("refused"),
}


class Post:
    """A mail transport that sees every token, and then does as it is told."""

    def __init__(self) -> None:
        self.outcome: Exception | None = None
        self.seen: list[tuple[str, str]] = []

    def send(self, to: str, subject: str, text: str) -> None:
        del subject
        (token,) = TOKEN.findall(text)
        self.seen.append((to, token))
        if self.outcome is not None:
            raise self.outcome


@dataclass(eq=False)
class Request:
    email: str
    at: datetime
    due: datetime
    attempts: int = 0
    issued: dict[str, datetime] = field(default_factory=dict)
    """When it last got a token, by account."""


@dataclass
class Token:
    account: str
    email: str
    until: datetime
    is_live: bool = True


class Resetting(RuleBasedStateMachine):
    tokens = Bundle("tokens")

    @initialize(template=st.just(None))
    def begin(self, template: None) -> None:
        del template
        self.directory = Path(tempfile.mkdtemp(prefix="resets-"))
        path = self.directory / "hub.db"
        migrate(path)
        self.clock, self.post = Clock(), Post()
        self.database = Database(path, durable=False)
        self.resets = Resets(self.database, self.clock, PASSWORDS, configured=True)
        self.worker = ResetMailWorker(
            self.database, self.clock, self.post, "https://hub.example.org"
        )
        self.emails = {
            "ann": "Ann@example.org",
            "bob": "bob@example.org",
            "old": "old@placeholder.invalid",
        }
        self.passwords: dict[str, str] = {}
        self.queue: list[Request] = []
        self.past: list[Request] = []
        self.known: dict[str, Token] = {}
        with self.database.transaction() as connection:
            for name, email in self.emails.items():
                made = Account(name, email, False, False, timestamp(self.clock()))  # noqa: FBT003  # columns
                accounts.insert(connection, made, "no hash")

    @rule(
        email=st.sampled_from(
            [
                *("Ann@example.org", "aNN@EXAMPLE.org", "bob@example.org"),
                *("robert@example.org", "old@placeholder.invalid", "x" * 300),
                *("nobody@example.org", "ann@example.org "),
            ]
        )
    )
    def ask(self, email: str) -> None:
        self.clock.advance(milliseconds=1)
        self.resets.request(email)
        now = self.clock()
        self.queue.append(Request(email.lower(), now, now))

    @rule(target=tokens, outcome=st.sampled_from(list(OUTCOMES)))
    def deliver(self, outcome: str) -> object:
        self.post.outcome, self.post.seen = OUTCOMES[outcome], []
        expected = self.expected_mails(outcome)
        self.worker.deliver_due()
        assert sorted(to for to, _ in self.post.seen) == sorted(expected)
        for to, token in self.post.seen:
            self.learn(to, token)
        return multiple(*(token for _, token in self.post.seen))

    def expected_mails(self, outcome: str) -> list[str]:
        now = self.clock()
        mails = []
        for request in sorted(self.queue, key=lambda each: each.due):
            if request.due > now or request not in self.queue:
                continue
            self.queue.remove(request)
            account = self.account_of(request.email)
            if account in (None, "old") or now >= request.at + DAY:
                continue
            if account not in request.issued and self.issued(account) >= 3:
                continue
            mails.append(self.emails[account])
            request.issued[account] = now
            request.attempts += 1
            self.past.append(request)
            self.queue = [
                each
                for each in self.queue
                if not each.attempts or each.email != request.email
            ]
            request.due = now + retry_delay(request.attempts)
            if outcome == "down" and request.due < request.at + DAY:
                self.queue.append(request)
        return mails

    def account_of(self, email: str) -> str | None:
        for name, own in self.emails.items():
            if own.lower() == email:
                return name
        return None

    def issued(self, account: str) -> int:
        since = self.clock() - HOUR
        return sum(
            each.issued[account] > since
            for each in set(self.past)
            if account in each.issued
        )

    def learn(self, to: str, token: str) -> None:
        account = self.account_of(to.lower())
        assert account is not None
        for each in self.known.values():
            each.is_live = each.is_live and each.account != account
        self.known[token] = Token(account, to, self.clock() + LIFETIME)

    @rule(
        minutes=st.sampled_from(
            [0.05, 0.1, 0.3, 1, 10, 19.9, 29.99, 30, 31, 59, 60, 200, 1300]
        )
    )
    def wait(self, minutes: float) -> None:
        self.clock.advance(minutes=minutes)

    @rule(email=st.sampled_from(["bob@example.org", "Robert@example.org"]))
    def change_email(self, email: str) -> None:
        with self.database.transaction() as connection:
            accounts.set_email(connection, "bob", email)
        self.emails["bob"] = email

    @rule(token=tokens, is_weak=st.booleans())
    def confirm(self, token: str, *, is_weak: bool) -> None:
        known = self.known[token]
        is_live = (
            known.is_live
            and self.clock() < known.until
            and self.emails[known.account].lower() == known.email.lower()
        )
        password = "weak" if is_weak else f"password {token}"
        if is_live and not is_weak:
            self.resets.confirm(token, password)
            self.passwords[known.account] = password
            known.is_live = False
            return
        message = "at least 8 bytes" if is_live else INVALID
        with pytest.raises(InvalidInputError, match=message):
            self.resets.confirm(token, password)

    @rule()
    def confirm_an_unknown_token(self) -> None:
        with pytest.raises(InvalidInputError, match=INVALID):
            self.resets.confirm("unknown", "good password")

    @invariant()
    def nothing_else_is_kept(self) -> None:
        if not hasattr(self, "database"):
            return
        reading = self.database.reading()
        (waiting,) = reading.execute("SELECT count(*) FROM reset_requests").fetchone()
        assert waiting == len(self.queue)

    def teardown(self) -> None:
        if not hasattr(self, "database"):
            return
        reading = self.database.reading()
        for account, password in self.passwords.items():
            stored = accounts.password_hash(reading, account)
            assert PASSWORDS.verify(stored, password)
        for account in self.emails.keys() - self.passwords.keys():
            assert accounts.password_hash(reading, account) == "no hash"
        self.database.close()
        shutil.rmtree(self.directory)


TestResetting = Resetting.TestCase
TestResetting.settings = settings(
    max_examples=examples(25),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
