"""Password resets by real processes that are killed, stopped and started again."""

import http.client
import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hub_mail_server import DEADLINE, MailServer, mail_server, make_certificate
from hub_process import HubProcess

SOON = "2000-01-01T00:00:00.000000Z"


@pytest.fixture
def post() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hub(tmp_path: Path, post: MailServer) -> Iterator[HubProcess]:
    made = HubProcess(tmp_path, smtp_url=post.url)
    made.start()
    yield made
    made.stop()


def call(hub: HubProcess, path: str, **body: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection(hub.host, hub.port, timeout=20)) as line:
        sent = json.dumps(body)
        line.request("POST", path, sent, {"Content-Type": "application/json"})
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())


def register(hub: HubProcess, *emails: str) -> None:
    for email in emails:
        body = {"email": email, "password": "correct horse"}
        assert call(hub, "/api/v1/register", **body)[0] == 201


def ask(hub: HubProcess, email: str) -> None:
    assert call(hub, "/api/v1/password-reset/request", email=email)[0] == 202


def can_reset(hub: HubProcess, token: str) -> bool:
    body = {"token": token, "new_password": "another password"}
    return call(hub, "/api/v1/password-reset/confirm", **body)[0] == 200


def let_leases_end(hub: HubProcess) -> None:
    """As when a minute has passed."""
    with closing(sqlite3.connect(hub.database)) as database, database:
        database.execute("UPDATE reset_requests SET due_at = ?", (SOON,))


def test_mails_follow_after_the_hub_was_killed(
    hub: HubProcess, post: MailServer
) -> None:
    """One is being sent when the hub is killed, and one has not been looked at."""
    register(hub, "ann@example.org", "bob@example.org")
    post.hold, post.dies = threading.Event(), "before"
    ask(hub, "ann@example.org")
    assert post.reached.wait(DEADLINE)
    ask(hub, "bob@example.org")
    hub.stop(signal.SIGKILL)
    post.hold.set()
    post.dies = ""
    hub.start()
    (second,) = post.wait(1)
    assert second.to == "bob@example.org"
    hub.stop()
    let_leases_end(hub)
    hub.start()
    first = post.wait(2)[1]
    assert first.to == "ann@example.org"
    assert can_reset(hub, first.token)
    assert can_reset(hub, second.token)


def test_hub_that_was_killed_after_the_mail_sends_another(
    hub: HubProcess, post: MailServer
) -> None:
    register(hub, "ann@example.org")
    post.hold = threading.Event()
    ask(hub, "ann@example.org")
    assert post.reached.wait(DEADLINE)
    hub.stop(signal.SIGKILL)
    post.hold.set()
    (first,) = post.wait(1)
    let_leases_end(hub)
    hub.start()
    second = post.wait(2)[1]
    assert not can_reset(hub, first.token)
    assert can_reset(hub, second.token)


def test_hub_stops_while_the_mail_server_stalls(
    hub: HubProcess, post: MailServer
) -> None:
    register(hub, "ann@example.org")
    post.hold = threading.Event()
    ask(hub, "ann@example.org")
    assert post.reached.wait(DEADLINE)
    assert hub.stop() == 0
    assert "Traceback" not in hub.errors


def test_two_processes_share_the_queue(
    tmp_path: Path, hub: HubProcess, post: MailServer
) -> None:
    """What one takes while it cannot send, the other need not wait for."""
    other = HubProcess(tmp_path, smtp_url=post.url)
    register(hub, "ann@example.org", "bob@example.org")
    post.hold = threading.Event()
    ask(hub, "ann@example.org")
    assert post.reached.wait(DEADLINE)
    other.start()
    ask(hub, "bob@example.org")
    post.reached.clear()
    assert post.reached.wait(DEADLINE), "the other hub has begun with the second"
    post.hold.set()
    letters = post.wait(2)
    other.stop()
    assert sorted(each.to for each in letters) == ["ann@example.org", "bob@example.org"]
    assert all(can_reset(hub, each.token) for each in letters)


def test_certificate_authority_is_the_systems(tmp_path: Path) -> None:
    """What `SSL_CERT_FILE` names is trusted, as with every other program."""
    certificate = make_certificate(tmp_path)
    with mail_server(starttls=certificate.server_context()) as post:
        hub = HubProcess(tmp_path, smtp_url=post.url)
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("SSL_CERT_FILE", str(certificate.path))
            hub.start()
        register(hub, "ann@example.org")
        ask(hub, "ann@example.org")
        (letter,) = post.wait(1)
        hub.stop()
    assert letter.over_tls


@pytest.mark.parametrize(
    ("setting", "value", "problem"),
    [
        ("smtp_url", "smtp://someone:s3cret/x@127.0.0.1", "SMTP_URL"),
        ("smtp_url", "smtp://someone@127.0.0.1", "'smtp_url' cannot be used"),
        ("mail_from", "nobody", "'mail_from' must be one address"),
    ],
)
def test_mail_settings_are_checked_at_the_start(
    tmp_path: Path, setting: str, value: str, problem: str
) -> None:
    given = {"smtp_url": "smtp://127.0.0.1:1"} | {setting: value}
    done = HubProcess(tmp_path, **given).command("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 1
    assert done.stderr.startswith("redlane-hub: ")
    assert len(done.stderr.splitlines()) == 1
    assert problem in done.stderr
    assert "s3cret" not in done.stderr
