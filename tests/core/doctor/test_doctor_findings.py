"""What an attempt's traces mean, and what all of them together come to."""

import errno
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from redlane.contexts.syscall.surroundings import Surroundings
from redlane.doctor.commands import judge_command
from redlane.doctor.elsewhere import file_elsewhere, hidden_place
from redlane.doctor.findings import (
    Examination,
    Finding,
    Result,
    held,
    left_open,
    untried,
)
from redlane.doctor.held_calls import held_calls
from redlane.doctor.judged import confirmed
from redlane.doctor.neighbours import landlock_mend
from redlane.doctor.network import HTTP, HTTPS
from redlane.doctor.targets import Targets
from redlane.doctor.terminal import judge_typing

TOKEN = "redlane-doctor-0"
TARGETS = Targets(TOKEN, 1, 2, "socket", 3, "/shell", "/own", named=["open"])

COMMANDS_ENDED = {
    "by a policy": (
        *(126, "", "redlane: blocked: policy 'builtin:x' blocks this: why\n"),
        *(Result.HELD, "builtin:x"),
    ),
    "by nobody to ask": (
        *(126, "", "redlane: the daemon does not run; not run\n"),
        *(Result.HELD, "the daemon does not run"),
    ),
    "ran": (0, f"{TOKEN}\n", "", Result.OPEN, "ran"),
    "ran, and failed": (126, f"{TOKEN}\n", "redlane: x\n", Result.OPEN, "ran"),
    "not executable": (126, "", "sh: permission denied\n", Result.NOT_TRIED, "denied"),
    "ended by itself": (1, "", "", Result.NOT_TRIED, "ended with 1"),
}


@pytest.mark.parametrize(
    ("code", "out", "err", "result", "says"),
    COMMANDS_ENDED.values(),
    ids=COMMANDS_ENDED,
)
def test_only_our_own_refusal_is_held(
    code: int, out: str, err: str, result: Result, says: str
) -> None:
    words = ["sh", "-c", f"unset REDLANE_SESSION; echo {TOKEN}"]
    done = subprocess.CompletedProcess(words, code, out, err)
    found = judge_command("shell", words, done)
    assert (found.result, says in found.detail) == (result, True), found


REQUESTS = {
    "judged": (HTTP, f"GET http://127.0.0.1:1/{TOKEN} HTTP/1.1\nx: y", Result.HELD),
    "another's": (HTTP, "GET http://127.0.0.1:1/other HTTP/1.1\n", Result.OPEN),
    "of another scheme": (HTTPS, f"GET http://h/{TOKEN} HTTP/1.1\n", Result.OPEN),
    "in a header": (HTTP, f"GET http://h/ HTTP/1.1\nx: {TOKEN}\n", Result.OPEN),
    "of another boundary": ("x", f"GET http://h/{TOKEN} HTTP/1.1\n", Result.OPEN),
}


@pytest.mark.parametrize(("name", "content", "result"), REQUESTS.values(), ids=REQUESTS)
def test_request_is_held_by_its_event(name: str, content: str, result: Result) -> None:
    event = {"content": content, "verdict": "ALLOW"}
    found = confirmed(left_open(name, "answered", "none"), TOKEN, [event])
    assert found.result is result


def calls(*coverage: tuple[str, str], problem: str | None = None) -> dict[str, Any]:
    rows = [
        {"syscall": name, "enforcement": how, "by": "", "reason": "no kernel"}
        for name, how in coverage
    ]
    named = [name for name, _ in coverage] or ["open"]
    return {"named": named, "writable": None, "problem": problem, "coverage": rows}


CALLS = {
    "none": ({**calls(), "named": []}, Result.NOT_TRIED, "name none"),
    "held": (
        *(calls(("open", "exact"), ("connect", "advisory")), Result.HELD),
        "1 exact, 1 advisory",
    ),
    "one is not": (
        *(calls(("open", "exact"), ("stat", "not available")), Result.OPEN),
        "stat: no kernel",
    ),
    "untold": (calls(), Result.OPEN, "nothing is told"),
    "blocked": (calls(problem="reload"), Result.HELD, "everything is blocked: reload"),
}


@pytest.mark.parametrize(("shown", "result", "says"), CALLS.values(), ids=CALLS)
def test_system_calls_are_as_their_session_tells(
    shown: dict[str, Any], result: Result, says: str
) -> None:
    found = held_calls(shown)
    assert (found.result, says in found.detail) == (result, True), found


TYPED = {
    "nothing stops it": (0, Result.OPEN),
    "filter": (errno.EACCES, Result.HELD),
    "kernel": (errno.EIO, Result.HELD),
    "killed": (-1, Result.NOT_TRIED),
    "no terminal": (errno.ENOTTY, Result.NOT_TRIED),
}


@pytest.mark.parametrize(("number", "result"), TYPED.values(), ids=TYPED)
def test_only_a_refusal_to_type_is_held(number: int, result: Result) -> None:
    assert judge_typing(number).result is result


@pytest.mark.parametrize(
    ("version", "says"), [(0, "missing"), (1, "needs Linux 6.12"), (6, "root")]
)
def test_mend_is_what_the_kernel_lacks(version: int, says: str) -> None:
    assert says in landlock_mend(version)


ROWS = {
    "all held": ([held("a", "")], True),
    "one open": ([held("a", ""), left_open("b", "", "mend")], False),
    "open by the role": ([left_open("b", "", "mend", by_role=True)], True),
    "not tried": ([untried("c", "why")], True),
}


@pytest.mark.parametrize(("rows", "sound"), ROWS.values(), ids=ROWS)
def test_only_what_should_be_held_is_a_fault(rows: list[Finding], sound: bool) -> None:  # noqa: FBT001  # a row
    assert Examination("role", rows).is_sound is sound


def test_what_goes_over_the_pipe_comes_back() -> None:
    line = TARGETS.line()
    assert line.endswith("\n")
    assert Targets.of(line) == TARGETS
    finding = left_open("a", "b\n", "c", by_role=True)
    assert Finding.of(json.loads(json.dumps(finding.document()))) == finding


@pytest.mark.parametrize(
    ("entries", "expected"),
    [(["/"], None), (["/", "!~/"], "home"), ([], "home")],
    ids=["everywhere", "kept", "nowhere"],
)
def test_file_elsewhere_is_where_the_role_has_none(
    entries: list[str], expected: str | None, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    found = file_elsewhere(entries, Surroundings(str(home), str(tmp_path)), "new")
    assert found == (expected and f"{home}/new")
    assert not list(home.iterdir())


def test_hidden_place_is_one_that_is_there(tmp_path: Path) -> None:
    around = Surroundings(str(tmp_path), str(tmp_path))
    assert hidden_place(["~/none", "@keys"], around) is None
    (tmp_path / ".gnupg").mkdir()
    assert hidden_place(["~/none", "@keys"], around) == f"{tmp_path}/.gnupg"
