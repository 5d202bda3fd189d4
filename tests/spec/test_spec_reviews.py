"""The yellow lane: held, decided once, or timed out (policy format: Actions)."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from spec.cases import simple
from spec.redlane_home import REDLANE_SH, Home, wait_for

UPPER = {"type": "Regex", "pattern": "low", "replacement": "HIGH"}


def _start(home: Home, **review: object) -> Home:
    home.policies(
        {"id": "flag", **simple("Flag", "odd", suggestion="echo even")},
        {"id": "modify", **simple("Modify", "low", transform=UPPER)},
        {"id": "block", **simple("Block", "bad")},
    )
    home.role("agent", "flag", "modify", "block")
    home.settings(review=review)
    home.start("--role", "agent")
    return home


@pytest.fixture
def running(home: Home) -> Home:
    return _start(home, timeout_seconds=30)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


Asked = Future[dict[str, Any]]


def _ask(
    home: Home, pool: ThreadPoolExecutor, content: str = "odd", **more: object
) -> tuple[Asked, str]:
    """Ask for a verdict that is held, and the id of its review."""
    before = {each["id"] for each in _held(home)}
    asked = pool.submit(home.control.analyze, content, "Network", **more)
    new = wait_for(lambda: {each["id"] for each in _held(home)} - before)
    (review,) = new
    return asked, str(review)


def _held(home: Home) -> list[dict[str, Any]]:
    return home.control.rows("/api/reviews")


def _decide(home: Home, review: str, decision: str) -> int:
    path = f"/api/reviews/{review}"
    return home.control.post(path, {"decision": decision}).status


def test_an_allowed_flag_goes_on(running: Home, pool: ThreadPoolExecutor) -> None:
    asked, review = _ask(running, pool)

    assert not asked.done()
    assert _decide(running, review, "allow") == 200
    verdict = asked.result(20)
    assert (verdict["verdict"], verdict["lane"]) == ("ALLOW", "GREEN")
    assert verdict["policy"] == "flag"


def test_a_blocked_flag_is_a_block(running: Home, pool: ThreadPoolExecutor) -> None:
    asked, review = _ask(running, pool)

    assert _decide(running, review, "block") == 200
    verdict = asked.result(20)
    assert (verdict["verdict"], verdict["lane"]) == ("BLOCK", "RED")


def test_a_decision_takes_a_note(running: Home, pool: ThreadPoolExecutor) -> None:
    asked, review = _ask(running, pool)

    answer = running.control.post(
        f"/api/reviews/{review}", {"decision": "block", "note": "not on a Friday"}
    )

    assert answer.status == 200
    assert "not on a Friday" in asked.result(20)["reason"]


def test_nobody_decides_and_it_blocks(home: Home) -> None:
    _start(home, timeout_seconds=1)
    started = time.monotonic()

    verdict = home.control.analyze("odd", "Network")

    assert verdict["verdict"] == "BLOCK"
    assert time.monotonic() - started >= 1
    assert _held(home) == []


def test_nobody_decides_and_the_settings_allow(home: Home) -> None:
    _start(home, timeout_seconds=1, timeout_action="allow")
    started = time.monotonic()

    verdict = home.control.analyze("odd", "Network")

    assert verdict["verdict"] == "ALLOW"
    assert time.monotonic() - started >= 1


def test_hold_false_is_not_held(running: Home) -> None:
    verdict = running.control.analyze("odd", "Network", hold=False)

    assert (verdict["verdict"], verdict["lane"]) == ("FLAG", "YELLOW")
    assert _held(running) == []


def test_a_flag_on_a_syscall_is_only_a_notification(home: Home) -> None:
    home.policies({"id": "flag", **simple("Flag", "open", context="Syscall")})
    home.role("agent", "flag")
    home.start("--role", "agent")
    call = {"syscall": "open", "paths": ["/x"]}
    started = time.monotonic()

    verdict = home.control.analyze(call, "Syscall")

    assert verdict["verdict"] == "FLAG"
    assert time.monotonic() - started < 10
    assert _held(home) == []


@pytest.mark.parametrize(
    ("context", "content"),
    [
        ("Shell", "echo odd"),
        ("Network", "GET http://odd/ HTTP/1.1\n\n"),
        ("Inbound", "odd"),
        ("Mcp", {"server": "s", "tool": "t", "arguments": {"a": "odd"}}),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_a_flag_is_held_in_every_other_context(
    running: Home, pool: ThreadPoolExecutor, context: str, content: object
) -> None:
    asked = pool.submit(running.control.analyze, content, context)

    (review,) = wait_for(lambda: _held(running))

    assert not asked.done()
    _decide(running, str(review["id"]), "block")
    assert asked.result(20)["verdict"] == "BLOCK"


def test_a_block_is_not_held(running: Home) -> None:
    assert running.control.analyze("odd bad", "Network")["verdict"] == "BLOCK"


def test_a_decision_is_used_once(running: Home, pool: ThreadPoolExecutor) -> None:
    asked, review = _ask(running, pool)
    _decide(running, review, "allow")
    asked.result(20)

    again, second = _ask(running, pool)

    assert second != review
    assert not again.done()
    _decide(running, second, "block")
    assert again.result(20)["verdict"] == "BLOCK"


def test_a_decision_is_for_one_of_two_that_are_alike(
    running: Home, pool: ThreadPoolExecutor
) -> None:
    first, review = _ask(running, pool)
    second, other = _ask(running, pool)

    _decide(running, review, "allow")

    assert first.result(20)["verdict"] == "ALLOW"
    assert [each["id"] for each in _held(running)] == [other]
    assert not second.done()
    _decide(running, other, "block")
    assert second.result(20)["verdict"] == "BLOCK"


@pytest.mark.parametrize("decision", ["allow", "block"])
def test_what_is_decided_cannot_be_decided_again(
    running: Home, pool: ThreadPoolExecutor, decision: str
) -> None:
    asked, review = _ask(running, pool)
    _decide(running, review, "block")
    asked.result(20)

    assert 400 <= _decide(running, review, decision) < 500


def test_a_late_decision_changes_nothing(home: Home, pool: ThreadPoolExecutor) -> None:
    _start(home, timeout_seconds=1)
    asked, review = _ask(home, pool)
    assert asked.result(20)["verdict"] == "BLOCK"

    assert 400 <= _decide(home, review, "allow") < 500
    assert home.control.analyze("odd", "Network")["verdict"] == "BLOCK"


BAD: dict[str, Any] = {
    "empty": {},
    "unknown": {"decision": "maybe"},
    "case": {"decision": "ALLOW"},
    "boolean": {"decision": True},
    "null": {"decision": None},
    "array": ["allow"],
    "note-number": {"decision": "allow", "note": 1},
}


def test_a_bad_decision_decides_nothing(
    running: Home, pool: ThreadPoolExecutor
) -> None:
    asked, review = _ask(running, pool)

    statuses = {
        name: running.control.post(f"/api/reviews/{review}", body).status
        for name, body in BAD.items()
    }

    assert {
        name for name, status in statuses.items() if not 400 <= status < 500
    } == set()
    assert not asked.done()
    _decide(running, review, "block")
    asked.result(20)


def test_an_allowed_flag_keeps_the_rewrite(
    running: Home, pool: ThreadPoolExecutor
) -> None:
    asked, review = _ask(running, pool, "odd low")

    _decide(running, review, "allow")

    verdict = asked.result(20)
    assert (verdict["lane"], verdict["content"]) == ("GREEN", "odd HIGH")


# The command line.


def test_the_command_line_lists_and_shows(
    running: Home, pool: ThreadPoolExecutor
) -> None:
    asked, review = _ask(running, pool, "an odd thing")

    listed = running.run("review", "list")
    shown = running.run("review", "show", review)

    assert (listed.code, shown.code) == (0, 0)
    assert review in listed.out
    assert "an odd thing" in shown.out
    assert "flag" in shown.out
    running.run("review", "block", review)
    asked.result(20)


@pytest.mark.parametrize(
    ("verb", "verdict"),
    [("allow", "ALLOW"), ("block", "BLOCK")],
    ids=["allow", "block"],
)
def test_the_command_line_decides(
    running: Home, pool: ThreadPoolExecutor, verb: str, verdict: str
) -> None:
    asked, review = _ask(running, pool)

    assert running.run("review", verb, review).code == 0
    assert asked.result(20)["verdict"] == verdict


@pytest.mark.parametrize("verb", ["show", "allow", "block"])
def test_an_unknown_review_is_refused(running: Home, verb: str) -> None:
    assert "no-such-review" in running.run("review", verb, "no-such-review").refusal


def test_shown_content_cannot_paint_the_terminal(
    running: Home, pool: ThreadPoolExecutor
) -> None:
    asked, review = _ask(running, pool, "odd \x1b[2J\x1b]0;title\x07 \u202e end")

    said = running.run("review", "show", review).out + running.run("review", "list").out

    assert "\x1b" not in said
    assert "\x07" not in said
    running.run("review", "block", review)
    asked.result(20)


# Through the shell wrapper.


def test_a_held_command_runs_when_another_process_allows_it(running: Home) -> None:
    shell = running.spawn("-c", "echo odd thing; exit 5", program=REDLANE_SH)
    (review,) = wait_for(lambda: _held(running))
    assert shell.poll() is None

    running.run("review", "allow", str(review["id"]))

    out, _ = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (5, "odd thing\n")


def test_a_held_command_that_is_blocked_does_not_run(running: Home) -> None:
    canary = running.user / "canary"
    shell = running.spawn("-c", f"touch {canary}; echo odd", program=REDLANE_SH)
    (review,) = wait_for(lambda: _held(running))

    running.run("review", "block", str(review["id"]))

    out, err = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (126, "")
    assert err.startswith("redlane: ")
    assert not canary.exists()


def test_who_is_refused_a_held_command_reads_what_to_do_instead(running: Home) -> None:
    shell = running.spawn("-c", "echo odd", program=REDLANE_SH)
    (review,) = wait_for(lambda: _held(running))

    running.run("review", "block", str(review["id"]))

    _, err = shell.communicate(timeout=20)
    assert err.endswith("; instead: echo even\n")


def test_a_held_command_that_times_out_does_not_run(home: Home) -> None:
    _start(home, timeout_seconds=1)
    canary = home.user / "canary"

    ran = home.shell("-c", f"touch {canary}; echo odd")

    assert (ran.code, ran.out) == (126, "")
    assert not canary.exists()


def test_a_hold_may_be_longer_than_the_wrappers_own_timeout(home: Home) -> None:
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    home.settings(
        review={"timeout_seconds": 3, "timeout_action": "allow"},
        sevsh={"validation_timeout_seconds": 1},
    )
    home.start("--role", "agent")

    ran = home.shell("-c", "echo odd")

    assert (ran.code, ran.out) == (0, "odd\n")


def test_a_held_command_does_not_run_when_the_daemon_stops(running: Home) -> None:
    canary = running.user / "canary"
    shell = running.spawn("-c", f"touch {canary}; echo odd", program=REDLANE_SH)
    wait_for(lambda: _held(running))

    assert running.run("stop").code == 0

    shell.communicate(timeout=20)
    assert shell.returncode == 126
    assert not canary.exists()


def test_a_held_command_that_is_ended_does_not_run(running: Home) -> None:
    canary = running.user / "canary"
    shell = running.spawn("-c", f"touch {canary}; echo odd", program=REDLANE_SH)
    (review,) = wait_for(lambda: _held(running))

    shell.terminate()
    shell.communicate(timeout=20)
    running.run("review", "allow", str(review["id"]))

    assert shell.returncode != 0
    assert not canary.exists()


def test_a_held_and_rewritten_command_runs_as_rewritten(running: Home) -> None:
    shell = running.spawn("-c", "echo odd low", program=REDLANE_SH)
    (review,) = wait_for(lambda: _held(running))

    running.run("review", "allow", str(review["id"]))

    out, _ = shell.communicate(timeout=20)
    assert (shell.returncode, out) == (0, "odd HIGH\n")
