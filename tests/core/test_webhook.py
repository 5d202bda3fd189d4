"""What a webhook is told, in which form and order, and what is left out."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hook import Hook
from spec.redlane_home import wait_for

from redlane.model.settings import WEBHOOK_FORMATS, Webhook
from redlane.model.settings import Review as ReviewSettings
from redlane.state.review import Review
from redlane.state.reviews import Reviews
from redlane.webhook import Webhooks
from redlane.webhook.message import FORMATS, body_of

LINK = "https://h/answer/secret"
LINE = "redlane holds until {}: `push` (`flagged`); redlane review show {}"


def held(content: bytes = b"push", **more: Any) -> Review:
    return Reviews().park(content, "s", "f", "flagged", 60, **more)


def told(name: str, review: Review, link: str | None = None) -> Any:
    return json.loads(body_of(review, name, link))


def line_of(review: Review) -> str:
    return str(told("slack", review)["text"])


def test_every_format_of_the_settings_is_one() -> None:
    assert set(FORMATS) == set(WEBHOOK_FORMATS)


@pytest.mark.parametrize("name", ["mattermost", "google-chat"])
def test_chats_are_told_a_text_and_nothing_else(name: str) -> None:
    review = held()
    line = LINE.format(review.ends, review.id)
    assert told(name, review) == {"text": line}
    assert told(name, review, LINK) == {"text": f"{line}, or {LINK}"}


def test_slack_fetches_nothing_for_previews() -> None:
    assert told("slack", held(), LINK)["unfurl_links"] is False


def test_discord_mentions_nobody() -> None:
    review = held(b"echo @everyone")
    made = told("discord", review)
    assert set(made) == {"content", "flags", "allowed_mentions"}
    assert made["allowed_mentions"] == {"parse": []}


def test_teams_is_told_a_card() -> None:
    (attachment,) = told("teams", held(), LINK)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    (block,) = attachment["content"]["body"]
    assert block["text"].startswith("redlane holds until ")
    (action,) = attachment["content"]["actions"]
    assert (action["type"], action["url"]) == ("Action.OpenUrl", LINK)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"echo <!channel>", "`echo ⟨U+003C⟩!channel>`"),
        (b"echo `x`", "`echo ⟨U+0060⟩x⟨U+0060⟩`"),
        ("a\u2800\u202eb\n\x1b[2J".encode(), "`a⟨U+2800⟩⟨U+202E⟩b⟨U+000A⟩⟨U+001B⟩[2J`"),
    ],
)
def test_text_of_the_agents_is_nothing_else_in_a_chat(
    content: bytes, shown: str
) -> None:
    assert shown in line_of(held(content))


def test_line_shows_the_flagged_part_and_what_it_stands_in() -> None:
    review = held(b"true odd; rm -rf src", matched=b"true odd", inside=(b"a", b"b"))
    shown = "`true odd` (in: `true odd; rm -rf src`), and 2 texts besides"
    assert shown in line_of(review)


@pytest.mark.parametrize(
    ("more", "is_cut"),
    [
        ({}, False),
        ({"inside": (b"x",)}, True),
        ({"details": ("$1: " + "a" * 600,)}, True),
        ({"details": ("x",) * 21}, True),
        ({"modified": b"a" * 3000}, True),
    ],
)
def test_what_is_told_in_part_says_so(more: dict[str, Any], *, is_cut: bool) -> None:
    review = told("json", held(**more))["review"]
    assert review["truncated"] is is_cut
    assert len(review["details"]) <= 20
    assert all(len(each) <= 500 for each in review["details"])


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.opens.set()
    made.close()


def webhooks(reviews: Reviews, hook: Hook) -> Webhooks:
    told = ReviewSettings(webhook=Webhook(hook.url, "s"))
    return Webhooks(reviews, lambda: told)


def asked(message: Any) -> str:
    return str(message.json["review"]["content"])


def test_flood_of_what_nobody_waits_for_buries_nothing(hook: Hook) -> None:
    reviews = Reviews()
    tells = webhooks(reviews, hook)
    hook.opens.clear()
    with ExitStack() as stack:
        stack.enter_context(tells.told(reviews.park(b"first", "s", "f", "", 60)))
        assert asked(hook.next()) == "first"
        for number in range(1000):
            review = reviews.park(b"%d" % number, "s", "f", "", 60)
            with tells.told(review):
                reviews.cancel(review.id)
        stack.enter_context(tells.told(reviews.park(b"danger", "s", "f", "", 60)))
        hook.opens.set()
        assert asked(hook.next()) == "danger"


def test_sessions_take_turns(hook: Hook) -> None:
    reviews = Reviews()
    tells = webhooks(reviews, hook)
    hook.opens.clear()
    with ExitStack() as stack:
        for session, count in (("a", 10), ("b", 1)):
            for number in range(count):
                content = f"{session}{number}".encode()
                review = reviews.park(content, session, "f", "", 60)
                stack.enter_context(tells.told(review))
        hook.opens.set()
        assert "b0" in [asked(hook.next()) for _ in range(3)]


def test_what_was_decided_before_it_was_told_is_told_once(hook: Hook) -> None:
    reviews = Reviews()
    tells = webhooks(reviews, hook)
    hook.opens.clear()
    with tells.told(reviews.park(b"first", "s", "f", "", 60)):
        hook.next()
        review = reviews.park(b"quick", "s", "f", "", 60)
        with tells.told(review):
            reviews.decide(review.id, "allow", by="the jury")
        hook.opens.set()
        message = hook.next()
        assert (asked(message), message.json["event"]) == ("quick", "decided")
    tells.close(20)
    assert hook.is_empty


def test_end_is_not_held_up(hook: Hook, caplog: pytest.LogCaptureFixture) -> None:
    reviews = Reviews()
    tells = webhooks(reviews, hook)
    hook.opens.clear()
    with tells.told(reviews.park(b"first", "s", "f", "", 60)):
        hook.next()
        tells.close(0)
    assert "the webhook was not told" in caplog.text
    wait_for(lambda: "the daemon is stopping" in caplog.text or "killed" in caplog.text)
