"""Asking for a reset: it tells nothing, and bounds what it leaves."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_mail_server import MailServer, mail_server
from hub_reset import (
    ANN,
    INVALID,
    REQUESTED,
    ask,
    confirm,
    resetting_hub,
    rows,
    token_for,
    worker,
)

from redlane_hub.clock import timestamp
from redlane_hub.services.resets import MOST_WAITING


@pytest.fixture
def post() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, post: MailServer) -> Iterator[Running]:
    made = resetting_hub(tmp_path, post)
    yield made
    made.close()


def test_look_alike_address_gets_nothing(hub: Running, post: MailServer) -> None:
    hub.register("mike@example.org")
    for address in (
        "m\u0131ke@example.org",
        "mi\u212ae@example.org",
        " Ann@example.org",
    ):
        ask(hub, address)
    worker(hub).deliver_due()
    assert not post.letters


def test_asking_alone_ends_no_token(hub: Running, post: MailServer) -> None:
    token = token_for(hub, post)
    ask(hub)
    assert confirm(hub, token).status_code == 200


def test_account_gets_three_tokens_an_hour(hub: Running, post: MailServer) -> None:
    hub.register("bob@example.org")
    for _ in range(3):
        last = token_for(hub, post)
        hub.clock.advance(minutes=5)
    assert ask(hub).json == REQUESTED
    worker(hub).deliver_due()
    assert len(post.letters) == 3
    assert confirm(hub, last).status_code == 200, "a refused request ends no token"
    assert token_for(hub, post, "bob@example.org"), "others have their own allowance"
    hub.clock.advance(minutes=45)
    assert token_for(hub, post), "an hour after the first"
    ask(hub)
    worker(hub).deliver_due()
    assert len(post.to(ANN)) == 4


def test_placeholder_is_never_mailed(hub: Running, post: MailServer) -> None:
    hub.register("someone@placeholder.invalid")
    hub.register("other@PLACEHOLDER.invalid")
    ask(hub, "someone@placeholder.invalid")
    ask(hub, "other@placeholder.invalid")
    worker(hub).deliver_due()
    assert not post.letters
    assert not rows(hub, "reset_tokens")


ADDRESSES = {
    "registered": ANN,
    "other case": ANN.upper(),
    "unregistered": "nobody@example.org",
    "exhausted": "bob@example.org",
    "placeholder": "someone@placeholder.invalid",
    "empty": "",
    "no address": "not an address",
    "too long": "x" * 300 + "@example.org",
    "huge": "x" * 1_000_000,
    "control": "ann\0\r\n@example.org",
    "international": "jörg@exämple.org",
}


@pytest.mark.parametrize("address", ADDRESSES.values(), ids=ADDRESSES.keys())
def test_every_address_runs_the_same_statements(
    hub: Running, post: MailServer, address: str
) -> None:
    hub.register("bob@example.org")
    hub.register("someone@placeholder.invalid")
    for _ in range(3):
        token_for(hub, post, "bob@example.org")
    ran: list[str] = []
    hub.database.reading().set_trace_callback(ran.append)
    answer = ask(hub, address)
    hub.database.reading().set_trace_callback(None)
    assert (answer.status_code, answer.json) == (202, REQUESTED)
    statements = [
        " ".join(re.sub(r"'(?:[^']|'')*'|NULL|X'[^']*'", "?", each).split())
        for each in ran
    ]
    assert [each.split()[0] for each in statements] == ["BEGIN", "INSERT", "COMMIT"]
    assert "reset_requests" in statements[1]
    (row,) = rows(hub, "reset_requests")
    assert len(row["email"]) <= 255


def test_queue_is_bounded(hub: Running, post: MailServer) -> None:
    most = MOST_WAITING
    with hub.database.transaction() as connection:
        connection.executemany(
            "INSERT INTO reset_requests VALUES (?, 'nobody@example.org', ?, 0, ?)",
            [(str(each), *[timestamp(hub.clock())] * 2) for each in range(most)],
        )
    assert ask(hub).json == REQUESTED
    assert len(rows(hub, "reset_requests")) == most
    worker(hub).deliver_due()
    assert not rows(hub, "reset_requests")
    assert token_for(hub, post)


def test_requests_of_nobody_leave_nothing(hub: Running, post: MailServer) -> None:
    for each in range(250):
        ask(hub, f"nobody-{each}@example.org")
    worker(hub).deliver_due()
    assert not post.letters
    assert not rows(hub, "reset_requests")
    assert not rows(hub, "reset_tokens")


@pytest.fixture(scope="module")
def hubs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Running]]:
    """A hub with a mail server, that is down, and one without."""
    made = {
        True: new_hub(tmp_path_factory.mktemp("hub"), smtp_url="smtp://127.0.0.1:1"),
        False: new_hub(tmp_path_factory.mktemp("hub")),
    }
    yield made
    for each in made.values():
        each.close()


def test_without_a_mail_server_there_are_no_resets(hubs: dict[bool, Running]) -> None:
    hub = hubs[False]
    refused = ask(hub)
    assert refused.status_code == 503
    assert refused.json == {"error": "no email provider is configured"}
    assert not rows(hub, "reset_requests")
    assert confirm(hub, "nonsense").json == INVALID


BODIES = {
    "not JSON": b"{",
    "no object": b"[]",
    "no email": b"{}",
    "null": b'{"email": null}',
    "number": b'{"email": 1}',
    "twice": b'{"email": "a@b", "email": "a@b"}',
    "surrogate": b'{"email": "\\ud800@example.org"}',
    "not UTF-8": b'{"email": "\xff@example.org"}',
}


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_body_is_read_before_the_mail_server_is_missed(
    hubs: dict[bool, Running], body: bytes, *, configured: bool
) -> None:
    refused = hubs[configured].call(
        "POST",
        "/api/v1/password-reset/request",
        body=body,
        headers={"Content-Type": "application/json"},
    )
    assert refused.status_code == 400
    assert list(refused.json) == ["error"]
