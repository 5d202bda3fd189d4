"""Asking for password resets and redeeming them, in the hub's tests."""

from pathlib import Path
from typing import Any

import falcon.testing
from hub_instance import Running, new_hub
from hub_mail_server import MailServer

from redlane_hub.services.reset_mail import ResetMailWorker

__all__ = [
    "ANN",
    "INVALID",
    "NEW",
    "REQUESTED",
    "ask",
    "can_log_in",
    "confirm",
    "resetting_hub",
    "rows",
    "token_for",
    "worker",
]

ANN = "Ann@example.org"
REQUESTED = {"status": "if that address is registered, a reset link has been sent"}
INVALID = {"error": "invalid or expired reset token"}
NEW = "another password"


def resetting_hub(directory: Path, post: MailServer) -> Running:
    """A hub that mails there when it is told to, with one account."""
    url = "https://hub.example.org/redlane/"
    made = new_hub(directory, smtp_url=post.url, public_url=url)
    made.register(ANN)
    return made


def worker(hub: Running) -> ResetMailWorker:
    found = hub.hub._worker
    assert found is not None
    return found


def ask(hub: Running, email: str = ANN) -> falcon.testing.Result:
    body = {"email": email}
    return hub.call("POST", "/api/v1/password-reset/request", json=body)


def confirm(hub: Running, token: str, password: str = NEW) -> falcon.testing.Result:
    body = {"token": token, "new_password": password}
    return hub.call("POST", "/api/v1/password-reset/confirm", json=body)


def token_for(hub: Running, post: MailServer, email: str = ANN) -> str:
    """Ask for a mail, have it delivered at once, and read its token."""
    before = len(post.letters)
    assert ask(hub, email).json == REQUESTED
    worker(hub).deliver_due()
    (letter,) = post.letters[before:]
    return letter.token


def can_log_in(hub: Running, password: str, email: str = ANN) -> bool:
    body = {"email": email, "password": password}
    return hub.call("POST", "/api/v1/login", json=body).status_code == 200


def rows(hub: Running, table: str) -> list[Any]:
    return hub.database.reading().execute(f"SELECT * FROM {table}").fetchall()
