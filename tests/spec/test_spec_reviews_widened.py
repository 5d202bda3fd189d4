"""A decision on what is held may count for the same again (policy format: Actions)."""

import json
import os
import shutil
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, wait_for

ODD = ("-c", "echo odd")
REFUSED = 126


@pytest.fixture
def running(home: Home) -> Home:
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    home.settings(review={"timeout_seconds": 30})
    home.start("--role", "agent")
    return home


def held(home: Home) -> list[dict[str, Any]]:
    return home.control.rows("/api/reviews")


def ask(
    home: Home, *words: str, cwd: Path | None = None
) -> tuple[subprocess.Popen[str], str]:
    """Have a command held: its shell, and the review."""
    shell = subprocess.Popen(
        [REDLANE_SH, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=home.environment(),
        cwd=cwd or home.user,
        text=True,
    )
    (review,) = wait_for(lambda: held(home))
    return shell, str(review["id"])


def ended(
    home: Home, *words: str, decision: tuple[str, ...], cwd: Path | None = None
) -> int:
    """Have a command held and decided: how it ended."""
    shell, review = ask(home, *words, cwd=cwd)
    assert home.run("review", decision[0], review, *decision[1:]).code == 0
    shell.communicate(timeout=20)
    return int(shell.returncode)


WIDTHS = {
    "times 0": ("--times", "0"),
    "times -1": ("--times", "-1"),
    "too often": ("--times", "1001"),
    "no number": ("--times", "x"),
    "no time": ("--for", "soon"),
    "for nothing": ("--for", "0s"),
    "for ever": ("--for", "2d"),
}


def test_a_width_that_is_none_decides_nothing(running: Home) -> None:
    shell, review = ask(running, *ODD)
    codes = [running.run("review", "allow", review, *e).code for e in WIDTHS.values()]
    assert codes == [2] * len(WIDTHS)
    assert [each["id"] for each in held(running)] == [review]
    running.run("review", "block", review)
    shell.communicate(timeout=20)
    assert shell.returncode == REFUSED


BODIES: dict[str, dict[str, object]] = {
    "times 0": {"times": 0},
    "too often": {"times": 1001},
    "no number": {"times": "2"},
    "true": {"times": True},
    "no time": {"seconds": 0},
    "for ever": {"seconds": 86401},
}


def test_a_width_that_is_none_is_refused_by_the_api(running: Home) -> None:
    shell, review = ask(running, *ODD)
    path = f"/api/reviews/{review}"
    wide = [{"decision": "allow", **each} for each in BODIES.values()]
    statuses = [running.control.post(path, each).status for each in wide]
    assert statuses == [400] * len(BODIES)
    assert running.control.post(path, {"decision": "block"}).status == 200
    shell.communicate(timeout=20)


def test_what_is_held_several_times_is_one_line(running: Home) -> None:
    shells = [running.spawn(*ODD, program=REDLANE_SH) for _ in range(3)]
    wait_for(lambda: len(held(running)) == len(shells))
    first, *_ = held(running)
    (line,) = running.run("review", "list").out.splitlines()
    assert line.startswith(first["id"])
    assert line.endswith("(and 2 more: --times 3)")
    running.run("review", "allow", first["id"], "--times", "3")
    assert [shell.communicate(timeout=20)[0] for shell in shells] == ["odd\n"] * 3


def test_a_second_decision_is_told_who_was_first(running: Home) -> None:
    shell, review = ask(running, *ODD)
    running.run("review", "block", review)
    shell.communicate(timeout=20)
    again = running.run("review", "allow", review)
    assert again.code == 1
    assert "is over: blocked by" in again.err


def test_a_review_tells_all_of_itself(running: Home) -> None:
    shell, review = ask(running, *ODD)
    show = ("review", "show", review, "--json")
    told = json.loads(running.run(*show).out)
    assert (told["state"], told["role"], told["policy"]) == ("waiting", "agent", "flag")
    assert (told["votes"], told["decided_by"], told["note"]) == ([], None, None)
    assert datetime.fromisoformat(told["deadline"]).tzinfo is not None
    assert told["pid"] == shell.pid
    assert told["cwd"]
    running.run("review", "block", review, "--note", "not today")
    _, error = shell.communicate(timeout=20)
    assert "not today" in error
    told = json.loads(running.run(*show).out)
    decided = (told["state"], told["decided_by"], told["note"])
    assert decided == ("blocked", "person", "not today")


def test_the_event_of_a_decision_tells_whose_it_was(running: Home) -> None:
    ended(running, *ODD, decision=("allow", "--note", "fine"))
    event = running.control.rows("/api/events")[-1]
    assert event["review"]
    assert (event["decided_by"], event["note"], event["votes"]) == (
        "person",
        "fine",
        [],
    )


def test_a_decision_for_the_same_again_needs_nobody(running: Home) -> None:
    wide = ("allow", "--times", "2", "--for", "10m")
    assert ended(running, *ODD, decision=wide) == 0
    assert running.shell(*ODD).out == "odd\n"
    assert ended(running, *ODD, decision=("block",)) == REFUSED


def test_a_block_for_the_same_again_needs_nobody(running: Home) -> None:
    assert ended(running, *ODD, decision=("block", "--for", "10m")) == REFUSED
    assert running.shell(*ODD).code == REFUSED


def test_a_decision_is_for_no_other_directory(running: Home) -> None:
    ended(running, *ODD, decision=("allow", "--for", "10m"))
    elsewhere = running.user / "elsewhere"
    elsewhere.mkdir()
    assert ended(running, *ODD, decision=("block",), cwd=elsewhere) == REFUSED


def test_a_decision_is_for_no_other_variables(running: Home) -> None:
    ended(running, *ODD, decision=("allow", "--for", "10m"))
    running.env["GIT_SSH_COMMAND"] = "evil"
    assert ended(running, *ODD, decision=("block",)) == REFUSED


def test_a_decision_is_taken_back(running: Home) -> None:
    shell, review = ask(running, *ODD)
    running.run("review", "allow", review, "--for", "10m")
    shell.communicate(timeout=20)
    assert running.run("review", "revoke", review).code == 0
    assert ended(running, *ODD, decision=("block",)) == REFUSED
    assert running.run("review", "revoke", review).code == 1


FILES = {
    "a word": "cat {0}; echo odd",
    "an option": "grep -f{0} /dev/null; echo odd",
    "an assignment": "dd if={0} of=/dev/null; echo odd",
    "a file of data": "echo odd @{0}",
    "input": "cat < {0}; echo odd",
}


@pytest.mark.parametrize("command", FILES.values(), ids=FILES)
def test_a_decision_is_about_the_files_that_a_command_names(
    running: Home, command: str
) -> None:
    note = running.user / "files" / "note.txt"
    note.parent.mkdir()
    note.write_text("one\n", encoding="utf-8")
    words = ("-c", command.format(note))
    ended(running, *words, decision=("allow", "--for", "10m"))
    running.shell(*words)
    assert held(running) == []
    note.write_text("two\n", encoding="utf-8")
    assert ended(running, *words, decision=("block",)) == REFUSED


@pytest.mark.parametrize("place", ["", "other:"])
def test_a_decision_is_about_the_program_that_a_command_starts(
    running: Home, place: str
) -> None:
    tools = running.user / "other"
    tools.mkdir()
    program = (tools if place else running.user) / "tool"
    shutil.copy("/bin/true", running.user / "tool")
    running.env["PATH"] = f"{place}{running.user}:{os.environ['PATH']}"
    assert ended(running, "-c", "tool odd", decision=("allow", "--for", "10m")) == 0
    program.unlink(missing_ok=True)
    shutil.copy("/bin/false", program)
    assert ended(running, "-c", "tool odd", decision=("block",)) == REFUSED


OPEN = {
    "a variable": "$CMD odd",
    "a pattern": "cat *.txt; echo odd",
    "a substitution": "echo $(cat note) odd",
}


@pytest.mark.parametrize("command", OPEN.values(), ids=OPEN)
def test_what_is_known_only_when_it_runs_is_decided_once(
    running: Home, command: str
) -> None:
    shell, review = ask(running, "-c", command)
    wide = running.run("review", "allow", review, "--for", "10m")
    assert wide.code == 1
    assert "is decided once" in wide.err
    assert [each["id"] for each in held(running)] == [review]
    assert running.run("review", "block", review).code == 0
    shell.communicate(timeout=20)
