"""Executable: the command's exit code answers; what cannot be asked is a Block."""

import time
from pathlib import Path

import pytest
from spec.cases import Case, Judge, executable, simple
from spec.redlane_home import Home


def _matches(name: str, command: str, content: str = "content") -> Case:
    return Case(name, (executable("Flag", command),), content, "FLAG", 0)


def _passes(name: str, command: str, content: str = "content") -> Case:
    return Case(name, (executable("Block", command),), content, "ALLOW", None)


def _fails(name: str, command: str, action: str, content: str = "content") -> Case:
    fields = (
        {"transform": {"type": "Regex", "pattern": "a", "replacement": "b"}}
        if action == "Modify"
        else {}
    )
    policy = executable(action, command, **fields)
    return Case(f"{name}-{action.lower()}", (policy,), content, "BLOCK", 0)


ACTIONS = ("Block", "Flag", "Allow", "Modify")

CASES = (
    _matches("exit-0-matches", "true"),
    _passes("exit-1-does-not", "false"),
    _passes("exit-2-does-not", "sh -c 'exit 2'"),
    _passes("exit-126-does-not", "sh -c 'exit 126'"),
    _passes("exit-127-does-not", "sh -c 'exit 127'"),
    _passes("exit-255-does-not", "sh -c 'exit 255'"),
    _passes("exit-137-is-an-exit-code", "sh -c 'exit 137'"),
    _matches("content-comes-on-stdin", "grep -q secret", "a secret"),
    _passes("content-on-stdin-decides", "grep -q secret", "nothing"),
    _matches("no-newline-is-added", "sh -c 'test $(wc -c) -eq 3'", "abc"),
    _matches("empty-content", "sh -c 'test $(wc -c) -eq 0'", ""),
    _matches("nul-is-passed-on", "sh -c 'test $(wc -c) -eq 3'", "a\0b"),
    _matches("unread-stdin-is-no-failure", "true", "x" * 90_000),
    _passes("unread-stdin-exit-1", "false", "x" * 90_000),
    _matches("stdin-cut-short-exit-0", "sh -c 'head -c 1 >&2; exit 0'", "x" * 90_000),
    _passes("stdin-cut-short-exit-3", "sh -c 'head -c 1 >&2; exit 3'", "x" * 90_000),
    _matches("stdin-closed-at-once", "sh -c 'exec 0<&-; exit 0'", "x" * 90_000),
    _matches("output-is-ignored", "sh -c 'echo BLOCK; echo no >&2'"),
    _matches("large-output-does-not-hang", "sh -c 'head -c 300000 /dev/zero'"),
    _matches("a-left-over-child-does-not-hang", "sh -c 'sleep 50 & exit 0'"),
    # Words are split as a POSIX shell does, and no shell runs.
    _matches("single-quotes", "grep -q 'a b'", "xa bx"),
    _matches("double-quotes", 'grep -q "a b"', "xa bx"),
    _matches("backslash-space", r"grep -q a\ b", "xa bx"),
    _matches("joined-quotes", "grep -q 'a'\" b\"", "xa bx"),
    _matches("escaped-quote-in-double-quotes", r'grep -q "\"x\""', 'say "x"'),
    _matches("empty-word-is-a-word", "grep -q ''", "x"),
    _matches("several-spaces-split-once", "test   a   =   a"),
    _matches("dollar-is-literal", "grep -q $HOME", "it is $HOME"),
    _passes("dollar-is-not-expanded", "test $HOME = ''"),
    _matches("star-is-not-expanded", "test /* = /*"),
    _matches("tilde-is-not-expanded", "test ~ = '~'"),
    _matches("quoted-pipe-is-a-word", "test '|' = '|'"),
    _matches("sh-c-runs-a-pipeline", "sh -c 'cat | grep -q secret'", "secret"),
    # What cannot be asked forces Block, whatever the action.
    *(_fails("missing-binary", "/nonexistent/checker", each) for each in ACTIONS),
    *(_fails("not-on-path", "no-such-checker-anywhere", each) for each in ACTIONS),
    *(_fails("killed", "sh -c 'kill -9 $$'", each) for each in ACTIONS),
    _fails("terminated", "sh -c 'kill -TERM $$'", "Flag"),
    _fails("aborted", "sh -c 'kill -ABRT $$'", "Allow"),
    _fails("not-executable", "/etc/passwd", "Flag"),
    _fails("a-directory", "/etc", "Flag"),
    _fails("killed-though-content-is-cut", "sh -c 'kill -9 $$'", "Flag", "x" * 90_000),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_executable_answers_by_exit_code(judge: Judge, case: Case) -> None:
    case.check(judge(case))


@pytest.mark.parametrize("action", ["Flag", "Allow"])
def test_no_exit_within_five_seconds_forces_block(home: Home, action: str) -> None:
    home.policies({"id": "slow", **executable(action, "sleep 20")})
    home.role("agent", "slow")
    started = time.monotonic()

    verdict = home.verdict("x", "agent", "Network")

    assert (verdict["verdict"], verdict["policy"]) == ("BLOCK", "slow")
    assert time.monotonic() - started > 4.5


HANGS = {
    "checker": executable("Flag", "sleep 60"),
    "transform": {
        **simple("Modify", "echo"),
        "transform": {"type": "Executable", "command": "sleep 60"},
    },
}


@pytest.mark.parametrize("policy", HANGS.values(), ids=HANGS)
def test_who_asks_is_told_which_policy_took_too_long(
    home: Home, policy: dict[str, object]
) -> None:
    home.policies({"id": "hangs", **policy})
    home.role("agent", "hangs")
    home.settings(sevsh={"validation_timeout_seconds": 0.5})
    home.start("--role", "agent")

    ran = home.shell("-c", "echo ran")

    assert (ran.code, ran.out) == (126, "")
    assert "policy 'hangs' could not" in ran.refusal
    assert "did not exit within 0." in ran.refusal


def test_a_checker_that_ignores_sigterm_is_still_ended(home: Home) -> None:
    home.policies({"id": "p", **executable("Flag", "sh -c 'trap \"\" TERM; sleep 20'")})
    home.role("agent", "p")

    assert home.verdict("x", "agent", "Network")["verdict"] == "BLOCK"


def test_content_is_passed_on_byte_for_byte(home: Home, tmp_path: Path) -> None:
    content = b"\x00\xff\xc3 text \r\n"
    expected = tmp_path / "expected"
    expected.write_bytes(content)
    home.policies({"id": "p", **executable("Flag", f"cmp -s - '{expected}'")})
    home.role("agent", "p")

    assert home.verdict(content, "agent", "Network")["verdict"] == "FLAG"


def test_a_script_without_interpreter_line_forces_block(
    home: Home, tmp_path: Path
) -> None:
    script = tmp_path / "script"
    script.write_text("exit 1\n")
    script.chmod(0o755)
    home.policies({"id": "p", **executable("Flag", str(script))})
    home.role("agent", "p")

    assert home.verdict("x", "agent", "Network")["verdict"] == "BLOCK"


def test_unrelated_policies_run_no_checker(home: Home, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    home.policies(
        {"id": "other", **executable("Block", f"touch '{canary}'")},
        {"id": "p", **simple("Block", "x")},
    )
    home.role("agent", "p")

    assert home.verdict("x", "agent", "Network")["policy"] == "p"
    assert not canary.exists()
