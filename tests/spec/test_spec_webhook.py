"""`review.webhook` is told of what is held and of what became of it, signed."""

import hashlib
import hmac
from collections.abc import Iterator
from typing import Any

import pytest
from hook import Hook
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, wait_for

SECRET = "a secret of ours"
TOKEN = "ghp_" + "a" * 36


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


@pytest.fixture
def told(home: Home, hook: Hook) -> Home:
    """A daemon that holds what is odd, and tells of it."""
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    webhook = {"url": hook.url, "secret": SECRET}
    home.settings(review={"timeout_seconds": 60, "webhook": webhook})
    home.start("--role", "agent")
    return home


def hold(home: Home, command: str) -> tuple[Any, str]:
    shell = home.spawn("-c", command, program=REDLANE_SH)
    (review,) = wait_for(lambda: home.control.rows("/api/reviews"))
    return shell, str(review["id"])


def test_held_and_decided_are_told_and_signed(told: Home, hook: Hook) -> None:
    shell, review = hold(told, f"cd /; echo odd {TOKEN}")
    first = hook.next()
    assert told.run("review", "block", review, "--note", "not now").code == 0
    second = hook.next()
    shell.communicate(timeout=20)

    assert first.path == "/hook?team=a"
    assert [each.json["event"] for each in (first, second)] == ["held", "decided"]
    assert {each.json["review"]["id"] for each in (first, second)} == {review}
    assert first.json["review"]["matched"] == "echo odd [redacted]"
    assert second.json["review"]["decided_by"] == "person"
    assert second.json["review"]["note"] == "not now"
    for each in (first, second):
        assert review in each.json["text"]
        assert TOKEN.encode() not in each.body
        moment, made = (part[2:] for part in each.signature.split(",v"))
        signed = f"{moment}.".encode() + each.body
        expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
        assert made.removeprefix("=") == expected


@pytest.mark.parametrize("status", [302, 500])
def test_hook_that_does_not_take_it_is_asked_twice_and_holds_nothing_up(
    told: Home, hook: Hook, status: int
) -> None:
    hook.answers.append(status)
    shell, review = hold(told, "echo odd")
    assert [hook.next().path, hook.next().path] == ["/hook?team=a"] * 2
    hook.answers.append(200)
    assert told.run("review", "allow", review).code == 0
    assert shell.communicate(timeout=20)[0] == "odd\n"
    assert hook.next().json["event"] == "decided"
    assert hook.is_empty


WRONG: dict[str, object] = {
    "a string": "https://h/",
    "nothing in it": {},
    "no secret": {"url": "https://h/"},
    "an empty secret": {"url": "https://h/", "secret": ""},
    "no url": {"secret": "s"},
    "no address": {"url": "h", "secret": "s"},
    "a login": {"url": "https://u:p@h/", "secret": "s"},
    "no format": {"url": "https://h/", "secret": "s", "format": "irc"},
}


@pytest.mark.parametrize("case", WRONG)
def test_webhook_that_cannot_be_one_is_an_error(home: Home, case: str) -> None:
    home.settings(review={"webhook": WRONG[case]})
    assert home.check().code == 1


def test_reload_has_others_told(told: Home, hook: Hook) -> None:
    shell, review = hold(told, "echo odd")
    assert hook.next().json["event"] == "held"
    webhook = {"url": f"{hook.url}&format=1", "secret": SECRET, "format": "discord"}
    told.settings(review={"timeout_seconds": 60, "webhook": webhook})
    assert told.run("reload").code == 0
    told.run("review", "block", review)
    shell.communicate(timeout=20)
    message = hook.next()
    assert message.path.endswith("&format=1")
    assert message.json["allowed_mentions"] == {"parse": []}


def test_daemon_that_stops_tells_what_becomes_of_it(told: Home, hook: Hook) -> None:
    shell, review = hold(told, "echo odd")
    assert hook.next().json["event"] == "held"
    told.stop()
    over = hook.next().json["review"]
    assert (over["id"], over["state"]) == (review, "cancelled")
    shell.communicate(timeout=20)
