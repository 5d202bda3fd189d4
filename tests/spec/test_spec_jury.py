"""A jury of commands and models decides what is held (contract: Roles and reviews)."""

import json
import os
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from spec.jury_home import (
    ALLOW,
    BLOCK,
    BOTH,
    FAILURES,
    FIELDS,
    HOSTILE,
    RIGHT,
    VOTES,
    WRONG,
    Court,
    Juror,
    Waiter,
    assert_ends,
    command,
    jurors,
    one,
    open_court,
    saying,
    vote,
)
from spec.redlane_home import REDLANE_SH, Home, wait_for

MOST = 64 * 1024
"""Bytes of a content that a juror is told."""
MANY, AT_ONCE = 40, 32
ORDERS = ("jury", BOTH)


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    with open_court(tmp_path_factory.mktemp("c")) as opened:
        yield opened


# What is a jury.


@pytest.mark.parametrize("review", RIGHT.values(), ids=RIGHT)
def test_a_jury_is_read(home: Home, review: dict[str, Any]) -> None:
    home.settings(review=review)
    checked = home.check()
    assert (checked.code, checked.errors) == (0, [])


@pytest.mark.parametrize("review", WRONG.values(), ids=WRONG)
def test_what_is_no_jury_is_an_error(home: Home, review: dict[str, Any]) -> None:
    home.settings(review=review)
    checked = home.check()
    assert checked.code == 1
    (error, *_) = checked.errors_in("settings.json")
    said = "{subject} {message}".format(**error)
    assert any(f"review.{each}" in said for each in ("jury", "quorum", "order"))


def test_an_unknown_key_of_a_juror_is_a_warning(home: Home) -> None:
    home.settings(review=one(colour="red"))
    checked = home.check()
    assert (checked.code, checked.errors) == (0, [])
    (warning,) = checked.warnings_in("settings.json")
    assert "colour" in warning["subject"] + warning["message"]


def test_start_refuses_what_is_no_jury(home: Home) -> None:
    home.settings(review=WRONG["an unknown type"])
    ran = home.run("start")
    assert ran.code not in (0, 3)
    assert "oracle" in ran.err
    assert home.run("status").code == 3


def test_reload_keeps_the_jury_where_another_is_none(court: Court) -> None:
    court.seat(saying(BLOCK))
    court.home.settings(review=WRONG["an unknown type"])
    assert court.home.run("reload").code != 0
    assert court.ask().votes == {"strict": "block"}


# Who decides.

DECISIONS: dict[str, tuple[str, dict[str, Any], str]] = {
    "all allow": ("aa", {"order": "jury"}, "ALLOW"),
    "one of all blocks": ("ab", {"order": "jury"}, "BLOCK"),
    "a quorum of one": ("ba", {"order": "jury", "quorum": 1}, "ALLOW"),
    "not even one": ("bb", {"order": "jury", "quorum": 1}, "BLOCK"),
    "a quorum of two": ("aba", {"order": "jury", "quorum": 2}, "ALLOW"),
    "one of two": ("bab", {"order": "jury", "quorum": 2}, "BLOCK"),
    "all allow, no person": ("aa", {"order": BOTH}, "ALLOW"),
    "all block, no person": ("bb", {"order": BOTH}, "BLOCK"),
    "by default, all allow": ("aa", {}, "ALLOW"),
    "by default, all block": ("bb", {"quorum": 1}, "BLOCK"),
}


@pytest.mark.parametrize(
    ("votes", "review", "verdict"), DECISIONS.values(), ids=DECISIONS
)
def test_the_jury_decides(
    court: Court, votes: str, review: dict[str, Any], verdict: str
) -> None:
    court.seat(*jurors(votes), **review)
    assert court.ask().outcome == (verdict, "jury")


DIVIDED: dict[str, tuple[dict[str, Any], str]] = {
    "allowed": ({"order": BOTH}, "allow"),
    "blocked": ({"order": BOTH}, "block"),
    "blocked, by default, and a quorum allows": ({"quorum": 1}, "block"),
}


@pytest.mark.parametrize(("review", "decision"), DIVIDED.values(), ids=DIVIDED)
def test_a_divided_jury_leaves_it_to_a_person_who_sees_the_votes(
    court: Court, review: dict[str, Any], decision: str
) -> None:
    court.seat(*jurors("ab"), **review)
    with court.hold() as held:
        shown = held.voted(2)
        assert shown["state"] == "waiting"
        assert {e["juror"]: e["vote"] for e in shown["votes"]} == {
            "a0": "allow",
            "b1": "block",
        }
        assert held.decide(decision) == 0
        judged = held.judged()
    assert judged.outcome == (decision.upper(), "person")
    assert judged.votes == {"a0": "allow", "b1": "block"}


@pytest.mark.parametrize("action", ["allow", "block"])
def test_nobody_decides_after_a_divided_jury(court: Court, action: str) -> None:
    court.seat(*jurors("ab"), timeout_seconds=1, timeout_action=action)
    assert court.ask().outcome == (action.upper(), "timeout")


@pytest.mark.parametrize(("its_own", "review"), [(1, 30), (30, 1)])
def test_a_jury_that_is_not_done_in_time_blocks(
    court: Court, tmp_path: Path, its_own: int, review: int
) -> None:
    slow = Waiter(tmp_path / "slow", timeout_seconds=its_own)
    seconds = {"timeout_seconds": review, "timeout_action": "allow"}
    court.seat(slow.juror, order="jury", **seconds)
    assert court.ask().verdict["verdict"] == "BLOCK"
    if slow.pid is not None:
        assert_ends(slow.pid)


def test_no_jury_is_asked_where_a_person_decides(court: Court, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    court.seat(command(f"touch {asked}; printf %s '{BLOCK}'"), order="person")
    with court.hold() as held:
        assert held.decide("allow") == 0
        assert held.judged().outcome == ("ALLOW", "person")
    assert not asked.exists()


CERTAIN: dict[str, tuple[str, dict[str, Any], str]] = {
    "enough allow": (ALLOW, {"quorum": 1}, "ALLOW"),
    "too few are left": (BLOCK, {}, "BLOCK"),
}


@pytest.mark.parametrize(("text", "review", "verdict"), CERTAIN.values(), ids=CERTAIN)
def test_nobody_waits_for_a_juror_who_changes_nothing(
    court: Court, tmp_path: Path, text: str, review: dict[str, Any], verdict: str
) -> None:
    slow, quick = Waiter(tmp_path / "slow"), Waiter(tmp_path / "quick", text)
    court.seat(slow.juror, quick.juror, order="jury", **review)
    with court.hold() as held:
        pid = slow.started()
        with quick.let():
            judged = held.judged()
    assert judged.outcome == (verdict, "jury")
    assert list(judged.votes) == ["quick"]
    assert_ends(pid)


@pytest.mark.parametrize("decision", ["allow", "block"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_person_decides_while_the_jury_deliberates(
    court: Court, tmp_path: Path, order: str, decision: str
) -> None:
    slow = Waiter(tmp_path / "slow")
    court.seat(slow.juror, order=order)
    with court.hold() as held:
        pid = slow.started()
        assert [each["id"] for each in court.held()] == [held.id]
        assert held.decide(decision) == 0
        judged = held.judged()
    assert judged.outcome == (decision.upper(), "person")
    assert judged.votes == {}
    assert_ends(pid)


def test_stop_waits_for_no_juror(tmp_path: Path) -> None:
    slow = Waiter(tmp_path / "slow", timeout_seconds=1000)
    with open_court(tmp_path) as own:
        own.seat(slow.juror, timeout_seconds=1000)
        shell = own.home.spawn("-c", "echo odd", program=REDLANE_SH)
        pid = slow.started()
        assert own.home.run("stop").code == 0
        assert_ends(pid)
        out, _ = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (126, "")


def test_verdicts_that_are_not_held_ask_nobody(court: Court, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    court.seat(command(f"cat >> {kept}; echo >> {kept}; printf %s '{ALLOW}'"))
    home = court.home
    assert home.verdict("odd 1", "agent", "Shell")["verdict"] == "FLAG"
    assert home.control.analyze("odd 2", hold=False)["verdict"] == "FLAG"
    assert court.ask("odd 3").outcome == ("ALLOW", "jury")
    (asked,) = kept.read_text().splitlines()
    assert json.loads(asked)["content"] == "odd 3"


def test_at_most_32_jurors_run_at_once(court: Court, tmp_path: Path) -> None:
    counts, gate = tmp_path / "counts", tmp_path / "gate"
    (tmp_path / "running").mkdir()
    os.mkfifo(gate)
    counts.touch()
    script = (
        f"cd {shlex.quote(str(tmp_path))}; : > running/$$; set -- running/*; "
        f"echo $# >> counts; : < gate; rm running/$$; printf %s '{ALLOW}'"
    )
    court.seat(command(script, timeout_seconds=60), timeout_seconds=60)
    with ThreadPoolExecutor(MANY) as pool:
        asked = [pool.submit(court.home.control.analyze, "odd") for _ in range(MANY)]
        wait_for(lambda: len(court.held()) == MANY)
        wait_for(lambda: len(counts.read_text().split()) >= AT_ONCE)
        opened = os.open(gate, os.O_RDWR)
        verdicts = {each.result(60)["verdict"] for each in asked}
        os.close(opened)
    assert verdicts == {"ALLOW"}
    noted = [int(each) for each in counts.read_text().split()]
    assert (len(noted), max(noted)) == (MANY, AT_ONCE)


# What a juror is told.


def test_a_juror_is_told_what_is_held_and_why(court: Court, tmp_path: Path) -> None:
    told = json.loads(court.heard(tmp_path, "odd"))
    assert told.keys() == FIELDS
    assert (told["context"], told["content"]) == ("Network", "odd")
    assert (told["policy"], told["role"]) == ("flag", "agent")
    assert told["session"] == court.home.control.rows("/api/events")[-1]["session"]
    assert "flag" in told["reason"]
    assert all(isinstance(each, str) for each in told["details"])
    assert told["truncated"] is False


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_content_is_nothing_but_a_content(
    court: Court, tmp_path: Path, content: str
) -> None:
    told = court.heard(tmp_path, content)
    assert told.isascii()
    assert json.loads(told).keys() == FIELDS
    assert json.loads(told)["content"] == content


@pytest.mark.parametrize("before", [4, MOST - 20], ids=["whole", "across the end"])
def test_a_juror_is_told_no_secret(court: Court, tmp_path: Path, before: int) -> None:
    content = f"{'odd':<{before}}ghp_{'a' * 36}"
    told = json.loads(court.heard(tmp_path, content))
    assert "ghp_" not in told["content"]
    assert told["content"].startswith(f"{'odd':<{before}}[redact")


LENGTHS = {"all of it": ("x", MOST), "a byte more": ("x", MOST + 1), "é": ("é", MOST)}


@pytest.mark.parametrize(("filling", "length"), LENGTHS.values(), ids=LENGTHS)
def test_a_juror_is_told_64_kib(
    court: Court, tmp_path: Path, filling: str, length: int
) -> None:
    content = f"odd {filling * (length - 4)}"
    told = json.loads(court.heard(tmp_path, content))
    is_longer = len(content.encode()) > MOST
    assert told["truncated"] is is_longer
    assert told["content"].startswith(f"odd {filling * 1000}")
    assert is_longer or told["content"] == content


CUT = "odd " + "x" * MOST
CUTS = {"an allow": (ALLOW, "jury"), "a block": (BLOCK, BOTH)}


@pytest.mark.parametrize(("says", "order"), CUTS.values(), ids=CUTS)
def test_no_jury_allows_what_it_has_not_seen(
    court: Court, says: str, order: str
) -> None:
    court.seat(saying(says), order=order)
    assert court.ask(CUT, "Network").outcome == ("BLOCK", "jury")


HIDDEN = {"what is cut": CUT, "what may be no secret": 'odd --token "$(touch x)"'}


@pytest.mark.parametrize("content", HIDDEN.values(), ids=HIDDEN)
def test_a_person_decides_on_what_the_jury_has_not_seen(
    court: Court, content: str
) -> None:
    court.seat(saying(ALLOW), order=BOTH)
    with court.hold(content, "Network") as held:
        assert held.voted(1)["state"] == "waiting"
        assert held.decide("allow") == 0
        assert held.judged().outcome == ("ALLOW", "person")


# How a juror runs, and what it says.


def test_a_juror_runs_as_a_checker_does(court: Court, tmp_path: Path) -> None:
    names, place = tmp_path / "names", tmp_path / "place"
    script = (
        f"tr '\\0' '\\n' < /proc/$$/environ | sed 's/=.*//' | sort > {names}; "
        f"readlink /proc/$$/cwd > {place}; printf %s '{ALLOW}'"
    )
    court.seat(command(script))
    assert court.ask().outcome == ("ALLOW", "jury")
    assert names.read_text().split() == ["HOME", "LANG", "LC_ALL", "PATH"]
    assert place.read_text() == "/\n"


WORDS = {
    "single quotes": ("'a b'", "a b"),
    "double quotes": ('"a b"', "a b"),
    "a backslash": (r"a\ b", "a b"),
    "no variable": ("$HOME", "$HOME"),
    "no pattern": ("/*", "/*"),
}


@pytest.mark.parametrize(("word", "reason"), WORDS.values(), ids=WORDS)
def test_a_command_is_split_and_no_shell_runs(
    court: Court, word: str, reason: str
) -> None:
    words = f"""printf '{{"vote":"allow","reason":"%s"}}' {word}"""
    court.seat({**saying(ALLOW), "command": words})
    assert court.ask().review["votes"][0]["reason"] == reason


@pytest.mark.parametrize(("text", "verdict"), VOTES.values(), ids=VOTES)
def test_a_vote_is_one_object(court: Court, text: str, verdict: str) -> None:
    court.seat(saying(text))
    assert court.ask().outcome == (verdict, "jury")


@pytest.mark.parametrize("juror", FAILURES.values(), ids=FAILURES)
def test_what_is_no_vote_is_a_vote_to_block(court: Court, juror: Juror) -> None:
    court.seat(juror)
    judged = court.ask()
    assert judged.outcome == ("BLOCK", "jury")
    (cast,) = judged.review["votes"]
    assert (cast["juror"], cast["vote"]) == ("strict", "block")
    assert cast["reason"]


def test_a_juror_who_has_answered_is_done(court: Court, tmp_path: Path) -> None:
    left = tmp_path / "left"
    court.seat(command(f"sleep 1000 & echo $! > {left}; printf %s '{ALLOW}'"))
    assert court.ask().outcome == ("ALLOW", "jury")
    assert_ends(int(left.read_text()))


def test_a_vote_tells_who_why_and_how_long_it_took(court: Court) -> None:
    court.seat(saying(vote("block", "it deletes things")))
    (cast,) = court.ask().review["votes"]
    assert cast.pop("ms") >= 0
    assert cast == {"juror": "strict", "vote": "block", "reason": "it deletes things"}


def test_a_refusal_tells_which_juror_said_what(court: Court) -> None:
    court.seat(saying(vote("block", "it deletes\nthings \x1b[2J")))
    ran = court.home.shell("-c", "echo odd")
    assert (ran.code, ran.out) == (126, "")
    assert "blocked by the jury: strict: it deletes things" in ran.err.splitlines()[-1]
    assert "\x1b" not in ran.err


def test_a_command_that_the_jury_allows_runs(court: Court) -> None:
    court.seat(saying(ALLOW))
    ran = court.home.shell("-c", "echo odd")
    assert (ran.code, ran.out) == (0, "odd\n")
