"""Registration, profiles and what the operator grants (hub API: Accounts)."""

from typing import Any

import pytest
from hub_process import HubProcess
from spec.hub_client import TIMESTAMP, UUID, Account, Answer, HubClient, unique

PROFILE = {"id", "email", "is_endorsed", "is_approved", "created_at"}


def register(client: HubClient, email: object, password: object = "12345678") -> Answer:
    return client.post("/api/v1/register", {"email": email, "password": password})


def test_registration_gives_id_and_email_and_no_token(anyone: HubClient) -> None:
    email = f"{unique('new')}@example.com"

    answer = register(anyone, email)

    assert answer.status == 201
    assert answer.json.keys() == {"id", "email"}
    assert answer.json["email"] == email
    assert UUID.fullmatch(answer.json["id"])


def test_address_is_stored_as_given(anyone: HubClient) -> None:
    email = f"{unique('MiXed')}@Example.COM"

    account = anyone.register(email)

    assert account.http.get("/api/v1/me").json["email"] == email


def local(length: int) -> str:
    """An address of a length in characters."""
    return unique("é").ljust(length - len("@example.com"), "x") + "@example.com"


GOOD_ADDRESSES = {
    "one-letter-sides": lambda: f"{unique('a')}@b",
    "no-dot": lambda: f"{unique('a')}@localhost",
    "plus": lambda: f"{unique('a')}+tag@example.com",
    "quote": lambda: f"{unique('o')}'neil@example.com",
    "unicode": lambda: f"{unique('jörg')}@bücher.example",
    "254-characters": lambda: local(254),
}


@pytest.mark.parametrize("kind", GOOD_ADDRESSES)
def test_address_is_accepted(anyone: HubClient, kind: str) -> None:
    email = GOOD_ADDRESSES[kind]()

    answer = register(anyone, email)

    assert (answer.status, answer.json["email"]) == (201, email)


BAD_ADDRESSES: dict[str, Any] = {
    "empty": "",
    "blank": " ",
    "no-at": "user.example.com",
    "two-ats": "a@b@example.com",
    "nothing-before-at": "@example.com",
    "nothing-after-at": "user@",
    "only-at": "@",
    "space-inside": "us er@example.com",
    "tab-inside": "us\ter@example.com",
    "newline": "user@example.com\nBcc: all@example.com",
    "carriage-return": "user\r@example.com",
    "nul": "user\0@example.com",
    "delete": "user\x7f@example.com",
    "c1-control": "user\x85@example.com",
    "no-break-space": "us\xa0er@example.com",
    "line-separator": "user\u2028@example.com",
    "255-characters": "x" * 243 + "@example.com",
    "null": None,
    "number": 5,
    "list": ["user@example.com"],
    "object": {"email": "user@example.com"},
}


@pytest.mark.parametrize("email", BAD_ADDRESSES.values(), ids=BAD_ADDRESSES.keys())
def test_address_is_refused(anyone: HubClient, email: object) -> None:
    answer = register(anyone, email)

    assert answer.status == 400
    assert answer.error


@pytest.mark.parametrize("left_out", ["email", "password"])
def test_registration_needs_both_fields(anyone: HubClient, left_out: str) -> None:
    body = {"email": f"{unique('a')}@example.com", "password": "12345678"}
    del body[left_out]

    answer = anyone.post("/api/v1/register", body)

    assert answer.status == 400
    assert left_out in answer.error


PASSWORDS: dict[str, tuple[Any, int]] = {
    "empty": ("", 400),
    "7-bytes": ("1234567", 400),
    "8-bytes": ("12345678", 201),
    "4-characters-of-8-bytes": ("éééé", 201),
    "7-bytes-of-characters": ("ééé1", 400),
    "1024-bytes": ("x" * 1024, 201),
    "1025-bytes": ("x" * 1025, 400),
    "512-characters-of-1024-bytes": ("é" * 512, 201),
    "513-characters-of-1025-bytes": ("é" * 512 + "x", 400),
    "256-characters-of-1024-bytes": ("😀" * 256, 201),
    "spaces": (" " * 8, 201),
    "controls": ("\0\n\t\r\x01\x02\x03\x04", 201),
    "null": (None, 400),
    "number": (12345678, 400),
    "boolean": (True, 400),
}


@pytest.mark.parametrize("row", PASSWORDS.values(), ids=PASSWORDS.keys())
def test_password_is_8_to_1024_bytes(anyone: HubClient, row: tuple[Any, int]) -> None:
    password, status = row

    answer = register(anyone, f"{unique('pass')}@example.com", password)

    assert answer.status == status
    assert status == 201 or answer.error


ODD_PASSWORDS = {
    "1024-bytes": "x" * 1023 + "y",
    "nul": "12345678\0after",
    "not-normalised": "e\u0301" * 4,
    "spaces-at-the-ends": "  12345678  ",
}


@pytest.mark.parametrize("kind", ODD_PASSWORDS)
def test_password_counts_to_its_last_byte(anyone: HubClient, kind: str) -> None:
    password = ODD_PASSWORDS[kind]
    account = anyone.register(password=password)
    wrong = {"email": account.email, "password": password[:-1]}

    assert anyone.post("/api/v1/login", wrong).status == 401


def test_address_is_registered_once(anyone: HubClient, newcomer: Account) -> None:
    answer = register(anyone, newcomer.email)

    assert answer.status == 409
    assert answer.error == f"email '{newcomer.email}' is already registered"


def test_addresses_are_the_same_whatever_their_ascii_case(anyone: HubClient) -> None:
    email = f"{unique('Case')}@Example.com"
    anyone.register(email)

    assert register(anyone, email.swapcase()).status == 409


def test_bad_password_of_a_known_address_is_400(
    anyone: HubClient, newcomer: Account
) -> None:
    assert register(anyone, newcomer.email, "short").status == 400


def test_a_refused_registration_registers_nothing(anyone: HubClient) -> None:
    email = f"{unique('late')}@example.com"
    register(anyone, email, "short")

    assert register(anyone, email).status == 201


def test_registration_ignores_fields_it_does_not_know(anyone: HubClient) -> None:
    wish = {"is_approved": True, "is_endorsed": True, "id": "mine"}
    body = {"email": f"{unique('sly')}@example.com", "password": "12345678"}

    made = anyone.post("/api/v1/register", body | wish)

    assert made.status == 201
    profile = anyone.get(f"/api/v1/users/{made.json['id']}").json
    assert (profile["is_approved"], profile["is_endorsed"]) == (False, False)


def test_registration_ignores_a_token(anyone: HubClient) -> None:
    answer = register(anyone.signed_in("nonsense"), f"{unique('a')}@example.com")

    assert answer.status == 201


def test_profile_has_its_fields(newcomer: Account) -> None:
    answer = newcomer.http.get("/api/v1/me")

    profile = answer.json
    assert answer.status == 200
    assert profile.keys() == PROFILE
    assert (profile["id"], profile["email"]) == (newcomer.id, newcomer.email)
    assert (profile["is_endorsed"], profile["is_approved"]) == (False, False)
    assert TIMESTAMP.fullmatch(profile["created_at"])


def test_profile_of_oneself_needs_a_token(anyone: HubClient) -> None:
    answer = anyone.get("/api/v1/me")

    assert answer.status == 401
    assert answer.error


CALLERS = {"anonymous": None, "wrong-token": "nonsense"}


@pytest.mark.parametrize("token", CALLERS.values(), ids=CALLERS.keys())
def test_anyone_reads_a_profile(
    anyone: HubClient, newcomer: Account, token: str | None
) -> None:
    answer = anyone.signed_in(token).get(f"/api/v1/users/{newcomer.id}")

    assert answer.status == 200
    assert answer.json == newcomer.http.get("/api/v1/me").json


def test_another_account_reads_the_same_profile(
    author: Account, newcomer: Account
) -> None:
    answer = author.http.get(f"/api/v1/users/{newcomer.id}")

    assert answer.json == newcomer.http.get("/api/v1/me").json


def test_user_id_may_be_in_capitals(anyone: HubClient, newcomer: Account) -> None:
    answer = anyone.get(f"/api/v1/users/{newcomer.id.upper()}")

    assert (answer.status, answer.json["id"]) == (200, newcomer.id)


def test_unknown_user_is_404(anyone: HubClient) -> None:
    answer = anyone.get("/api/v1/users/00000000-0000-4000-8000-000000000000")

    assert (answer.status, answer.error) == (404, "user not found")


MALFORMED = {
    "word": "nobody",
    "number": "17",
    "short": "00000000-0000-4000-8000-00000000000",
    "long": "00000000-0000-4000-8000-0000000000000",
    "not-hex": "g0000000-0000-4000-8000-000000000000",
    "no-hyphens": "00000000000040008000000000000000",
    "hyphens-elsewhere": "0000000-00000-4000-8000-000000000000",
    "braces": "%7B00000000-0000-4000-8000-000000000000%7D",
    "urn": "urn:uuid:00000000-0000-4000-8000-000000000000",
    "space": "%2000000000-0000-4000-8000-000000000000",
    "newline": "00000000-0000-4000-8000-000000000000%0A",
    "fullwidth-digits": "%EF%BC%900000000-0000-4000-8000-000000000000",
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_user_id_is_400_in_plain_text(anyone: HubClient, text: str) -> None:
    answer = anyone.get(f"/api/v1/users/{text}")

    assert answer.status == 400
    assert answer.plain


GRANTS = {"approve": "is_approved", "recognise": "is_endorsed"}


@pytest.mark.parametrize("command", GRANTS)
def test_operator_grants_and_takes_back(
    hub: HubProcess, anyone: HubClient, command: str
) -> None:
    account = anyone.register()
    granted = []

    for more in ([], [], ["--revoke"], ["--revoke"]):
        assert hub.command(command, account.email, *more).returncode == 0
        granted.append(account.http.get("/api/v1/me").json[GRANTS[command]])

    assert granted == [True, True, False, False]


@pytest.mark.parametrize("command", GRANTS)
def test_operator_cannot_grant_to_nobody(hub: HubProcess, command: str) -> None:
    done = hub.command(command, "nobody@example.com")

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("redlane-hub: ")
    assert "nobody@example.com" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_operator_lists_the_accounts(hub: HubProcess, newcomer: Account) -> None:
    done = hub.command("accounts")

    assert done.returncode == 0
    assert newcomer.email in done.stdout


def test_unapproved_account_reads_and_searches(
    author: Account, newcomer: Account
) -> None:
    name = author.publish()["name"]

    found = newcomer.http.get("/api/v1/artifacts/search", q=name).json["results"]

    assert [row["name"] for row in found] == [name]
    assert newcomer.http.get(f"/api/v1/artifacts/{name}/1").status == 200


def test_addresses_differ_in_case_beyond_ascii(anyone: HubClient) -> None:
    stem = unique("case")

    answers = [register(anyone, f"{letter}{stem}@example.com") for letter in "éÉ"]

    assert [answer.status for answer in answers] == [201, 201]
