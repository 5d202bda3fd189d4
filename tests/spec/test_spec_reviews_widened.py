"""A decision on what is held may count for the same again (policy format: Actions)."""

import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from spec.held import REFUSED, ask, ended, held
from spec.redlane_home import REDLANE_SH, Home, wait_for

ODD = ("-c", "echo odd")

WIDTHS = {
    "times 0": ("--times", "0"),
    "times -1": ("--times", "-1"),
    "too often": ("--times", "1001"),
    "no number": ("--times", "x"),
    "no time": ("--for", "soon"),
    "for nothing": ("--for", "0s"),
    "for ever": ("--for", "2d"),
}


def test_a_width_that_is_none_decides_nothing(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    codes = [holding.run("review", "allow", review, *e).code for e in WIDTHS.values()]
    assert codes == [2] * len(WIDTHS)
    assert [each["id"] for each in held(holding)] == [review]
    holding.run("review", "block", review)
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


def test_a_width_that_is_none_is_refused_by_the_api(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    path = f"/api/reviews/{review}"
    wide = [{"decision": "allow", **each} for each in BODIES.values()]
    statuses = [holding.control.post(path, each).status for each in wide]
    assert statuses == [400] * len(BODIES)
    assert holding.control.post(path, {"decision": "block"}).status == 200
    shell.communicate(timeout=20)


def test_what_is_held_several_times_is_one_line(holding: Home) -> None:
    shells = [holding.spawn(*ODD, program=REDLANE_SH) for _ in range(3)]
    wait_for(lambda: len(held(holding)) == len(shells))
    first, *_ = held(holding)
    (line,) = holding.run("review", "list").out.splitlines()
    assert line.startswith(first["id"])
    assert line.endswith("(and 2 more: --times 3)")
    holding.run("review", "allow", first["id"], "--times", "3")
    assert [shell.communicate(timeout=20)[0] for shell in shells] == ["odd\n"] * 3


def test_a_second_decision_is_told_who_was_first(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    holding.control.post(f"/api/reviews/{review}", {"decision": "block"})
    shell.communicate(timeout=20)
    again = holding.run("review", "allow", review)
    assert again.code == 1
    assert again.err.endswith(f"is over: blocked by process {os.getpid()}\n")


DECISIONS = ("allow", "block")


def test_of_two_who_decide_at_once_one_is_obeyed(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    together = threading.Barrier(len(DECISIONS))

    def decide(decision: str) -> int:
        together.wait(20)
        body = {"decision": decision}
        return holding.control.post(f"/api/reviews/{review}", body).status

    with ThreadPoolExecutor() as pool:
        allow, block = pool.map(decide, DECISIONS)
    out, _ = shell.communicate(timeout=20)
    assert {allow, block} == {200, 409}
    assert (shell.returncode, out) == ((0, "odd\n") if allow == 200 else (REFUSED, ""))


def test_a_review_tells_all_of_itself(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    show = ("review", "show", review, "--json")
    told = json.loads(holding.run(*show).out)
    assert (told["state"], told["role"], told["policy"]) == ("waiting", "agent", "flag")
    assert (told["votes"], told["decided_by"], told["note"]) == ([], None, None)
    assert datetime.fromisoformat(told["deadline"]).tzinfo is not None
    assert told["pid"] == shell.pid
    assert told["cwd"]
    assert told["waits_for"] == "a person"
    assert [each["pid"] for each in told["processes"][:2]] == [shell.pid, os.getpid()]
    holding.run("review", "block", review, "--note", "not today")
    _, error = shell.communicate(timeout=20)
    assert "not today" in error
    told = json.loads(holding.run(*show).out)
    decided = (told["state"], told["decided_by"], told["note"])
    assert decided == ("blocked", "person", "not today")


def test_the_event_of_a_decision_tells_whose_it_was(holding: Home) -> None:
    ended(holding, *ODD, decision=("allow", "--note", "fine"))
    event = holding.control.rows("/api/events")[-1]
    assert event["review"]
    assert (event["decided_by"], event["note"], event["votes"]) == (
        "person",
        "fine",
        [],
    )


def test_a_decision_for_the_same_again_needs_nobody(holding: Home) -> None:
    wide = ("allow", "--times", "2", "--for", "10m")
    assert ended(holding, *ODD, decision=wide) == 0
    assert holding.shell(*ODD).out == "odd\n"
    assert ended(holding, *ODD, decision=("block",)) == REFUSED


def test_a_block_for_the_same_again_needs_nobody(holding: Home) -> None:
    assert ended(holding, *ODD, decision=("block", "--for", "10m")) == REFUSED
    assert holding.shell(*ODD).code == REFUSED


def test_a_decision_is_for_no_other_directory(holding: Home) -> None:
    ended(holding, *ODD, decision=("allow", "--for", "10m"))
    elsewhere = holding.user / "elsewhere"
    elsewhere.mkdir()
    assert ended(holding, *ODD, decision=("block",), cwd=elsewhere) == REFUSED


def test_a_decision_is_for_no_other_variables(holding: Home) -> None:
    ended(holding, *ODD, decision=("allow", "--for", "10m"))
    holding.env["GIT_SSH_COMMAND"] = "evil"
    assert ended(holding, *ODD, decision=("block",)) == REFUSED


def test_a_decision_is_taken_back(holding: Home) -> None:
    shell, review = ask(holding, *ODD)
    holding.run("review", "allow", review, "--for", "10m")
    shell.communicate(timeout=20)
    assert holding.run("review", "revoke", review).code == 0
    assert ended(holding, *ODD, decision=("block",)) == REFUSED
    assert holding.run("review", "revoke", review).code == 1


FILES = {
    "a word": "cat {0}; echo odd",
    "an option": "grep -f{0} /dev/null; echo odd",
    "an assignment": "dd if={0} of=/dev/null; echo odd",
    "a file of data": "echo odd @{0}",
    "input": "cat < {0}; echo odd",
}


@pytest.mark.parametrize("command", FILES.values(), ids=FILES)
def test_a_decision_is_about_the_files_that_a_command_names(
    holding: Home, command: str
) -> None:
    note = holding.user / "files" / "note.txt"
    note.parent.mkdir()
    note.write_text("one\n", encoding="utf-8")
    words = ("-c", command.format(note))
    ended(holding, *words, decision=("allow", "--for", "10m"))
    holding.shell(*words)
    assert held(holding) == []
    note.write_text("two\n", encoding="utf-8")
    assert ended(holding, *words, decision=("block",)) == REFUSED


@pytest.mark.parametrize("place", ["", "other:"])
def test_a_decision_is_about_the_program_that_a_command_starts(
    holding: Home, place: str
) -> None:
    tools = holding.user / "other"
    tools.mkdir()
    program = (tools if place else holding.user) / "tool"
    shutil.copy("/bin/true", holding.user / "tool")
    holding.env["PATH"] = f"{place}{holding.user}:{os.environ['PATH']}"
    assert ended(holding, "-c", "tool odd", decision=("allow", "--for", "10m")) == 0
    program.unlink(missing_ok=True)
    shutil.copy("/bin/false", program)
    assert ended(holding, "-c", "tool odd", decision=("block",)) == REFUSED


GOES = {
    "where it is told": ("env -C sub ./x odd", "sub"),
    "within an option": ("env -Csub ./x odd", "sub"),
    "by a long option": ("env --chdir=sub ./x odd", "sub"),
    "from one to another": ("env -C a env -C b ./x odd", "a/b"),
    "in a shell in it": ("sh -c 'env -C sub ./x odd'", "sub"),
}


@pytest.mark.parametrize(("command", "place"), GOES.values(), ids=GOES)
def test_a_decision_is_about_the_files_of_where_a_command_goes(
    holding: Home, command: str, place: str
) -> None:
    program = holding.user / place / "x"
    program.parent.mkdir(parents=True)
    shutil.copy("/bin/true", program)
    assert ended(holding, "-c", command, decision=("allow", "--for", "10m")) == 0
    assert holding.shell("-c", command).code == 0
    program.unlink()
    shutil.copy("/bin/false", program)
    assert ended(holding, "-c", command, decision=("block",)) == REFUSED


OPEN = {
    "a variable": "$CMD odd",
    "a pattern": "cat *.txt; echo odd",
    "a substitution": "echo $(cat note) odd",
    "another path": "PATH=tools true odd",
}


@pytest.mark.parametrize("command", OPEN.values(), ids=OPEN)
def test_what_is_known_only_when_it_runs_is_decided_once(
    holding: Home, command: str
) -> None:
    shell, review = ask(holding, "-c", command)
    wide = holding.run("review", "allow", review, "--for", "10m")
    assert wide.code == 1
    assert "is decided once" in wide.err
    assert [each["id"] for each in held(holding)] == [review]
    assert holding.run("review", "block", review).code == 0
    shell.communicate(timeout=20)
