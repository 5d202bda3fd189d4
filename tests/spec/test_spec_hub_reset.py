"""Resetting a forgotten password by email (hub API: Password reset token)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hub_process import HubProcess
from spec.hub_client import (
    PASSWORD,
    Account,
    Answer,
    HubClient,
    client_of,
    unique,
)
from spec.hub_mailbox import Mailbox

REQUEST = "/api/v1/password-reset/request"
CONFIRM = "/api/v1/password-reset/confirm"
SENT = {"status": "if that address is registered, a reset link has been sent"}
REFUSED = "invalid or expired reset token"
NEW = "a new password"
SENDER = "hub@redlane.example"
SITE = "https://hub.redlane.example"


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as mailbox:
        yield mailbox


@pytest.fixture(scope="module")
def mailing(
    tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox
) -> Iterator[HubProcess]:
    """A hub that can send mail."""
    hub = HubProcess(
        tmp_path_factory.mktemp("mailing"),
        smtp_url=mailbox.url,
        mail_from=SENDER,
        public_url=SITE,
    )
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="module")
def client(mailing: HubProcess) -> HubClient:
    return client_of(mailing)


@pytest.fixture
def account(client: HubClient) -> Account:
    return client.register()


def request(client: HubClient, email: object) -> Answer:
    return client.post(REQUEST, {"email": email})


def confirm(client: HubClient, token: object, password: object = NEW) -> Answer:
    return client.post(CONFIRM, {"token": token, "new_password": password})


def token_for(account: Account, mailbox: Mailbox, count: int = 1) -> str:
    """Ask for a reset and take the token out of the letter that comes."""
    assert request(account.http.signed_in(None), account.email).status == 202
    return mailbox.wait(account.email, count)[-1].token


def logs_in(account: Account, password: str) -> bool:
    body = {"email": account.email, "password": password}
    return account.http.post("/api/v1/login", body).status == 200


def test_request_is_accepted(client: HubClient, account: Account) -> None:
    answer = request(client, account.email)

    assert (answer.status, answer.json) == (202, SENT)


STRANGERS = {
    "unregistered": "nobody@example.com",
    "empty": "",
    "no-at": "nobody",
    "controls": "a\0@b\r\nBcc: c@d",
    "long": "x" * 5000,
}


@pytest.mark.parametrize("email", STRANGERS.values(), ids=STRANGERS.keys())
def test_answer_for_a_stranger_is_the_same(
    client: HubClient, account: Account, email: str
) -> None:
    known, unknown = request(client, account.email), request(client, email)

    assert (unknown.status, unknown.body) == (known.status, known.body)
    names = [sorted(name for name, _ in a.headers) for a in (known, unknown)]
    assert names[0] == names[1]


def test_link_comes_by_email(account: Account, mailbox: Mailbox) -> None:
    request(account.http, account.email)

    letter = mailbox.wait(account.email)[0]
    assert letter.link.startswith(f"{SITE}/reset-password?token=")
    assert letter.sender == SENDER
    assert account.email in str(letter.message["To"])
    assert SENDER in str(letter.message["From"])


def test_token_needs_no_escaping_and_fits_the_limit(
    account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)

    assert 32 <= len(token) <= 256
    assert token.replace("-", "").replace("_", "").isalnum()
    assert token.isascii()


def test_address_is_found_whatever_its_ascii_case(
    client: HubClient, mailbox: Mailbox
) -> None:
    account = client.register(f"{unique('Reset')}@Example.com")

    request(client, account.email.swapcase())

    assert mailbox.wait(account.email)


def test_reset_sets_the_password(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    answer = confirm(client, token_for(account, mailbox))

    assert (answer.status, answer.json) == (200, {"status": "password updated"})
    assert logs_in(account, NEW)
    assert not logs_in(account, PASSWORD)


def test_reset_does_not_sign_out(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    confirm(client, token_for(account, mailbox))

    assert account.http.get("/api/v1/me").status == 200


def test_reset_may_set_the_old_password_again(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)

    assert confirm(client, token, PASSWORD).status == 200


def test_token_is_used_once(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)
    confirm(client, token)

    again = confirm(client, token, "yet another password")

    assert (again.status, again.error) == (400, REFUSED)
    assert logs_in(account, NEW)


def test_new_token_invalidates_the_earlier(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    first = token_for(account, mailbox)
    second = token_for(account, mailbox, 2)

    early = confirm(client, first)

    assert first != second
    assert (early.status, early.error) == (400, REFUSED)
    assert confirm(client, second).status == 200


def test_three_letters_an_hour(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    for count in (1, 2, 3):
        last = token_for(account, mailbox, count)
    fourth = request(client, account.email)
    # Letters leave in the order of the requests: this one comes after a fourth.
    token_for(client.register(), mailbox)

    assert (fourth.status, fourth.json) == (202, SENT)
    assert len(mailbox.to(account.email)) == 3
    assert confirm(client, last).status == 200


def test_used_tokens_count_for_the_hour(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    for count in (1, 2, 3):
        token = token_for(account, mailbox, count)
        assert confirm(client, token, f"password number {count}").status == 200
    request(client, account.email)
    token_for(client.register(), mailbox)

    assert len(mailbox.to(account.email)) == 3


def test_stranger_gets_no_letter(client: HubClient, mailbox: Mailbox) -> None:
    email = f"{unique('stranger')}@example.com"
    request(client, email)
    token_for(client.register(), mailbox)

    assert not mailbox.to(email)


SPELLINGS = {
    "space-before": " {}",
    "space-after": "{} ",
    "made-longer": "{}A",
    "made-over-long": "{}" + "x" * 256,
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_token_is_exact(
    client: HubClient, account: Account, mailbox: Mailbox, spelling: str
) -> None:
    token = token_for(account, mailbox)

    answer = confirm(client, spelling.format(token))

    assert (answer.status, answer.error) == (400, REFUSED)
    assert confirm(client, token).status == 200


WEAK = {
    "empty": "",
    "7-bytes": "1234567",
    "1025-bytes": "x" * 1025,
    "513-characters-of-1025-bytes": "é" * 512 + "x",
}


@pytest.mark.parametrize("password", WEAK.values(), ids=WEAK.keys())
def test_weak_password_does_not_consume_the_token(
    client: HubClient, account: Account, mailbox: Mailbox, password: str
) -> None:
    token = token_for(account, mailbox)

    weak = confirm(client, token, password)

    assert weak.status == 400
    assert weak.error != REFUSED
    assert logs_in(account, PASSWORD)
    assert confirm(client, token).status == 200


def test_new_password_may_have_1024_bytes(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)

    assert confirm(client, token, "é" * 512).status == 200
    assert logs_in(account, "é" * 512)


def test_of_two_confirms_at_once_one_wins(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)
    passwords = ["the first password", "the second password"]

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda p: confirm(client, token, p), passwords))

    assert sorted(answer.status for answer in answers) == [200, 400]
    lost = next(answer for answer in answers if answer.status == 400)
    assert lost.error == REFUSED
    won = passwords[[answer.status for answer in answers].index(200)]
    assert logs_in(account, won)


def test_only_a_hash_of_the_token_is_stored(
    mailing: HubProcess, account: Account, mailbox: Mailbox
) -> None:
    token = token_for(account, mailbox)

    stored = [p.read_bytes() for p in mailing.directory.iterdir() if p.is_file()]

    assert account.email.encode() in b"".join(stored)
    assert token.encode() not in b"".join(stored)


def test_letter_for_a_changed_address_goes_there(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    email = f"{unique('moved')}@example.com"
    account.http.patch("/api/v1/me/email", {"email": email})

    request(client, email)

    token = mailbox.wait(email)[0].token
    assert confirm(client, token).status == 200
    assert not mailbox.to(account.email)


def test_token_in_the_header_is_ignored(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    odd = client.signed_in("nonsense")

    assert request(odd, account.email).status == 202
    token = mailbox.wait(account.email)[0].token
    assert confirm(odd, token).status == 200


def test_link_leads_to_a_page(
    client: HubClient, account: Account, mailbox: Mailbox
) -> None:
    request(client, account.email)
    link = mailbox.wait(account.email)[0].link

    answer = client.get(link.removeprefix(SITE))

    assert answer.status == 200
    assert (answer.header("Content-Type") or "").startswith("text/html")
    assert confirm(client, link.partition("token=")[2]).status == 200


def test_letter_that_could_not_be_sent_is_sent_after_a_restart(
    tmp_path: Path,
) -> None:
    with Mailbox() as gone:
        url = gone.url
    hub = HubProcess(tmp_path, smtp_url=url, public_url=SITE, mail_from=SENDER)
    try:
        hub.start()
        account = client_of(hub).register()
        assert request(client_of(hub), account.email).status == 202
        hub.stop()
        with Mailbox() as mailbox:
            hub.settings["smtp_url"] = mailbox.url
            hub.start()
            token = mailbox.wait(account.email)[0].token
            assert confirm(client_of(hub), token).status == 200
    finally:
        hub.stop()
