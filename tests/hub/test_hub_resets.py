"""Redeeming a reset token: what ends it, and what does not."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hub_instance import PASSWORD, Running, new_hub
from hub_mail_server import MailServer, mail_server
from hub_reset import (
    ANN,
    INVALID,
    NEW,
    ask,
    can_log_in,
    confirm,
    resetting_hub,
    token_for,
    worker,
)

from redlane_hub.services import resets as service


@pytest.fixture
def post() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, post: MailServer) -> Iterator[Running]:
    made = resetting_hub(tmp_path, post)
    yield made
    made.close()


def test_reset_sets_the_password_once(hub: Running, post: MailServer) -> None:
    token = token_for(hub, post)
    done = confirm(hub, token)
    assert (done.status_code, done.json) == (200, {"status": "password updated"})
    assert can_log_in(hub, NEW)
    assert not can_log_in(hub, PASSWORD)
    again = confirm(hub, token, "a third password")
    assert (again.status_code, again.json) == (400, INVALID)
    assert can_log_in(hub, NEW)


def test_mail_goes_to_the_address_as_registered(hub: Running, post: MailServer) -> None:
    token_for(hub, post, "aNN@EXAMPLE.ORG")
    (letter,) = post.letters
    assert letter.to == ANN
    link = (
        f"\n\nhttps://hub.example.org/redlane/reset-password?token={letter.token}\n\n"
    )
    assert link in letter.text


def test_token_is_random_and_kept_only_as_a_hash(
    hub: Running, post: MailServer
) -> None:
    token = token_for(hub, post)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert token != token_for(hub, post)
    hub.database.reading().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert token.encode() not in hub.database.path.read_bytes()


def test_old_password_may_be_set_again(hub: Running, post: MailServer) -> None:
    assert confirm(hub, token_for(hub, post), PASSWORD).status_code == 200
    assert can_log_in(hub, PASSWORD)


def test_reset_signs_nobody_out(hub: Running, post: MailServer) -> None:
    session = hub.register("bob@example.org")
    confirm(hub, token_for(hub, post, "bob@example.org"))
    assert hub.call("GET", "/api/v1/me", session).status_code == 200


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("", "at least 8"),
        ("seven b", "at least 8"),
        ("é" * 513, "at most 1024"),
        ("x" * 1025, "at most 1024"),
    ],
    ids=["empty", "short", "long in bytes", "long"],
)
def test_weak_password_leaves_the_token(
    hub: Running, post: MailServer, password: str, problem: str
) -> None:
    token = token_for(hub, post)
    refused = confirm(hub, token, password)
    assert refused.status_code == 400
    assert problem in refused.json["error"]
    assert confirm(hub, token, "ünd " * 2).status_code == 200


@pytest.fixture(scope="module")
def idle_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = new_hub(tmp_path_factory.mktemp("hub"))
    yield made
    made.close()


@pytest.mark.parametrize(
    "token",
    ["", "nonsense", "\0", "ü" * 128, "x" * 256, "x" * 257, "ü" * 129, "x" * 100_000],
    ids=["empty", "nonsense", "NUL", "256 bytes", "256", "257", "258 bytes", "huge"],
)
@pytest.mark.parametrize("password", [NEW, "weak"])
def test_every_wrong_token_gets_the_same_answer(
    idle_hub: Running, token: str, password: str
) -> None:
    refused = confirm(idle_hub, token, password)
    assert (refused.status_code, refused.json) == (400, INVALID)


def test_token_with_something_added_is_another_token(
    hub: Running, post: MailServer
) -> None:
    token = token_for(hub, post)
    for other in (f"{token} ", f" {token}", f"{token}=", token.swapcase(), token[:-1]):
        assert confirm(hub, other).json == INVALID
    assert confirm(hub, token).status_code == 200


@pytest.mark.parametrize(
    ("seconds", "status"), [(0, 200), (1799.999, 200), (1800, 400), (7200, 400)]
)
def test_token_lives_for_thirty_minutes(
    hub: Running, post: MailServer, seconds: float, status: int
) -> None:
    token = token_for(hub, post)
    hub.clock.advance(seconds=seconds)
    assert confirm(hub, token).status_code == status


def test_thirty_minutes_count_from_the_issue(hub: Running, post: MailServer) -> None:
    ask(hub)
    hub.clock.advance(hours=2)
    worker(hub).deliver_due()
    hub.clock.advance(minutes=29)
    assert confirm(hub, post.letters[0].token).status_code == 200


def test_token_that_ends_while_the_password_is_hashed_is_expired(
    hub: Running, post: MailServer
) -> None:
    token = token_for(hub, post)

    class SlowPasswords:
        def hash(self, password: str) -> str:
            hub.clock.advance(hours=1)
            return password

    slow = service.Resets(
        hub.database,
        hub.clock,
        SlowPasswords(),  # type: ignore[arg-type]  # all that is asked of it
        configured=True,
    )
    with pytest.raises(service.InvalidInputError, match="expired"):
        slow.confirm(token, NEW)
    assert can_log_in(hub, PASSWORD)


def test_newer_token_ends_the_older(hub: Running, post: MailServer) -> None:
    older, newer = token_for(hub, post), token_for(hub, post)
    assert confirm(hub, older).json == INVALID
    assert confirm(hub, newer).status_code == 200


def change_email(hub: Running, session: str, email: str) -> None:
    body = {"email": email}
    done = hub.call("PATCH", "/api/v1/me/email", session, json=body)
    assert done.status_code == 200


def test_address_given_up_before_the_mail_gets_none(
    hub: Running, post: MailServer
) -> None:
    session = hub.register("bob@example.org")
    ask(hub, "bob@example.org")
    change_email(hub, session, "robert@example.org")
    worker(hub).deliver_due()
    assert not post.letters


def test_token_ends_with_the_address_it_went_to(hub: Running, post: MailServer) -> None:
    session = hub.register("Bob@example.org")
    token = token_for(hub, post, "bob@example.org")
    change_email(hub, session, "robert@example.org")
    assert confirm(hub, token).json == INVALID
    change_email(hub, session, "BOB@example.org")
    assert confirm(hub, token).status_code == 200


def test_address_taken_over_by_another_account(hub: Running, post: MailServer) -> None:
    """Who asked is not known; who has the address when the mail is written, is."""
    session = hub.register("bob@example.org")
    ask(hub, "bob@example.org")
    change_email(hub, session, "robert@example.org")
    hub.register("BOB@example.org")
    worker(hub).deliver_due()
    (letter,) = post.letters
    assert letter.to == "BOB@example.org"
    confirm(hub, letter.token)
    assert can_log_in(hub, NEW, "bob@example.org")
    assert can_log_in(hub, PASSWORD, "robert@example.org")


def test_one_of_many_confirmations_wins(hub: Running, post: MailServer) -> None:
    token = token_for(hub, post)
    passwords = [f"password number {each}" for each in range(6)]
    together = threading.Barrier(len(passwords))

    def redeem(password: str) -> str:
        together.wait(20)
        answer = confirm(hub, token, password)
        hub.database.close()
        return str(answer.json.get("status") or answer.json["error"])

    with ThreadPoolExecutor(len(passwords)) as threads:
        answers = list(threads.map(redeem, passwords))
    assert sorted(answers) == [INVALID["error"]] * 5 + ["password updated"]
    winner = passwords[answers.index("password updated")]
    assert can_log_in(hub, winner)
