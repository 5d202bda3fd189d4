"""What a command is told of its refused calls: a line a rule, bounded and harmless."""

import pytest

from redlane.api import Ruling, SystemCall
from redlane_context_syscall.refusals import Refusals

REASON = "policy 'hidden' blocks this: keys are not for agents"
SECRET = Ruling(allowed=False, policy="hidden", reason=REASON)


def lines(*calls: tuple[SystemCall, Ruling]) -> list[str]:
    refusals = Refusals("/home/a")
    for call, ruling in calls:
        refusals.add(call, ruling)
    return [each.decode() for each in refusals.lines()]


def call(name: str, *paths: str | None, changed: tuple[str, ...] = ()) -> SystemCall:
    return SystemCall(name, paths, {}, changed)


def test_rule_has_one_line_that_counts_its_calls() -> None:
    key = call("open", "key", "/home/a/.ssh/key")
    (line,) = lines((key, SECRET), (key, SECRET), (call("unlink", "/k"), SECRET))
    assert line == (
        "redlane: refused 3 calls of this command: open ~/.ssh/key, unlink /k "
        "(hidden): keys are not for agents\n"
    )


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (call("open", "x", "/home/a"), "open ~"),
        (call("open", "x", "/home/ab"), "open /home/ab"),
        (call("open", "x", None), "open x"),
        (call("open", None), "open"),
        (call("kill"), "kill"),
        (call("rename", "a", "b", changed=("/w/a", "/w/b")), "rename /w/a to /w/b"),
    ],
)
def test_call_is_told_by_its_true_path(made: SystemCall, told: str) -> None:
    (line,) = lines((made, SECRET))
    assert line.startswith(f"redlane: refused 1 call of this command: {told} (hidden)")


def test_rule_without_a_name_is_told_by_its_reason() -> None:
    ruling = Ruling(allowed=False, reason="the session is frozen")
    (line,) = lines((call("open", "/x"), ruling))
    assert line == (
        "redlane: refused 1 call of this command: open /x: the session is frozen\n"
    )


def test_no_terminal_control_comes_through() -> None:
    path = "/\x1b[2J\n\u202e\udcff" + "\x9b" * 300
    (line,) = lines((call("open", path), SECRET))
    assert line.count("\n") == 1
    assert line[:-1].isprintable()
    assert "\\x1b[2J\\x0a\\xe2\\x80\\xae\\xff" in line


def test_paths_are_shown_up_to_three() -> None:
    many = [(call("open", f"/{number}"), SECRET) for number in range(1000)]
    (line,) = lines(*many)
    assert "1000 calls" in line
    assert "open /0, open /1, open /2 and others (hidden)" in line


def test_rules_are_told_up_to_eight_and_the_rest_counted() -> None:
    many = [
        (call("open", "/x"), Ruling(allowed=False, policy=f"rule-{number}"))
        for number in range(1000)
    ]
    told = lines(*many)
    assert len(told) == 9
    assert told[-1] == "redlane: … and 992 calls by other rules\n"


def test_no_line_is_longer_than_a_pipe_takes_at_once() -> None:
    long = Ruling(allowed=False, policy="\x1b" * 9000, reason="\x1b" * 9000)
    many = [(call("open", f"/{n}" + "\x1b" * 9000), long) for n in range(9)]
    assert all(len(each.encode()) <= 4096 for each in lines(*many))
