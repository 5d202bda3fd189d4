"""Whatever asks for characters that nobody sees asks one table."""

import re
import sys
import unicodedata
from collections.abc import Callable

import pytest
from architecture.sources import refuse

from redlane.contexts.shell.grammar.readings import readings
from redlane.decoding.normal import plain
from redlane.model.policy import Action, Context, Policy
from redlane.model.problem import Severity
from redlane.model.unseen import DECEPTIVE, INVISIBLE, first_unseen
from redlane.model.visible import visible
from redlane.state.look_alikes import skeleton
from redlane_hub import unseen as hub_unseen
from redlane_hub.http.pages.visible import visible as visible_on_pages
from redlane_hub.http.pages.visible import visible_json
from redlane_hub.mail.addresses import read_recipient
from redlane_hub.mail.mailer import MailRefusedError
from redlane_hub.services.accounts import ADDRESS_PATTERN
from redlane_match_mcp import McpToolType

EVERYTHING = list(map(chr, range(sys.maxunicode + 1)))
SHOWS_NOTHING = re.findall(f"[{INVISIBLE}]", "".join(EVERYTHING))
DECEIVES = re.findall(f"[{DECEPTIVE}]", "".join(EVERYTHING))
EXCEPTIONS = {("pages", "\ufe0f"), ("JSON on pages", "\ufe0f")}
"""The selector that makes an emoji of a sign is seen by that; no name is made of it."""


def is_refused_in_a_policy(letter: str) -> bool:
    made = Policy("id", "McpTool", Action.BLOCK, Context.MCP, server=f"a{letter}")
    return Severity.ERROR in {each.severity for each in McpToolType().problems(made)}


def is_not_mailed(letter: str) -> bool:
    try:
        read_recipient(f"a{letter}b@example.org")
    except MailRefusedError:
        return True
    return False


IN_NAMES: dict[str, Callable[[str], bool]] = {
    "names of servers and tools": lambda letter: first_unseen(f"a{letter}") == letter,
    "policies of McpTool": is_refused_in_a_policy,
    "texts shown to people": lambda letter: letter not in visible(letter),
    "pages": lambda letter: letter not in visible_on_pages(letter),
    "JSON on pages": lambda letter: letter not in visible_json(letter),
    "addresses that register": lambda letter: (
        not re.match(ADDRESS_PATTERN, f"a{letter}b@example.org")
    ),
    "addresses that are mailed": is_not_mailed,
}
IN_TEXTS: dict[str, Callable[[str], bool]] = {
    "what is matched": lambda letter: plain(f"a{letter}b") == "ab",
    "readings of a command": lambda letter: "ab" in readings(f"a{letter}b"),
    "tools that look alike": lambda letter: (
        skeleton(f"re{letter}ad") == skeleton("read")
    ),
}


@pytest.mark.parametrize("place", IN_NAMES)
def test_what_nobody_sees_is_found_in_names(place: str) -> None:
    knows = IN_NAMES[place]
    letters = SHOWS_NOTHING + DECEIVES
    unknown = {(place, letter) for letter in letters if not knows(letter)} - EXCEPTIONS
    refuse(f"U+{ord(letter):04X}" for _, letter in sorted(unknown))


@pytest.mark.parametrize("knows", IN_TEXTS.values(), ids=IN_TEXTS)
def test_what_shows_nothing_splits_no_word(knows: Callable[[str], bool]) -> None:
    refuse(f"U+{ord(letter):04X}" for letter in SHOWS_NOTHING if not knows(letter))


def test_what_takes_room_stays_in_what_is_matched() -> None:
    refuse(letter for letter in DECEIVES if letter not in plain(f"a{letter}b"))


def test_table_has_all_that_this_pythons_unicode_calls_a_format_character() -> None:
    known = {*SHOWS_NOTHING, *DECEIVES}
    assert known >= {each for each in EVERYTHING if unicodedata.category(each) == "Cf"}


def test_controls_line_breaks_and_halves_of_pairs_are_unseen_too() -> None:
    kinds = {"Cc", "Cs", "Zl", "Zp"}
    unseen = {each for each in EVERYTHING if first_unseen(each)}
    controls = {each for each in EVERYTHING if unicodedata.category(each) in kinds}
    assert unseen == {*controls, *SHOWS_NOTHING, *DECEIVES}


def test_hub_and_daemon_have_the_same_table() -> None:
    assert (hub_unseen.INVISIBLE, hub_unseen.DECEPTIVE) == (INVISIBLE, DECEPTIVE)
