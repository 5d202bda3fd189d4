"""How long resets hold (hub API: Password reset token).

The hub's clock cannot be moved from outside, so what it has stored is made older.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_process import HubProcess
from spec.hub_client import Account, Answer, client_of
from spec.hub_mailbox import Mailbox
from spec.hub_tampering import age_table

MINUTE = 60
REQUEST = "/api/v1/password-reset/request"
CONFIRM = "/api/v1/password-reset/confirm"
REFUSED = "invalid or expired reset token"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as mailbox:
        yield mailbox


@pytest.fixture
def mailing(tmp_path: Path, mailbox: Mailbox) -> Iterator[HubProcess]:
    hub = HubProcess(tmp_path, smtp_url=mailbox.url)
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


def token_for(account: Account, mailbox: Mailbox, count: int = 1) -> str:
    answer = account.http.post(REQUEST, {"email": account.email})
    assert answer.status == 202
    return mailbox.wait(account.email, count)[-1].token


def confirm_after(hub: HubProcess, token: str, minutes: int, password: str) -> Answer:
    """Confirm when all that is stored about resets is so much older."""
    age(hub, token, minutes)
    body = {"token": token, "new_password": password}
    return client_of(hub).post(CONFIRM, body)


def age(hub: HubProcess, token: str, minutes: int) -> None:
    """Only a SHA-256 hash of the token is stored: it finds the table."""
    digest = hashlib.sha256(token.encode())
    hub.stop()
    holding = (digest.hexdigest(), digest.digest())
    age_table(hub.database, holding, minutes * MINUTE)
    hub.start()


def test_token_lives_for_30_minutes(mailing: HubProcess, mailbox: Mailbox) -> None:
    account = client_of(mailing).register()

    answer = confirm_after(mailing, token_for(account, mailbox), 29, "new password")

    assert answer.status == 200


@pytest.mark.parametrize("password", ["new password", "weak"])
def test_token_expires_after_30_minutes(
    mailing: HubProcess, mailbox: Mailbox, password: str
) -> None:
    account = client_of(mailing).register()

    answer = confirm_after(mailing, token_for(account, mailbox), 30, password)

    assert (answer.status, answer.error) == (400, REFUSED)
    client_of(mailing).login(account.email, account.password, account.id)


def test_allowance_of_three_comes_back_after_an_hour(
    mailing: HubProcess, mailbox: Mailbox
) -> None:
    account = client_of(mailing).register()
    for count in (1, 2, 3):
        last = token_for(account, mailbox, count)

    age(mailing, last, 61)

    http = client_of(mailing).signed_in(account.token)
    again = Account(account.email, account.password, account.id, http)
    token = token_for(again, mailbox, 4)
    body = {"token": token, "new_password": "new password"}
    assert http.post(CONFIRM, body).status == 200
