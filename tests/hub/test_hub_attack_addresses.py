"""Nobody takes an address that looks like somebody else's by what cannot be seen."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import PASSWORD, Running, new_hub

from redlane_hub.http.pages.visible import visible
from redlane_hub.services.accounts import ADDRESS_PATTERN

UNSEEN = {
    "zero width space": "ann\u200b@example.com",
    "at the end": "ann@example.com\u200b",
    "byte order mark": "\ufeffann@example.com",
    "right to left": "\u202emoc.elpmaxe@nna",
    "isolate": "ann@\u2066example.com",
    "soft hyphen": "an\u00adn@example.com",
    "joiner": "ann\u034f@example.com",
    "blank letter": "ann\u3164@example.com",
    "tag": "ann\U000e0061@example.com",
    "variation": "ann\ufe0f@example.com",
}


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("email", UNSEEN.values(), ids=UNSEEN)
def test_an_address_with_what_cannot_be_seen_is_refused(
    running: Running, email: str
) -> None:
    token = running.register("ann@example.com")
    body = {"email": email, "password": PASSWORD}
    registered = running.call("POST", "/api/v1/register", json=body)
    changed = running.call("PATCH", "/api/v1/me/email", token, json=body)
    assert registered.status_code == changed.status_code == 400
    assert registered.json == changed.json
    assert "invisible" in registered.json["error"]


def test_what_pages_would_spell_out_is_in_no_address() -> None:
    letters = map(chr, [*range(0xD800), *range(0xE000, 0xFFFF)])
    taken = "".join(each for each in letters if re.match(ADDRESS_PATTERN, f"{each}@b"))
    shown = {each for each in taken if visible(each) != each}
    # Unassigned, private and deprecated ones are no danger: they are seen as boxes.
    assert not shown & set("\u200b\u200d\u202e\u2069\ufeff\u00ad\u3164\u2800\u180e")


@pytest.mark.parametrize("email", ["zoë@exämple.com", "李@例え.jp", "𐐨@b.c"])
def test_addresses_of_all_scripts_are_taken(running: Running, email: str) -> None:
    body = {"email": email, "password": PASSWORD}
    assert running.call("POST", "/api/v1/register", json=body).status_code == 201


def test_a_placeholder_is_one_in_any_case(running: Running) -> None:
    token = running.register("ann@Placeholder.INVALID")
    assert running.call("GET", "/api/v1/me", token).status_code == 200
    refused = running.call("GET", "/api/v1/me/subscription", token)
    assert refused.json == {"error": "set a real email address first"}
