"""Registration, login, profiles, and changes of address and password, over HTTP."""

from pathlib import Path

import pytest
from hub_account import CHANGE, EMAIL, ME, WRONG, answered, login, register
from hub_instance import PASSWORD, Running, new_hub

from redlane_hub.errors import BusyError
from redlane_hub.security.passwords import MOST_WAITING
from redlane_hub.store import accounts


@pytest.fixture
def hub(tmp_path: Path) -> Running:
    return new_hub(tmp_path)


def test_who_registers_can_log_in_and_waits_for_approval(hub: Running) -> None:
    made = register(hub, "Ann@Example.org")
    assert made.status_code == 201
    assert set(made.json) == {"id", "email"}
    assert made.json["email"] == "Ann@Example.org"
    logged_in = login(hub, "Ann@Example.org")
    assert logged_in.status_code == 200
    token = logged_in.json["token"]
    assert logged_in.json == {
        "token": token,
        "email": "Ann@Example.org",
        "is_endorsed": False,
        "require_email_update": False,
    }
    assert hub.call("GET", ME, token).json == {
        "id": made.json["id"],
        "email": "Ann@Example.org",
        "is_endorsed": False,
        "is_approved": False,
        "created_at": "2030-01-02T03:04:05.678901Z",
    }


ADDRESSES = {
    "plain": "a@b",
    "case kept": "Ann@Example.ORG",
    "outside ASCII": "anné@exämple.org",
    "quotes and signs": "a'\"<>&%_+@b",
    "254 characters": "a" * 252 + "@b",
    "a placeholder": "user-1@placeholder.invalid",
}


@pytest.mark.parametrize("email", ADDRESSES.values(), ids=ADDRESSES)
def test_an_address_is_kept_as_given(hub: Running, email: str) -> None:
    assert register(hub, email).json["email"] == email
    assert login(hub, email).json["email"] == email


NO_ADDRESSES = {
    "empty": "",
    "no @": "ann.example.org",
    "nothing before": "@b",
    "nothing after": "a@",
    "@ alone": "@",
    "two @": "a@b@c",
    "space inside": "a b@c",
    "space before": " a@b",
    "newline after": "a@b\n",
    "header injection": "a@b\r\nBcc: c@d",
    "NUL": "a\0@b",
    "DEL": "a\x7f@b",
    "C1 control": "a\x85@b",
    "no-break space": "a\u00a0@b",
    "line separator": "a@\u2028b",
    "255 characters": "a" * 253 + "@b",
}


@pytest.mark.parametrize("email", NO_ADDRESSES.values(), ids=NO_ADDRESSES)
def test_what_is_no_address_is_not_registered(hub: Running, email: str) -> None:
    refused = register(hub, email)
    assert refused.status_code == 400
    assert "'email'" in refused.json["error"]
    assert login(hub, email).status_code == 401


PASSWORDS = {
    "8 bytes": ("12345678", 201),
    "8 bytes of 4 characters": ("öäüß", 201),
    "1024 bytes": ("k" * 1024, 201),
    "spaces": (" " * 8, 201),
    "NULs": ("\0" * 8, 201),
    "empty": ("", 400),
    "7 bytes": ("1234567", 400),
    "7 bytes of 4 characters": ("öäü1", 400),
    "1025 bytes": ("k" * 1025, 400),
    "1026 bytes of 513 characters": ("ö" * 513, 400),
    "a megabyte": ("k" * 1_000_000, 400),
}


@pytest.mark.parametrize(("password", "status"), PASSWORDS.values(), ids=PASSWORDS)
def test_the_length_of_a_password_is_in_bytes(
    hub: Running, password: str, status: int
) -> None:
    assert register(hub, "a@b.c", password).status_code == status
    assert login(hub, "a@b.c", password).status_code == {201: 200}.get(status, 401)


TAKEN = ["a@b.c", "A@B.C", "a@B.c"]


@pytest.mark.parametrize("email", TAKEN)
def test_an_address_is_registered_once_whatever_its_ascii_case(
    hub: Running, email: str
) -> None:
    register(hub, "a@b.c")
    assert answered(register(hub, email, "another password")) == (
        409,
        {"error": f"email '{email}' is already registered"},
    )
    assert login(hub, "a@b.c").status_code == 200


def test_letters_outside_ascii_differ_in_case(hub: Running) -> None:
    assert register(hub, "é@b.c").status_code == 201
    assert register(hub, "É@b.c").status_code == 201


def test_bad_lengths_come_before_a_taken_address(hub: Running) -> None:
    register(hub, "a@b.c")
    assert register(hub, "a@b.c", "short").status_code == 400


def test_login_finds_an_address_whatever_its_ascii_case(hub: Running) -> None:
    register(hub, "Ann@B.c")
    assert login(hub, "aNN@b.C").json["email"] == "Ann@B.c"


BAD_LOGINS = {
    "wrong password": ("a@b.c", "wrong password"),
    "unknown address": ("x@b.c", PASSWORD),
    "unknown and wrong": ("x@b.c", "wrong password"),
    "empty password": ("a@b.c", ""),
    "over-long password": ("a@b.c", "k" * 1025),
    "over-long, unknown": ("x@b.c", "k" * 1025),
    "password with a NUL after it": ("a@b.c", PASSWORD + "\0"),
    "password in capitals": ("a@b.c", PASSWORD.upper()),
    "empty address": ("", PASSWORD),
    "no address": ("a", PASSWORD),
    "address with space": ("a@b.c ", PASSWORD),
    "address with NUL": ("a@b.c\0", PASSWORD),
    "huge address": ("a" * 100_000 + "@b.c", PASSWORD),
    "SQL": ("' OR 1=1 --", PASSWORD),
    "LIKE": ("%", PASSWORD),
}


@pytest.mark.parametrize(("email", "password"), BAD_LOGINS.values(), ids=BAD_LOGINS)
def test_every_failed_login_looks_the_same(
    hub: Running, email: str, password: str
) -> None:
    hub.register("a@b.c")
    refused = login(hub, email, password)
    assert answered(refused) == (401, WRONG)
    assert refused.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("password", [PASSWORD, "wrong password"])
def test_a_crowd_at_the_login_tells_nothing_of_an_address(
    hub: Running, password: str
) -> None:
    hub.register("a@b.c")
    room = hub.hub._passwords._room
    while room.acquire(blocking=False):
        pass
    told = []
    for each in ("a@b.c", "x@b.c"):
        with pytest.raises(BusyError) as refused:
            login(hub, each, password)
        told.append(str(refused.value))
    assert told[0] == told[1]
    for _ in range(MOST_WAITING):
        room.release()
    assert login(hub, "a@b.c").status_code == 200


def test_a_login_says_who_is_recognised(hub: Running) -> None:
    token = hub.register("a@b.c", recognise=True)
    assert login(hub, "a@b.c").json["is_endorsed"] is True
    assert hub.call("GET", ME, token).json["is_endorsed"] is True


def test_a_profile_is_open_to_anybody(hub: Running) -> None:
    token = hub.register("a@b.c", approve=False)
    mine = hub.call("GET", ME, token).json
    for shown in (mine["id"], mine["id"].upper()):
        assert hub.call("GET", f"/api/v1/users/{shown}").json == mine
    ignored = hub.call("GET", f"/api/v1/users/{mine['id']}", "nonsense")
    assert ignored.json == mine


def test_a_profile_of_nobody_is_not_found(hub: Running) -> None:
    path = "/api/v1/users/00000000-0000-4000-8000-000000000000"
    assert answered(hub.call("GET", path)) == (404, {"error": "user not found"})


@pytest.mark.parametrize(
    "user_id",
    ["me", "1", "0" * 32, "{00000000-0000-4000-8000-000000000000}", "%00", "a%0Ab"],
)
def test_a_malformed_user_id_is_refused_in_plain_text(
    hub: Running, user_id: str
) -> None:
    refused = hub.call("GET", f"/api/v1/users/{user_id}")
    assert refused.status_code == 400
    assert refused.headers["Content-Type"].startswith("text/plain")
    assert refused.text == "user_id in the path must be a UUID"


def test_a_token_of_a_vanished_account_is_refused(hub: Running) -> None:
    token = hub.register("a@b.c")
    with hub.database.transaction() as connection:
        connection.execute("DELETE FROM accounts")
    for method, path in [("GET", ME), ("PATCH", EMAIL), ("PATCH", CHANGE)]:
        refused = hub.call(method, path, token, json={"email": "x@y"})
        assert answered(refused) == (401, {"error": "missing or invalid token"})


def test_the_database_holds_no_password(hub: Running) -> None:
    register(hub, "a@b.c", "a very secret one")
    hub.close()
    for path in Path(hub.settings.database).parent.iterdir():
        assert b"a very secret one" not in path.read_bytes()


def test_every_account_is_listed_in_the_order_of_registration(hub: Running) -> None:
    for email in ("c@x", "a@x", "b@x"):
        hub.register(email)
        hub.clock.advance(seconds=1)
    listed = accounts.every(hub.database.reading())
    assert [each.email for each in listed] == ["c@x", "a@x", "b@x"]


def test_the_hash_of_nobody_is_an_error(hub: Running) -> None:
    with pytest.raises(LookupError):
        accounts.password_hash(hub.database.reading(), "nobody")
