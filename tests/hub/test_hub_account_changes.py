"""Changes of one's address and password, over HTTP, and of two at once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hub_account import CHANGE, EMAIL, ME, WRONG, answered, change, login, register
from hub_instance import PASSWORD, Running, new_hub

from redlane_hub.errors import ConflictError, NotAuthenticatedError
from redlane_hub.security.passwords import Passwords
from redlane_hub.services.accounts import Accounts


@pytest.fixture
def hub(tmp_path: Path) -> Running:
    return new_hub(tmp_path)


def test_a_changed_address_is_trimmed_and_lowercased(hub: Running) -> None:
    token = hub.register("a@b.c")
    changed = hub.call("PATCH", EMAIL, token, json={"email": " \tAnn@Example.ORG\n"})
    assert changed.status_code == 200
    assert changed.json["email"] == "ann@example.org"
    assert set(changed.json) == {"email", "token"}
    for each in (token, changed.json["token"]):
        assert hub.call("GET", ME, each).json["email"] == "ann@example.org"
    assert login(hub, "ann@example.org").status_code == 200
    assert answered(login(hub, "a@b.c")) == (401, WRONG)


@pytest.mark.parametrize("email", ["a@b.c", " A@B.C "])
def test_one_s_own_address_can_be_set_again(hub: Running, email: str) -> None:
    token = hub.register("a@b.c")
    changed = hub.call("PATCH", EMAIL, token, json={"email": email})
    assert (changed.status_code, changed.json["email"]) == (200, "a@b.c")
    assert hub.hub._tokens.viewer_id(changed.json["token"])


@pytest.mark.parametrize("email", ["ann@b.c", "ANN@B.C "])
def test_another_s_address_is_in_use(hub: Running, email: str) -> None:
    hub.register("Ann@B.c")
    token = hub.register("a@b.c")
    refused = hub.call("PATCH", EMAIL, token, json={"email": email})
    assert answered(refused) == (409, {"error": "email already in use"})


def test_an_address_that_was_given_up_is_free(hub: Running) -> None:
    token = hub.register("a@b.c")
    hub.call("PATCH", EMAIL, token, json={"email": "new@b.c"})
    assert register(hub, "a@b.c").status_code == 201


NO_NEW_ADDRESSES = {
    "empty": "",
    "only spaces": " \t ",
    "no @": "ann.example.org",
    "nothing before": " @b",
    "nothing after": "a@ ",
    "two @": "a@b@c",
    "space inside": "a b@c",
    "header injection": "a@b\r\nBcc: c@d",
    "NUL": "a\0@b",
    "255 characters": "a" * 253 + "@b",
    "longer in small letters": "a" * 251 + "\u0130@b",
}


@pytest.mark.parametrize("email", NO_NEW_ADDRESSES.values(), ids=NO_NEW_ADDRESSES)
def test_an_address_is_not_changed_to_what_is_none(hub: Running, email: str) -> None:
    token = hub.register("a@b.c")
    refused = hub.call("PATCH", EMAIL, token, json={"email": email})
    assert refused.status_code == 400
    assert "'email'" in refused.json["error"]
    assert hub.call("GET", ME, token).json["email"] == "a@b.c"


def test_a_changed_password_is_the_only_right_one(hub: Running) -> None:
    token = hub.register("a@b.c")
    changed = change(hub, token, PASSWORD, "another password")
    assert answered(changed) == (200, {"status": "password updated"})
    assert answered(login(hub, "a@b.c")) == (401, WRONG)
    assert login(hub, "a@b.c", "another password").status_code == 200
    assert hub.call("GET", ME, token).status_code == 200


BAD_CHANGES = {
    "wrong": ("wrong password", "another password", 401),
    "wrong, the new one short": ("wrong password", "x", 401),
    "wrong, the new one over-long": ("wrong password", "k" * 1025, 401),
    "wrong, the new one empty": ("wrong password", "", 401),
    "wrong, and both the same": ("wrong password", "wrong password", 401),
    "empty": ("", "another password", 401),
    "1024 bytes": ("k" * 1024, "another password", 401),
    "over-long": ("k" * 1025, "another password", 400),
    "over-long, both": ("k" * 1025, "k" * 1025, 400),
    "the new one short": (PASSWORD, "1234567", 400),
    "the new one empty": (PASSWORD, "", 400),
    "the new one over-long": (PASSWORD, "k" * 1025, 400),
    "the same": (PASSWORD, PASSWORD, 400),
}


@pytest.mark.parametrize(
    ("current", "new", "status"), BAD_CHANGES.values(), ids=BAD_CHANGES
)
def test_the_current_password_is_proven_before_the_new_one_is_looked_at(
    hub: Running, current: str, new: str, status: int
) -> None:
    token = hub.register("a@b.c")
    refused = change(hub, token, current, new)
    assert refused.status_code == status
    if status == 401:
        assert refused.json == WRONG
    assert login(hub, "a@b.c").status_code == 200


def test_a_password_cannot_be_changed_without_a_token(hub: Running) -> None:
    hub.register("a@b.c")
    body = {"current_password": PASSWORD, "new_password": "another password"}
    assert hub.call("PATCH", CHANGE, json=body).json["error"] != WRONG["error"]
    assert login(hub, "a@b.c").status_code == 200


class Overtaken(Passwords):
    """Something else happens while the first password is hashed."""

    def __init__(self, event: Callable[[], object]) -> None:
        super().__init__(threads=1)
        self._events = [event]

    def hash(self, password: str) -> str:
        while self._events:
            self._events.pop()()
        return super().hash(password)


def overtaken(hub: Running, event: Callable[[], object]) -> Accounts:
    return Accounts(hub.database, hub.clock, Overtaken(event), hub.hub._tokens)


def test_of_two_changes_at_once_one_counts(hub: Running) -> None:
    """The other proof was made of a password that is none any more."""
    token = hub.register("a@b.c")
    user_id = hub.call("GET", ME, token).json["id"]
    slow = overtaken(hub, lambda: change(hub, token, PASSWORD, "the first password"))
    with pytest.raises(NotAuthenticatedError, match="invalid credentials"):
        slow.change_password(user_id, PASSWORD, "the second password")
    assert login(hub, "a@b.c", "the first password").status_code == 200


def test_of_two_registrations_at_once_one_counts(hub: Running) -> None:
    slow = overtaken(hub, lambda: hub.register("A@b.c"))
    with pytest.raises(ConflictError, match=r"^email 'a@b\.c' is already"):
        slow.register("a@b.c", PASSWORD)
    assert login(hub, "a@b.c").json["email"] == "A@b.c"


def test_a_placeholder_account_can_only_set_a_real_address(hub: Running) -> None:
    token = hub.register("user-1@placeholder.invalid")
    assert login(hub, "user-1@placeholder.invalid").json["require_email_update"]
    assert hub.call("GET", ME, token).status_code == 200
    refused = change(hub, token, PASSWORD, "another password")
    assert answered(refused) == (403, {"error": "set a real email address first"})
    assert hub.call("PATCH", EMAIL, token, json={"email": "a@b.c"}).status_code == 200
    assert not login(hub, "a@b.c").json["require_email_update"]
    assert change(hub, token, PASSWORD, "another password").status_code == 200
