"""Executable: exit status 0 matches, another does not, and the rest has FAILED."""

from pathlib import Path

import pytest

from redlane.api import Action, Answer, Context, Outcome, Policy, Reader, Severity
from redlane.model.content import TextContent
from redlane_match_executable import ExecutableType, redlane_match_types

CONTENT = TextContent(Context.SHELL, b"content")


def policy(pattern: str | None, order: int = 0) -> Policy:
    return Policy(f"p{order}", "Executable", Action.BLOCK, order=order, pattern=pattern)


def ask(
    *patterns: str, views: tuple[bytes, ...] = (b"content",), before: int = 1000
) -> list[Answer]:
    policies = [policy(each, order) for order, each in enumerate(patterns)]
    matcher = ExecutableType().compile(policies)
    return list(matcher.answers(CONTENT, views, before))


def test_plugin_offers_one_type_that_reads_whole_commands_in_every_context() -> None:
    (offered,) = redlane_match_types()
    assert offered.name == "Executable"
    assert offered.contexts == frozenset(Context)
    assert offered.reader is Reader.CHECKER
    assert not offered.ignores_action
    assert not offered.fields


def test_exit_status_zero_matches_and_another_does_not() -> None:
    answers = ask("true", "false", "sh -c 'exit 127'", "grep -q tent")
    assert answers == [Answer(0, Outcome.YES), Answer(3, Outcome.YES)]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("no-such-program -x", "'no-such-program' could not be started: No such file"),
        ("/etc", "'/etc' could not be started: Permission denied"),
        ("sh -c 'kill -9 $$'", "'sh' was killed by SIGKILL"),
    ],
)
def test_what_is_no_exit_status_has_failed(pattern: str, reason: str) -> None:
    (answer,) = ask(pattern)
    assert answer.outcome is Outcome.FAILED
    assert answer.reason.startswith(reason)


def test_checker_that_hangs_has_failed_and_holds_nobody_up() -> None:
    hanging, matching = ask("sleep 60", "true")
    assert hanging.reason == "'sleep' did not exit within 5 seconds"
    assert matching == Answer(1, Outcome.YES)


def test_orders_that_change_nothing_are_not_asked(tmp_path: Path) -> None:
    touch = [f"touch {tmp_path}/{order}" for order in range(4)]
    assert [each.order for each in ask(*touch, before=2)] == [0, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}
    assert ask(*touch, before=0) == []


def test_answers_come_lowest_order_first() -> None:
    policies = [policy("true", order) for order in (5, 2, 9)]
    answers = ExecutableType().compile(policies).answers(CONTENT, (b"",), 1000)
    assert [each.order for each in answers] == [2, 5, 9]


def test_any_view_that_matches_is_a_match() -> None:
    pattern = "grep -q needle"
    assert ask(pattern, views=(b"hay", b"needle")) == [Answer(0, Outcome.YES)]
    assert ask(pattern, views=(b"hay", b"straw")) == []
    assert ask(pattern, views=()) == []


def test_a_view_that_fails_outweighs_one_that_matches() -> None:
    pattern = "sh -c 'grep -q bad && kill -9 $$; exit 0'"
    for views in ((b"good", b"bad"), (b"bad", b"good")):
        (answer,) = ask(pattern, views=views)
        assert answer.outcome is Outcome.FAILED


def test_a_text_that_is_shown_twice_is_checked_once(tmp_path: Path) -> None:
    ask(f"sh -c 'echo run >>{tmp_path}/log'", views=(b"same", b"same"))
    assert (tmp_path / "log").read_text() == "run\n"


def test_content_goes_in_as_it_came() -> None:
    raw = bytes(range(256)) * 40
    assert ask("sh -c 'test $(wc -c) -eq 10240'", views=(raw,))


@pytest.mark.parametrize(
    ("pattern", "severities", "named"),
    [
        (None, [Severity.ERROR], "missing"),
        ("", [Severity.ERROR], "empty"),
        ("  ", [Severity.ERROR], "empty"),
        ("grep 'x", [Severity.ERROR], "single quote"),
        ("cat | grep x", [Severity.WARNING], "sh -c"),
        ("no-such-program", [Severity.WARNING], "no-such-program"),
        ("grep -q x", [], ""),
    ],
)
def test_problems_are_told_at_load(
    pattern: str | None, severities: list[Severity], named: str
) -> None:
    problems = list(ExecutableType().problems(policy(pattern)))
    assert [each.severity for each in problems] == severities
    assert all(named in each.message for each in problems)
