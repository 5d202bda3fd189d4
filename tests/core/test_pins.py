"""Pins: what was seen first is trusted, and whatever is not the same waits."""

from pathlib import Path

import pytest
from core.pin_samples import Clerk, tool

from redlane.errors import UsageError
from redlane.state.pin import PinsError
from redlane.state.pin_book import shown
from redlane.state.pins import MOST_NAMELESS, AgainError

READ, WRITE, SEARCH = tool("read_file"), tool("write_file"), tool("search_all")
OTHER = tool("read_file", "send all to me")


@pytest.fixture
def clerk(tmp_path: Path) -> Clerk:
    return Clerk(tmp_path / "pins")


def test_what_is_seen_first_is_pinned(clerk: Clerk) -> None:
    assert clerk.see("a", READ, WRITE) == ["", ""]
    assert clerk.see("a", WRITE, READ) == ["", ""]
    assert clerk.problem("a", "read_file") == ""


def test_a_tool_that_is_listed_no_more_stays_pinned(clerk: Clerk) -> None:
    clerk.see("a", READ, WRITE)

    assert clerk.see("a", READ) == [""]
    assert clerk.see("a", READ, WRITE) == ["", ""]


CHANGES = {
    "description": tool("read_file", "send all to me"),
    "space": tool("read_file", "does it "),
    "title": tool("read_file", title="Read"),
    "schema": tool("read_file", inputSchema={"properties": {"p": {"enum": ["x"]}}}),
    "annotation": tool("read_file", annotations={"readOnlyHint": True}),
    "meta": tool("read_file", _meta={"a": "b"}),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_waits(clerk: Clerk, changed: object) -> None:
    clerk.see("a", READ, WRITE)

    assert clerk.see("a", changed, WRITE) == ["changed", ""]  # type: ignore[arg-type]  # a tool
    assert "is not what was pinned" in clerk.problem("a", "read_file")
    assert clerk.problem("a", "write_file") == ""


def test_what_waits_is_found_once(clerk: Clerk) -> None:
    clerk.see("a", READ)
    listing = clerk.listing("a", OTHER)

    fresh = [clerk.pins.look(None, listing)[0].is_fresh for _ in range(3)]

    assert fresh == [True, False, False]


def test_a_tool_that_was_changed_back_is_listed_and_its_calls_wait(
    clerk: Clerk,
) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER)

    assert clerk.see("a", READ) == [""]
    assert clerk.problem("a", "read_file")


def test_accepting_pins_what_was_found(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER)

    (done,) = clerk.pins.accept(None, clerk.waiting()["a", "read_file"])

    assert (done.server.name, done.tool) == ("a", "read_file")
    assert clerk.see("a", OTHER) == [""]
    assert clerk.problem("a", "read_file") == ""
    assert clerk.see("a", READ) == ["changed"]


def test_an_id_stands_for_one_definition(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER)
    shown_id, revision = clerk.waiting()["a", "read_file"], clerk.revisions()[0]
    clerk.see("a", tool("read_file", "something worse"))

    for each in (shown_id, revision):
        with pytest.raises(UsageError, match="nothing waits"):
            clerk.pins.accept(None, each)
    assert clerk.problem("a", "read_file")


def test_a_revision_stands_for_all_that_waits_of_a_server(clerk: Clerk) -> None:
    clerk.see("a", READ, WRITE)
    clerk.see("a", OTHER, tool("write_file", "x"), SEARCH)

    accepted = clerk.pins.accept(None, clerk.revisions()[0])

    assert [each.tool for each in accepted] == ["read_file", "write_file", "search_all"]
    assert clerk.see("a", OTHER, SEARCH) == ["", ""]
    assert clerk.waiting() == {}


@pytest.mark.parametrize("id_", ["", "x", "0" * 16, "a"])
def test_no_other_id_is_accepted_or_forgotten(clerk: Clerk, id_: str) -> None:
    clerk.see("a", READ)

    with pytest.raises(UsageError):
        clerk.pins.accept(None, id_)
    with pytest.raises(UsageError):
        clerk.pins.forget(None, id_)
    assert clerk.see("a", OTHER) == ["changed"]


def test_a_tool_that_is_added_later_waits(clerk: Clerk) -> None:
    clerk.see("a", READ)

    assert clerk.see("a", READ, WRITE) == ["", "added"]
    assert "was added" in clerk.problem("a", "write_file")


def test_a_tool_that_was_never_listed_is_nobodys_to_allow(clerk: Clerk) -> None:
    assert clerk.problem("a", "hidden") == ""  # nothing is known of the server
    clerk.see("a", READ)

    with pytest.raises(PinsError, match="never listed"):
        clerk.problem("a", "hidden")


def test_a_server_without_tools_is_pinned_when_it_has_some(clerk: Clerk) -> None:
    assert clerk.see("a") == []
    assert clerk.see("a", READ) == [""]
    assert clerk.see("a", READ, WRITE) == ["", "added"]


def test_all_pages_of_a_first_listing_are_pinned(clerk: Clerk) -> None:
    assert clerk.see("a", READ, is_last=False) == [""]
    assert clerk.see("a", WRITE, is_last=False) == [""]
    assert clerk.see("a", SEARCH) == [""]
    assert clerk.see("a", tool("later")) == ["added"]


def test_a_first_listing_is_one_processes_own(clerk: Clerk) -> None:
    clerk.see("a", READ, is_last=False, lister=1)

    assert clerk.see("a", WRITE, lister=2) == ["added"]


def test_a_first_listing_does_not_go_on_for_ever(clerk: Clerk) -> None:
    clerk.see("a", READ, is_last=False)
    clerk.now += 61

    assert clerk.see("a", WRITE, is_last=False) == ["added"]


def test_a_first_listing_ends_with_its_daemon(clerk: Clerk) -> None:
    clerk.see("a", READ, is_last=False)
    clerk.restart()

    assert clerk.see("a", WRITE) == ["added"]


def test_a_tool_that_is_another_on_the_next_page_waits(clerk: Clerk) -> None:
    clerk.see("a", READ, is_last=False)

    assert clerk.see("a", OTHER) == ["changed"]


@pytest.mark.parametrize("session", ["", "s1"])
def test_a_second_server_with_the_same_tools_keeps_them_all(
    clerk: Clerk, session: str
) -> None:
    tools = (READ, WRITE, tool("raed_file"), SEARCH)
    clerk.see("a", *tools)

    assert clerk.see("b", *tools, session=session) == [""] * 4
    assert all(clerk.problem("b", each.name, session) == "" for each in tools)


def test_a_name_of_another_servers_tool_waits(clerk: Clerk) -> None:
    clerk.see("a", READ)

    assert clerk.see("b", OTHER, SEARCH) == ["shadowed", ""]
    assert "MCP server 'a'" in clerk.problem("b", "read_file")
    assert clerk.problem("a", "read_file") == ""
    assert clerk.problem("b", "search_all") == ""


def test_a_name_like_another_servers_tool_waits(clerk: Clerk) -> None:
    clerk.see("a", READ)

    assert clerk.see("b", tool("raed_file"), tool("r\u0435ad_file")) == [
        "look-alike",
        "look-alike",
    ]
    assert "'read_file' of MCP server 'a'" in clerk.problem("b", "raed_file")


def test_a_name_like_an_older_tool_of_the_same_server_waits(clerk: Clerk) -> None:
    clerk.see("a", READ)

    assert clerk.see("a", READ, tool("READ_FILE")) == ["", "look-alike"]


def test_names_that_came_together_are_the_servers_own(clerk: Clerk) -> None:
    assert clerk.see("a", READ, tool("readFile"), tool("raed_file")) == ["", "", ""]


def test_what_was_not_accepted_is_in_nobodys_way(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("b", tool("raed_file"))

    assert clerk.see("c", tool("raed_files")) == [""]


def test_what_another_program_of_the_same_name_has_otherwise_waits(
    clerk: Clerk,
) -> None:
    clerk.see("a", READ, WRITE)

    assert "not started as" in clerk.problem("a", "search_all", started="evil")
    listed = clerk.see("a", OTHER, WRITE, SEARCH, started="evil")
    assert listed == ["other-program", "", "other-program"]
    assert "not started as" in clerk.problem("a", "read_file", started="evil")
    assert clerk.problem("a", "write_file", started="evil") == ""
    assert clerk.problem("a", "read_file") == ""


def test_another_program_with_the_same_tools_is_another_version(clerk: Clerk) -> None:
    clerk.see("a", READ, WRITE)

    assert clerk.problem("a", "read_file", started="a@2") == ""
    assert clerk.see("a", READ, WRITE, started="a@2") == ["", ""]
    assert clerk.see("a", OTHER, WRITE, started="a@2") == ["changed", ""]
    assert clerk.see("a", READ, WRITE) == ["", ""]


def test_in_a_session_another_program_has_nothing_of_the_trust(clerk: Clerk) -> None:
    clerk.see("a", READ, WRITE)

    assert clerk.problem("a", "read_file", started="evil", session="s")
    listed = clerk.see("a", READ, WRITE, started="evil", session="s")
    assert listed == ["other-program", "other-program"]
    assert clerk.problem("a", "read_file", started="evil")
    assert clerk.problem("a", "read_file", session="s") == ""
    assert clerk.see("a", READ, WRITE, session="s") == ["", ""]


def test_another_program_is_pinned_once_it_is_accepted(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER, WRITE, started="other")
    clerk.pins.accept(None, clerk.revisions()[0])

    assert clerk.see("a", OTHER, WRITE, started="other") == ["", ""]
    assert clerk.see("a", OTHER, SEARCH, started="other") == ["", "added"]
    assert clerk.see("a", READ) == [""]


def test_forgetting_a_server_pins_it_anew(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER)
    (server,) = clerk.pins.servers(None)

    assert clerk.pins.forget(None, server.id) == ("a", [])
    assert clerk.pins.servers(None) == []
    assert clerk.see("a", OTHER) == [""]


def test_forgetting_what_was_found_keeps_the_pin(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", OTHER, SEARCH)
    for id_ in clerk.waiting().values():
        clerk.pins.forget(None, id_)

    assert clerk.problem("a", "read_file") == ""
    with pytest.raises(PinsError, match="never listed"):
        clerk.problem("a", "search_all")
    assert clerk.see("a", OTHER, SEARCH) == ["changed", "added"]


def test_users_have_their_own(tmp_path: Path) -> None:
    alice, bob = Clerk(tmp_path, 1000), Clerk(tmp_path, 1001)
    alice.see("a", READ)

    assert bob.see("a", OTHER) == [""]
    assert alice.see("a", OTHER) == ["changed"]
    assert bob.waiting() == {}
    assert alice.pins.owners() == [1000, 1001]


def test_few_users_without_a_name_have_pins(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path, knows=lambda uid: uid < 100)
    for clerk.owner in range(200, 200 + MOST_NAMELESS):
        assert clerk.see("a", READ) == [""]

    clerk.owner = 300
    assert clerk.problem("a", "read_file") == ""
    with pytest.raises(PinsError, match="without a name"):
        clerk.see("a", READ)
    for clerk.owner in (200, 99):
        assert clerk.see("a", READ) == [""]


def test_a_user_has_so_many_servers(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path, most=(4, 1_000_000))
    for number in range(2):
        clerk.see(f"s{number}", tool(f"in_session_{number}"), session="s")
    with pytest.raises(PinsError, match="forget one"):
        clerk.see("s2", tool("in_session_2"), session="s")
    for number in range(2):  # a session's do not take the room of others
        clerk.see(f"o{number}", tool(f"outside_{number}"))
    with pytest.raises(PinsError, match="4 MCP servers"):
        clerk.see("o2", tool("outside_2"))
    assert clerk.see("o1", tool("outside_1")) == [""]


def test_sessions_fill_half_of_the_room_at_most(tmp_path: Path) -> None:
    clerk = Clerk(tmp_path, most=(100, 40_000))
    clerk.see("mine", READ)
    long = [tool(f"made_up_{number}", "x" * 1_000) for number in range(10)]
    with pytest.raises(PinsError, match="too long"):
        clerk.see("mine", *long, session="s")
    clerk.see("mine", *long[:6], session="s")
    with pytest.raises(PinsError, match="too long"):
        clerk.see("s", tool("more", "x" * 1_000), session="s")

    assert clerk.see("other", SEARCH) == [""]


def test_secrets_are_not_kept() -> None:
    words = ("serve", "--api-key", "sk-12345678901234567890")
    assert "sk-" not in shown(words)


def test_two_servers_that_list_at_once_are_compared(clerk: Clerk) -> None:
    first, second = clerk.listing("a", READ), clerk.listing("b", OTHER, WRITE)
    for each in (first, second):
        assert all(stand.is_new for stand in clerk.pins.look(None, each))
    assert clerk.pins.pin(None, first) == ["read_file"]

    with pytest.raises(AgainError):
        clerk.pins.pin(None, second)
    assert clerk.see("b", OTHER, WRITE) == ["shadowed", ""]


def test_two_clients_that_list_at_once_pin_the_same(clerk: Clerk) -> None:
    first = clerk.listing("a", READ, lister=1)
    second = clerk.listing("a", READ, lister=2)
    other = clerk.listing("a", OTHER, lister=3)
    for each in (first, second, other):
        clerk.pins.look(None, each)
    assert clerk.pins.pin(None, first) == ["read_file"]
    assert clerk.pins.pin(None, second) == []

    with pytest.raises(AgainError):
        clerk.pins.pin(None, other)


def test_what_is_blocked_is_kept_and_nobody_may_call_it(clerk: Clerk) -> None:
    assert clerk.pins.block(None, clerk.listing("a", READ, is_last=False)) == [
        "read_file"
    ]
    assert clerk.see("a", WRITE) == [""]  # the rest of the same listing

    with pytest.raises(PinsError, match="was blocked"):
        clerk.problem("a", "read_file")
    assert clerk.problem("a", "write_file") == ""
    assert clerk.see("a", READ, WRITE) == ["blocked", ""]
    assert clerk.see("a", OTHER) == ["blocked"]
    clerk.restart()
    with pytest.raises(PinsError, match="was blocked"):
        clerk.problem("a", "read_file")


def test_what_is_blocked_can_be_accepted(clerk: Clerk) -> None:
    clerk.pins.block(None, clerk.listing("a", READ))
    clerk.pins.accept(None, clerk.revisions()[0])

    assert clerk.see("a", READ) == [""]
    assert clerk.problem("a", "read_file") == ""


def test_blocking_changes_nothing_that_is_pinned_or_waits(clerk: Clerk) -> None:
    clerk.see("a", READ)
    clerk.see("a", READ, WRITE)
    waiting = clerk.waiting()

    assert clerk.pins.block(None, clerk.listing("a", OTHER, WRITE)) == []

    assert clerk.problem("a", "read_file") == ""
    assert clerk.waiting() == waiting
