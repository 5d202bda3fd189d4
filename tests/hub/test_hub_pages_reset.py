"""The page that a reset mail links to, without a browser."""

import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import falcon.testing
import pytest
from hub_instance import PASSWORD, Running, new_hub
from hub_pages import Page, live_token, read

EMAIL = "ada@example.org"
NEW = "a new pass phrase"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    made.register(EMAIL)
    yield made
    made.close()


def send(
    hub: Running, body: str | dict[str, str], headers: dict[str, str] = FORM
) -> falcon.testing.Result:
    text = body if isinstance(body, str) else urlencode(body)
    return hub.call("POST", "/reset-password", body=text, headers=headers)


def can_log_in(hub: Running, password: str) -> bool:
    body = {"email": EMAIL, "password": password}
    return hub.call("POST", "/api/v1/login", json=body).status_code == 200


def test_form_carries_the_token_in_a_field_and_in_no_link(hub: Running) -> None:
    page = read(hub, "/reset-password?token=tok%26%22%3E")
    fields = {each["name"]: each for each in page.all("input")}
    assert fields["token"]["type"] == "hidden"
    assert fields["token"]["value"] == 'tok&">'
    assert fields["new_password"]["type"] == "password"
    assert fields["new_password"]["autocomplete"] == "new-password"
    (form,) = page.all("form")
    assert (form["method"], form["action"]) == ("post", "/reset-password")
    assert not [link for link in page.links() if "tok" in link]
    assert "tok&" not in page.text


def test_password_is_set_with_the_form(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    found = send(hub, {"token": token, "new_password": NEW})
    assert found.status_code == 200
    assert "Your password was changed" in Page(found.text).text
    assert token not in found.text
    assert NEW not in found.text
    assert can_log_in(hub, NEW)
    assert not can_log_in(hub, PASSWORD)


def test_token_works_once(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    send(hub, {"token": token, "new_password": NEW})
    found = send(hub, {"token": token, "new_password": "another pass phrase"})
    assert found.status_code == 400
    assert "invalid or expired reset token" in Page(found.text).text
    assert can_log_in(hub, NEW)


def test_problem_is_shown_next_to_the_field_and_the_token_lives(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    found = send(hub, {"token": token, "new_password": "short"})
    assert found.status_code == 400
    page = Page(found.text)
    fields = {each["name"]: each for each in page.all("input")}
    assert fields["new_password"]["aria-invalid"] == "true"
    assert fields["new_password"]["aria-describedby"] == "hint problem"
    assert "value" not in fields["new_password"]
    assert fields["token"]["value"] == token
    assert "A password must have at least 8 bytes" in page.text
    assert "short" not in found.text
    assert send(hub, {"token": token, "new_password": NEW}).status_code == 200


@pytest.mark.parametrize(
    ("password", "sent"),
    [
        ("with spaces & = + % signs", None),
        ("пароль 🎉 ünïcode", None),
        (" leading and trailing ", None),
        ("plus is a space", "plus+is+a+space"),
    ],
)
def test_password_arrives_as_it_was_typed(
    hub: Running, password: str, sent: str | None
) -> None:
    token = live_token(hub, EMAIL)
    body = urlencode({"token": token, "new_password": password})
    if sent:
        body = f"token={token}&new_password={sent}"
    assert send(hub, body).status_code == 200
    assert can_log_in(hub, password)


def test_longest_token_and_password_fit(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    assert send(hub, {"token": token, "new_password": "é" * 512}).status_code == 200
    assert can_log_in(hub, "é" * 512)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("", FORM),
        ("token=TOKEN", FORM),
        ("new_password=long%20enough%20it%20is", FORM),
        ("token=TOKEN&new_password=one%20password&new_password=two%20passwords", FORM),
        ("token=TOKEN&token=TOKEN&new_password=long%20enough", FORM),
        ("token=TOKEN&new_password=%ff%fe%ff%fe%ff%fe%ff%fe", FORM),
        ("token=TOKEN&new_password=" + "x" * 9000, FORM),
        ("token=TOKEN&new_password=long%20enough" + "&x=1" * 20, FORM),
        ("token=TOKEN&new_password=long%20enough", {"Content-Type": "text/plain"}),
        ('{"token": "TOKEN", "new_password": "long enough"}', {}),
        ("token=TOKEN&new_password=lóng enough", FORM),
    ],
)
def test_anything_else_sets_nothing(
    hub: Running, body: str, headers: dict[str, str]
) -> None:
    token = live_token(hub, EMAIL)
    found = send(hub, body.replace("TOKEN", token), headers)
    assert found.status_code == 400
    Page(found.text)
    assert can_log_in(hub, PASSWORD)
    assert send(hub, {"token": token, "new_password": NEW}).status_code == 200


def test_link_without_a_token_says_so(hub: Running) -> None:
    for path in ("/reset-password", "/reset-password?token="):
        assert "not complete" in read(hub, path, 400).text


def test_token_is_written_to_no_log(
    hub: Running, caplog: pytest.LogCaptureFixture
) -> None:
    token = live_token(hub, EMAIL)
    with caplog.at_level(logging.DEBUG):
        hub.call("GET", f"/reset-password?token={token}")
        send(hub, {"token": token, "new_password": "short"})
        send(hub, {"token": token, "new_password": NEW})
    assert token not in caplog.text
    assert NEW not in caplog.text


def test_opening_the_link_changes_nothing(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    for _ in range(3):
        read(hub, f"/reset-password?token={token}")
    assert can_log_in(hub, PASSWORD)
    assert send(hub, {"token": token, "new_password": NEW}).status_code == 200


def test_page_is_the_same_whether_the_token_lives(hub: Running) -> None:
    token = live_token(hub, EMAIL)
    live = hub.call("GET", f"/reset-password?token={token}")
    dead = hub.call("GET", "/reset-password?token=dead")
    assert live.text.replace(token, "dead") == dead.text
