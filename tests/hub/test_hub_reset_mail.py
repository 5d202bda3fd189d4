"""The worker: what happens to a request when mail cannot be sent, or the hub ends."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hub_instance import Running
from hub_mail_server import DEADLINE, MailServer, mail_server
from hub_reset import ANN, INVALID, ask, confirm, resetting_hub, rows, worker

from redlane_hub.app import Hub
from redlane_hub.mail import MailError
from redlane_hub.mail.smtp import SEND_SECONDS
from redlane_hub.services.reset_mail import ResetMailWorker
from redlane_hub.services.reset_queue import LEASE, ResetQueue, retry_delay


@pytest.fixture
def post() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, post: MailServer) -> Iterator[Running]:
    made = resetting_hub(tmp_path, post)
    yield made
    made.close()


def second_hub(hub: Running) -> Hub:
    """Another process's hub on the same database, as far as the database sees it."""
    return Hub(hub.settings, clock=hub.clock)


def worker_of(hub: Hub) -> ResetMailWorker:
    assert hub._worker is not None
    return hub._worker


def told(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(each) for each in caplog.records if "password reset" in each.message]


def test_sending_fits_into_the_lease_twice() -> None:
    assert timedelta(seconds=2 * SEND_SECONDS) <= LEASE


def test_delays_grow_up_to_hours() -> None:
    delays = [retry_delay(attempts) for attempts in range(1, 40)]
    assert delays[0] == timedelta(seconds=5)
    assert delays == sorted(delays)
    assert delays[-1] == timedelta(hours=4)


def test_request_survives_a_mail_server_that_is_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with mail_server() as post:
        port = post.port
    hub = resetting_hub(tmp_path, post)
    ask(hub)
    worker(hub).deliver_due()
    worker(hub).deliver_due()
    (line,) = told(caplog)
    assert line["reason"] == "the mail server cannot be reached: Connection refused"
    assert line["attempts"] == 1
    with mail_server(port=port) as post:
        hub.clock.advance(seconds=4.9)
        worker(hub).deliver_due()
        assert not post.letters, "it is not due yet"
        hub.clock.advance(seconds=0.1)
        worker(hub).deliver_due()
        (letter,) = post.letters
    assert confirm(hub, letter.token).status_code == 200
    assert not rows(hub, "reset_requests")
    hub.close()


def test_thirty_minutes_count_from_the_last_attempt(
    hub: Running, post: MailServer
) -> None:
    post.refuse_message = "451 later"
    ask(hub)
    for _ in range(6):
        worker(hub).deliver_due()
        hub.clock.advance(hours=1)
    post.refuse_message = ""
    worker(hub).deliver_due()
    hub.clock.advance(minutes=29, seconds=59)
    assert confirm(hub, post.letters[0].token).status_code == 200


def test_failing_mail_is_given_up_after_a_day(
    hub: Running, post: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    post.refuse_message = "451 later"
    ask(hub)
    for _ in range(24 * 60):
        worker(hub).deliver_due()
        hub.clock.advance(minutes=1)
    assert not rows(hub, "reset_requests")
    lines = told(caplog)
    assert len(lines) < 20
    assert "given up" in lines[-1]["message"]
    assert not any("given up" in each["message"] for each in lines[:-1])


def test_request_that_waited_a_day_is_given_up(
    hub: Running, post: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    ask(hub)
    hub.clock.advance(days=1)
    worker(hub).deliver_due()
    assert not post.letters
    assert not rows(hub, "reset_requests")
    assert "given up" in told(caplog)[-1]["message"]


def test_recipient_that_is_refused_for_good_is_not_tried_again(
    hub: Running, post: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    post.refuse_recipient = "550"
    ask(hub)
    worker(hub).deliver_due()
    assert not rows(hub, "reset_requests")
    (line,) = told(caplog)
    assert line["reason"] == "the mail server refused the recipient with 550"


def test_address_that_cannot_be_mailed_is_given_up(
    hub: Running, post: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    hub.register('"ann,eve"@example.org')
    ask(hub, '"ann,eve"@example.org')
    worker(hub).deliver_due()
    assert not post.letters
    assert not rows(hub, "reset_requests")
    assert told(caplog)[0]["reason"] == "the address cannot be mailed"


def test_log_holds_no_address_and_no_token(
    hub: Running, post: MailServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hub.register("bob@example.org")
    for problem in ("refuse_recipient", "refuse_message"):
        for code in ("450", "550"):
            setattr(post, problem, f"{code} not {ANN}, never")
            ask(hub)
            ask(hub, "bob@example.org")
            worker(hub).deliver_due()
            setattr(post, problem, "")
    hub.clock.advance(hours=2)
    worker(hub).deliver_due()
    assert post.letters
    said = "\n".join(
        str(vars(each)) for each in caplog.records if each.name.startswith("redlane")
    )
    assert "refused the recipient" in said
    assert "example.org" not in said.lower()
    for letter in post.letters:
        assert letter.token not in said


def test_repetitions_use_one_place_of_the_allowance(
    hub: Running, post: MailServer
) -> None:
    post.refuse_message = "451 later"
    ask(hub)
    for _ in range(5):
        worker(hub).deliver_due()
        hub.clock.advance(minutes=8)
    post.refuse_message = ""
    for _ in range(4):
        ask(hub)
        worker(hub).deliver_due()
    assert len(post.letters) == 3, "the repeated one and two more"


def test_repetition_is_sent_though_the_allowance_is_used_up(
    hub: Running, post: MailServer
) -> None:
    for _ in range(2):
        ask(hub)
        worker(hub).deliver_due()
    post.refuse_message = "451 later"
    ask(hub)
    worker(hub).deliver_due()
    ask(hub)
    worker(hub).deliver_due()
    post.refuse_message = ""
    hub.clock.advance(seconds=5)
    worker(hub).deliver_due()
    assert len(post.letters) == 3
    assert confirm(hub, post.letters[-1].token).status_code == 200


def test_newer_request_takes_the_place_of_one_that_failed(
    hub: Running, post: MailServer
) -> None:
    post.refuse_message = "451 later"
    for _ in range(6):
        ask(hub)
        worker(hub).deliver_due()
        assert len(rows(hub, "reset_requests")) == 1
        hub.clock.advance(minutes=21)
    post.refuse_message = ""
    worker(hub).deliver_due()
    hub.clock.advance(days=1)
    worker(hub).deliver_due()
    assert len(post.letters) == 1


def test_mail_that_was_taken_but_not_answered_is_followed_by_another(
    hub: Running, post: MailServer
) -> None:
    post.dies = "after"
    ask(hub)
    worker(hub).deliver_due()
    post.dies = ""
    hub.clock.advance(seconds=5)
    worker(hub).deliver_due()
    first, second = post.letters
    assert confirm(hub, first.token).json == INVALID
    assert confirm(hub, second.token).status_code == 200


def test_repetition_goes_to_the_address_of_then(hub: Running, post: MailServer) -> None:
    session = hub.register("bob@example.org")
    post.refuse_message = "451 later"
    ask(hub, "bob@example.org")
    worker(hub).deliver_due()
    post.refuse_message = ""
    body = {"email": "robert@example.org"}
    hub.call("PATCH", "/api/v1/me/email", session, json=body)
    hub.clock.advance(seconds=5)
    worker(hub).deliver_due()
    assert not post.letters
    assert not rows(hub, "reset_requests")


def test_request_is_mailed_by_the_next_hub(hub: Running, post: MailServer) -> None:
    """The first one ends between the answer and the mail."""
    ask(hub)
    second = second_hub(hub)
    worker_of(second).deliver_due()
    second.stop()
    assert confirm(hub, post.letters[0].token).status_code == 200


def test_taken_request_is_out_of_sight_until_its_lease_is_over(
    hub: Running, post: MailServer
) -> None:
    """The first hub ends between taking the request and sending its mail."""
    ask(hub)
    taken = ResetQueue(hub.database, hub.clock).take()
    assert taken is not None
    second = second_hub(hub)
    hub.clock.advance(seconds=59)
    worker_of(second).deliver_due()
    assert not post.letters
    hub.clock.advance(seconds=1)
    worker_of(second).deliver_due()
    second.stop()
    (letter,) = post.letters
    assert confirm(hub, taken.token).json == INVALID
    assert confirm(hub, letter.token).status_code == 200


def test_many_workers_send_each_mail_once(hub: Running, post: MailServer) -> None:
    addresses = [f"user-{each}@example.org" for each in range(12)]
    for address in addresses:
        hub.register(address)
        ask(hub, address)
    hubs = [second_hub(hub) for _ in range(3)]
    for each in hubs:
        each.start()
    post.wait(len(addresses))
    for each in hubs:
        each.stop()
    assert sorted(letter.to for letter in post.letters) == sorted(addresses)
    assert not rows(hub, "reset_requests")


def test_request_wakes_the_worker(hub: Running, post: MailServer) -> None:
    worker(hub).start()
    for each in range(3):
        ask(hub)
        assert len(post.wait(each + 1)) == each + 1


class ScriptedMailer:
    """Does one thing after the other; anything is sent after that."""

    def __init__(self, *deeds: Callable[[], None]) -> None:
        self._deeds = list(deeds)
        self.sent = threading.Event()

    def send(self, to: str, subject: str, text: str) -> None:
        del to, subject, text
        if self._deeds:
            self._deeds.pop(0)()
            return
        self.sent.set()


def fail() -> None:
    raise RuntimeError("nobody foresaw this")


def test_failure_that_nobody_foresaw_does_not_end_the_worker(
    hub: Running, caplog: pytest.LogCaptureFixture
) -> None:
    mailer = ScriptedMailer(fail)
    lone = ResetMailWorker(hub.database, hub.clock, mailer, "https://hub.example.org")
    ask(hub)
    lone.start()
    poll(lambda: "go on" in caplog.text)
    hub.register("bob@example.org")
    ask(hub, "bob@example.org")
    lone.wake()
    assert mailer.sent.wait(DEADLINE)
    lone.stop()


def poll(condition: Callable[[], bool]) -> None:
    """Wait until it holds, or fail."""
    limit = threading.Event()
    for _ in range(int(DEADLINE * 100)):
        if condition():
            return
        limit.wait(0.01)
    raise AssertionError("it never came to that")


def test_database_that_fails_does_not_end_the_worker(
    hub: Running, caplog: pytest.LogCaptureFixture
) -> None:
    mailer = ScriptedMailer()
    lone = ResetMailWorker(hub.database, hub.clock, mailer, "https://hub.example.org")
    ask(hub)
    reading = hub.database.reading()
    reading.execute("ALTER TABLE reset_requests RENAME TO elsewhere")
    lone.start()
    poll(lambda: "go on" in caplog.text)
    reading.execute("ALTER TABLE elsewhere RENAME TO reset_requests")
    lone.wake()
    assert mailer.sent.wait(DEADLINE)
    lone.stop()


def test_stop_does_not_wait_for_a_mail_for_long(hub: Running) -> None:
    sending, over = threading.Event(), threading.Event()

    def stall() -> None:
        sending.set()
        over.wait(DEADLINE)
        raise MailError("too late")

    lone = ResetMailWorker(
        hub.database, hub.clock, ScriptedMailer(stall), "https://hub.example.org"
    )
    ask(hub)
    lone.start()
    assert sending.wait(DEADLINE)
    lone.stop(seconds=0.1)
    assert lone._thread is not None
    assert lone._thread.is_alive()
    over.set()
    lone._thread.join(DEADLINE)
    assert len(rows(hub, "reset_requests")) == 1


def test_worker_that_was_never_started_can_be_stopped(hub: Running) -> None:
    worker(hub).stop()
