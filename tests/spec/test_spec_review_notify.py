"""`redlane review notify`: what is held, as notifications of a desktop with answers."""

import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from jeepney import new_signal
from jeepney.io.blocking import open_dbus_connection
from spec.desktop import (
    Bus,
    Notifications,
    desktop_bus,
    key_of,
    notifications,
    notifying,
)
from spec.held import REFUSED, held
from spec.notification_server import OBJECT
from spec.redlane_home import REDLANE, REDLANE_SH, Home, wait_for

MOST_SHOWN = 4


class Desk(NamedTuple):
    """A home whose daemon holds what is odd, and its desktop."""

    home: Home
    bus: Bus
    shows: Notifications

    def ask(self, command: str) -> "subprocess.Popen[str]":
        """A command that is going to be held."""
        return self.home.spawn("-c", command, program=REDLANE_SH)


@pytest.fixture
def bus() -> Iterator[Bus]:
    """A message bus."""
    with desktop_bus() as made:
        yield made


@pytest.fixture
def desk(holding: Home, bus: Bus) -> Iterator[Desk]:
    """A desktop on which what is held comes up."""
    with notifications(holding, bus) as shows, notifying(holding, bus):
        yield Desk(holding, bus, shows)


def finished(shell: "subprocess.Popen[str]") -> int:
    """How a command ended, which it must."""
    shell.communicate(timeout=20)
    return int(shell.returncode)


@pytest.mark.parametrize(
    ("button", "out", "status"),
    [
        ("Allow", "odd\n", 0),
        ("Allow for 10 minutes", "odd\n", 0),
        ("Block", "", REFUSED),
    ],
)
def test_a_button_decides(desk: Desk, button: str, out: str, status: int) -> None:
    shell = desk.ask("echo odd")
    shown = desk.shows.next()
    assert shown["summary"] == "Redlane holds a command"
    assert shown["body"].splitlines()[0] == "| echo odd"
    desk.shows.press(shown, button)
    assert (shell.communicate(timeout=20)[0], shell.returncode) == (out, status)


def test_for_10_minutes_the_same_needs_nobody(desk: Desk) -> None:
    first = desk.ask("echo odd")
    desk.shows.press(desk.shows.next(), "Allow for 10 minutes")
    first.communicate(timeout=20)
    again = desk.home.run("-c", "echo odd", program=REDLANE_SH)
    assert (again.out, again.code) == ("odd\n", 0)


def test_a_long_one_is_allowed_on_its_last_page(desk: Desk) -> None:
    lines = [f"echo {number}" for number in range(16)]
    shell = desk.ask("\n".join([*lines, "echo odd"]))
    shown, seen = desk.shows.next(), ""
    while "Allow" not in shown["buttons"]:
        seen += shown["body"] + "\n"
        desk.shows.press(shown, next(e for e in shown["buttons"] if "More" in e))
        assert desk.shows.next()["call"] == "CloseNotification"
        shown = desk.shows.next()
    seen += shown["body"]
    texts = [line for line in seen.splitlines() if line.startswith("| ")]
    assert texts[: len(lines) + 1] == [f"| {each}" for each in [*lines, "echo odd"]]
    desk.shows.press(shown, "Allow")
    assert finished(shell) == 0


def test_a_text_is_no_markup(desk: Desk) -> None:
    shell = desk.ask("echo odd '<b>&amp;</b>'")
    shown = desk.shows.next()
    assert "| echo odd '&lt;b&gt;&amp;amp;&lt;/b&gt;'" in shown["body"]
    desk.shows.press(shown, "Block")
    finished(shell)


def test_what_is_over_is_taken_back(desk: Desk) -> None:
    shell = desk.ask("echo odd")
    shown = desk.shows.next()
    (review,) = held(desk.home)
    desk.home.run("review", "block", review["id"])
    gone = desk.shows.next()
    assert gone == {"call": "CloseNotification", "body": [shown["number"]]}
    finished(shell)


def test_of_many_one_tells_the_number(desk: Desk) -> None:
    shells = [desk.ask(f"echo odd {number}") for number in range(MOST_SHOWN + 2)]
    wait_for(lambda: len(held(desk.home)) == len(shells))
    told: list[str] = []
    while told[-1:] != ["Redlane holds 2 more"]:
        told.append(desk.shows.next()["summary"])
    assert told.count("Redlane holds a command") == MOST_SHOWN
    for review in held(desk.home):
        desk.home.run("review", "block", review["id"])
    for shell in shells:
        finished(shell)


def test_what_was_sent_away_is_held_and_not_shown_again(desk: Desk) -> None:
    first = desk.ask("echo odd 1")
    desk.shows.dismiss(desk.shows.next())
    second = desk.ask("echo odd 2")
    shown = desk.shows.next()
    assert "| echo odd 2" in shown["body"]
    assert len(held(desk.home)) == 2
    for review in held(desk.home):
        desk.home.run("review", "block", review["id"])
    finished(first)
    finished(second)


def test_what_others_say_on_the_bus_decides_nothing(desk: Desk) -> None:
    shell = desk.ask("echo odd")
    shown = desk.shows.next()
    pressed = (shown["number"], key_of(shown, "Allow"))
    with open_dbus_connection(desk.bus.address) as stranger:
        stranger.send(new_signal(OBJECT, "ActionInvoked", "us", pressed))
    desk.shows.press(shown, "Block")
    assert finished(shell) == REFUSED


def test_nobody_in_a_session_is_asked(holding: Home, bus: Bus) -> None:
    before = (REDLANE, "run", "--")
    with notifications(holding, bus, *before), notifying(holding, bus) as told:
        shell = holding.spawn("-c", "echo odd", program=REDLANE_SH)
        assert told.stderr is not None
        line = told.stderr.readline()
        assert re.fullmatch(
            r"redlane: nothing is shown: process \d+, which would, is in session \w+ "
            r"itself\n",
            line,
        )
        (review,) = held(holding)
        holding.run("review", "block", review["id"])
        finished(shell)


def test_who_shows_them_may_come_later_and_again(holding: Home, bus: Bus) -> None:
    with notifying(holding, bus) as told:
        shell = holding.spawn("-c", "echo odd", program=REDLANE_SH)
        assert told.stderr is not None
        assert "nothing is shown" in told.stderr.readline()
        for _ in range(2):
            with notifications(holding, bus) as shows:
                assert "| echo odd" in shows.next()["body"]
        with notifications(holding, bus) as shows:
            shows.press(shows.next(), "Allow")
            assert finished(shell) == 0


def test_no_dead_button_is_left_behind(holding: Home, bus: Bus) -> None:
    with notifications(holding, bus) as shows, notifying(holding, bus) as told:
        shell = holding.spawn("-c", "echo odd", program=REDLANE_SH)
        shown = shows.next()
        told.terminate()
        gone = shows.next()
        assert gone == {"call": "CloseNotification", "body": [shown["number"]]}
        assert told.wait(timeout=20) == 0
        (review,) = held(holding)
        holding.run("review", "block", review["id"])
        finished(shell)


def test_it_ends_with_the_bus(holding: Home, bus: Bus) -> None:
    with notifying(holding, bus) as told, notifications(holding, bus):
        bus.process.terminate()
        assert told.wait(timeout=20) == 2


def test_without_a_desktop_it_says_so(holding: Home) -> None:
    nothing = {"DBUS_SESSION_BUS_ADDRESS": None}
    done = holding.run("review", "notify", env=nothing)
    assert done.code == 2
    assert "there is no desktop here" in done.err
