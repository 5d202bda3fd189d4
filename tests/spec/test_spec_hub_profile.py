"""Changing an address and a password (hub API: Accounts)."""

from typing import Any

import pytest
from spec.hub_client import PASSWORD, Account, Answer, HubClient, unique
from spec.hub_tokens import text_of

ME = "/api/v1/me"


@pytest.fixture
def account(anyone: HubClient) -> Account:
    return anyone.register()


def change_email(account: Account, email: object) -> Answer:
    return account.http.patch(f"{ME}/email", {"email": email})


def test_new_address_comes_with_a_fresh_token(account: Account) -> None:
    email = f"{unique('changed')}@example.com"

    answer = change_email(account, email)

    assert answer.status == 200
    assert answer.json.keys() == {"email", "token"}
    assert answer.json["email"] == email
    assert text_of(answer.json["token"], 1)["email"] == email
    fresh = account.http.signed_in(answer.json["token"])
    assert fresh.get(ME).json["email"] == email


def test_new_address_is_trimmed_and_lowercased(account: Account) -> None:
    email = f"{unique('Changed')}@Example.COM"

    answer = change_email(account, f" \t{email} \n")

    assert (answer.status, answer.json["email"]) == (200, email.lower())
    assert account.http.get(ME).json["email"] == email.lower()


def test_old_token_stays_valid_with_the_old_address(account: Account) -> None:
    email = f"{unique('changed')}@example.com"
    change_email(account, email)

    assert account.http.get(ME).json["email"] == email
    assert text_of(account.token, 1)["email"] == account.email


def test_one_logs_in_with_the_new_address_only(account: Account) -> None:
    email = f"{unique('changed')}@example.com"
    change_email(account, email)

    old = account.http.post(
        "/api/v1/login", {"email": account.email, "password": account.password}
    )
    new = account.http.login(email, account.password, account.id)

    assert old.status == 401
    assert new.http.get(ME).json["id"] == account.id


def test_left_address_is_free_again(account: Account, anyone: HubClient) -> None:
    change_email(account, f"{unique('changed')}@example.com")

    assert anyone.register(account.email).id != account.id


OTHERS = {"same": str, "capitals": str.upper, "blanks": lambda email: f"  {email} "}


@pytest.mark.parametrize("spell", OTHERS.values(), ids=OTHERS.keys())
def test_address_of_another_is_409(
    account: Account, newcomer: Account, spell: Any
) -> None:
    answer = change_email(account, spell(newcomer.email))

    assert (answer.status, answer.error) == (409, "email already in use")
    assert account.http.get(ME).json["email"] == account.email


@pytest.mark.parametrize("spell", OTHERS.values(), ids=OTHERS.keys())
def test_own_address_may_be_set_again(account: Account, spell: Any) -> None:
    answer = change_email(account, spell(account.email))

    assert (answer.status, answer.json["email"]) == (200, account.email.lower())
    assert account.http.signed_in(answer.json["token"]).get(ME).status == 200


BAD = {
    "empty": "",
    "blank": " \t ",
    "no-at": "nobody.example.com",
    "null": None,
    "number": 5,
    "list": ["a@example.com"],
}


@pytest.mark.parametrize("email", BAD.values(), ids=BAD.keys())
def test_address_needs_an_at(newcomer: Account, email: object) -> None:
    answer = change_email(newcomer, email)

    assert answer.status == 400
    assert answer.error


def test_address_is_required(newcomer: Account) -> None:
    assert newcomer.http.patch(f"{ME}/email", {}).status == 400


INJECTED = {
    "newline": "user@example.com\nBcc: all@example.com",
    "nul": "user\0@example.com",
    "too-long": "x" * 243 + "@example.com",
}


@pytest.mark.parametrize("email", INJECTED.values(), ids=INJECTED.keys())
def test_address_that_cannot_be_registered_cannot_be_set(
    newcomer: Account, email: str
) -> None:
    assert change_email(newcomer, email).status == 400


def change_password(
    account: Account, current: object = PASSWORD, new: object = "another password"
) -> Answer:
    body = {"current_password": current, "new_password": new}
    return account.http.patch(f"{ME}/password", body)


def logs_in(account: Account, password: str) -> bool:
    body = {"email": account.email, "password": password}
    return account.http.post("/api/v1/login", body).status == 200


def test_password_is_changed(account: Account) -> None:
    answer = change_password(account)

    assert (answer.status, answer.json) == (200, {"status": "password updated"})
    assert logs_in(account, "another password")
    assert not logs_in(account, PASSWORD)


def test_changed_password_leaves_tokens_valid(account: Account) -> None:
    change_password(account)

    assert account.http.get(ME).status == 200


NEW: dict[str, tuple[object, int]] = {
    "empty": ("", 400),
    "7-bytes": ("1234567", 400),
    "8-bytes": ("12345678", 200),
    "4-characters-of-8-bytes": ("éééé", 200),
    "1024-bytes": ("x" * 1024, 200),
    "1025-bytes": ("x" * 1025, 400),
    "513-characters-of-1025-bytes": ("é" * 512 + "x", 400),
    "the-current-one": (PASSWORD, 400),
    "null": (None, 400),
    "number": (12345678, 400),
}


@pytest.mark.parametrize("row", NEW.values(), ids=NEW.keys())
def test_new_password_has_rules(account: Account, row: tuple[object, int]) -> None:
    new, status = row

    answer = change_password(account, new=new)

    assert answer.status == status
    assert status == 200 or answer.error
    assert logs_in(account, str(new) if status == 200 else PASSWORD)


WRONG = {
    "good-new": "another password",
    "short-new": "short",
    "empty-new": "",
    "new-is-the-real-one": PASSWORD,
    "new-is-the-wrong-one": "wrong horse battery",
}


@pytest.mark.parametrize("new", WRONG.values(), ids=WRONG.keys())
def test_wrong_current_password_is_401_whatever_the_new_one(
    newcomer: Account, new: str
) -> None:
    answer = change_password(newcomer, "wrong horse battery", new)

    assert (answer.status, answer.error) == (401, "invalid credentials")
    assert logs_in(newcomer, PASSWORD)


def test_wrong_current_password_is_401_before_a_long_new_one(
    newcomer: Account,
) -> None:
    answer = change_password(newcomer, "wrong horse battery", "x" * 1025)

    assert answer.status == 401


CURRENT: dict[str, tuple[object, int]] = {
    "empty": ("", 401),
    "1024-bytes": ("x" * 1024, 401),
    "1025-bytes": ("x" * 1025, 400),
    "513-characters-of-1025-bytes": ("é" * 512 + "x", 400),
    "the-real-one-made-over-long": (PASSWORD + "x" * 1024, 400),
    "null": (None, 400),
    "number": (12345678, 400),
}


@pytest.mark.parametrize("row", CURRENT.values(), ids=CURRENT.keys())
def test_current_password_has_at_most_1024_bytes(
    newcomer: Account, row: tuple[object, int]
) -> None:
    current, status = row

    answer = change_password(newcomer, current)

    assert answer.status == status
    assert answer.error


def test_over_long_current_password_is_400_even_with_a_bad_new_one(
    newcomer: Account,
) -> None:
    assert change_password(newcomer, "x" * 1025, "short").status == 400


@pytest.mark.parametrize("left_out", ["current_password", "new_password"])
def test_both_passwords_are_required(newcomer: Account, left_out: str) -> None:
    body = {"current_password": PASSWORD, "new_password": "another password"}
    del body[left_out]

    answer = newcomer.http.patch(f"{ME}/password", body)

    assert answer.status == 400
    assert left_out in answer.error


def test_password_can_be_changed_and_changed_back(account: Account) -> None:
    assert change_password(account).status == 200
    assert change_password(account, "another password", PASSWORD).status == 200
    assert logs_in(account, PASSWORD)
