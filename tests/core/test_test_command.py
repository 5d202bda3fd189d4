"""`redlane test`, and what `redlane config check` says of the same tests."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, regex, simple
from preloaded import run_preloaded

from redlane.cli.main import main

SCRIPT = Path(sys.executable).with_name("redlane")
Output = pytest.CaptureFixture[str]
GOOD = simple("good", "rm", tests={"match": ["rm"], "not_match": ["ls"]})
BAD = simple("bad", "rm", tests={"match": ["ls"], "not_match": ["rm"]})
WRONG = simple("wrong", "rm", tests={"match": "rm"})
BARE = simple("bare", "x")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PolicyHome:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("REDLANE_HOME", "REDLANE_SOCKET", "XDG_RUNTIME_DIR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return PolicyHome(tmp_path)


def ran(capsys: Output, *words: str) -> tuple[int, list[str], list[str]]:
    """The exit status of `redlane test`, and the lines that it prints."""
    code = main(["test", *words])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err.splitlines()


def told(capsys: Output, *words: str) -> tuple[int, Any]:
    code = main(["test", "--json", *words])
    out, err = capsys.readouterr()
    assert err == ""
    return code, json.loads(out)


def checked(capsys: Output) -> tuple[int, list[str]]:
    code = main(["config", "check"])
    return code, capsys.readouterr().out.splitlines()


def marking(path: Path, **fields: Any) -> dict[str, Any]:
    """A checker that matches everything, and leaves a file where it ran."""
    return {**simple("mark", f"/usr/bin/touch {path}"), "type": "Executable", **fields}


def verdict(content: str, decision: str, role: str = "dev") -> dict[str, Any]:
    return {"role": role, "content": content, "verdict": decision}


@pytest.mark.usefixtures("home")
def test_nothing_to_test_is_exit_0(capsys: Output) -> None:
    assert ran(capsys) == (0, [], ["redlane: 0 tests, 0 failed"])


def test_what_passes_is_exit_0_and_counted(home: PolicyHome, capsys: Output) -> None:
    home.policies(GOOD, BARE)
    assert ran(capsys) == (0, [], ["redlane: 2 tests, 0 failed"])


def test_what_fails_is_exit_1_and_a_line_each(home: PolicyHome, capsys: Output) -> None:
    file = home.policies(GOOD, BAD)
    assert ran(capsys) == (
        1,
        [
            f"failed: {file}: bad: it must match (Shell): ls: it does not match",
            f"failed: {file}: bad: it must not match (Shell): rm: it matches",
        ],
        ["redlane: 4 tests, 2 failed"],
    )


def test_a_wrong_verdict_names_role_and_verdict(
    home: PolicyHome, capsys: Output
) -> None:
    file = home.policies(simple("p", "rm", tests={"verdicts": [verdict("rm", "FLAG")]}))
    home.role("dev", "p")
    says = "dev says BLOCK: policy 'p' blocks this"
    line = f"failed: {file}: p: dev must say FLAG (Shell): rm: {says}"
    assert ran(capsys)[:2] == (1, [line])


def test_what_is_no_test_is_exit_1_and_a_line(home: PolicyHome, capsys: Output) -> None:
    file = home.policies(GOOD, WRONG)
    says = "`tests`: `match` must be a list, not 'rm'"
    assert ran(capsys) == (
        1,
        [f"failed: {file}: wrong: {says}"],
        ["redlane: 2 tests, 1 failed"],
    )


NAMED: dict[str, tuple[tuple[str, ...], int, int]] = {
    "good alone": (("good",), 0, 2),
    "bad alone": (("bad",), 1, 2),
    "both": (("good", "bad"), 1, 4),
    "one twice": (("good", "good"), 0, 2),
    "one without tests": (("bare",), 0, 0),
    "malformed": (("wrong",), 1, 0),
}


@pytest.mark.parametrize(("names", "code", "count"), NAMED.values(), ids=NAMED)
def test_named_policies_alone_count(
    home: PolicyHome, capsys: Output, names: tuple[str, ...], code: int, count: int
) -> None:
    home.policies(GOOD, BAD, WRONG, BARE)
    done, found = told(capsys, *names)
    assert (done, found["tests"]) == (code, count)


def test_programs_of_policies_that_are_not_named_are_not_started(
    home: PolicyHome, capsys: Output, tmp_path: Path
) -> None:
    home.policies(GOOD, marking(tmp_path / "made", tests={"match": ["x"]}))
    assert ran(capsys, "good")[0] == 0
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("words", [("gone",), ("good", "gone"), ("gone", "--json")])
def test_an_unknown_policy_is_exit_2(
    home: PolicyHome, capsys: Output, words: tuple[str, ...]
) -> None:
    home.policies(GOOD)
    message = ["redlane: there is no policy 'gone'"]
    assert ran(capsys, *words) == (2, [], message)


def test_a_policy_that_does_not_load_may_be_named(
    home: PolicyHome, capsys: Output
) -> None:
    home.policies(GOOD, regex("broken", "(", tests={"match": ["("]}))
    code, (line,), _ = ran(capsys, "broken")
    assert code == 1
    assert line.endswith(": broken: it must match (Shell): (: the policy does not load")


NOT_WHOLE: dict[str, tuple[str, Any]] = {
    "no JSON": ("policies/z.json", b"{"),
    "broken policy": ("policies/z.json", regex("z", "(")),
    "broken role": ("roles/z.json", {"name": "z", "policies": ["nowhere"]}),
    "broken settings": ("settings.json", b"["),
}


@pytest.mark.parametrize(("file", "value"), NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_a_home_that_does_not_load_is_tested_as_far_as_it_does(
    home: PolicyHome, capsys: Output, file: str, value: Any
) -> None:
    home.policies(BAD)
    home.write(file, value)
    code, lines, notes = ran(capsys)
    assert (code, len(lines)) == (1, 2)
    assert notes == [
        "redlane: 2 tests, 2 failed",
        "redlane: not all that is here loads: redlane config check",
    ]


def test_coverage_names_what_no_test_reaches(home: PolicyHome, capsys: Output) -> None:
    reached = simple("by-role", "z")
    tests = {"verdicts": [verdict("z", "BLOCK")], "match": ["q"]}
    home.policies(GOOD, BAD, BARE, reached, simple("q", "q", tests=tests))
    home.role("dev", "by-role", "q")
    code, lines, (note,) = ran(capsys, "--coverage")
    assert code == 1
    assert lines[2:] == ["no test reaches bad", "no test reaches bare"]
    assert note == ("redlane: 6 tests, 2 failed, 2 policies that no test reaches")


def test_what_is_not_covered_is_no_failure(home: PolicyHome, capsys: Output) -> None:
    home.policies(GOOD, BARE)
    assert ran(capsys, "--coverage")[:2] == (0, ["no test reaches bare"])


def test_coverage_of_named_policies_counts_the_tests_of_all(
    home: PolicyHome, capsys: Output
) -> None:
    tests = {"verdicts": [verdict("x", "BLOCK")]}
    home.policies(BARE, simple("other", "o", tests=tests), simple("third", "t"))
    home.role("dev", "bare", "other")
    assert ran(capsys, "bare", "--coverage")[:2] == (0, [])


def test_mutate_names_what_no_test_notices(home: PolicyHome, capsys: Output) -> None:
    home.policies(regex("p", "rm|mv", tests={"match": ["rm"]}))
    home.role("dev", "p")
    assert ran(capsys, "--mutate") == (
        0,
        [
            "no test notices p with Flag in place of Block",
            "no test notices p without the alternative 'mv'",
            "no test notices p without it in the role dev",
        ],
        ["redlane: 1 test, 0 failed, 2 of 5 mutants noticed"],
    )


def test_named_policies_alone_are_mutated(home: PolicyHome, capsys: Output) -> None:
    home.policies(GOOD, BARE)
    lines = ran(capsys, "good", "--mutate")[1]
    assert lines == ["no test notices good with Flag in place of Block"]


def test_json_has_all_of_it(home: PolicyHome, capsys: Output) -> None:
    tests = {
        "match": [{"content": {"server": "s", "tool": "t"}, "context": "Mcp"}],
        "verdicts": [verdict("x", "BLOCK"), verdict("x", "BLOCK", "gone")],
    }
    home.role("dev", "p")
    file = str(home.policies(WRONG, simple("p", "zz", tests=tests)))
    code, found = told(capsys, "--coverage", "--mutate")
    assert code == 1
    match, role = found.pop("failed")
    common = {"file": file, "policy": "p"}
    assert match == {
        **common,
        "context": "Mcp",
        "content": '{"server": "s", "tool": "t"}',
        "match": True,
        "role": None,
        "verdict": None,
        "reason": "it does not match",
    }
    assert role == {
        **common,
        "context": "Shell",
        "content": "x",
        "match": None,
        "role": "dev",
        "verdict": "BLOCK",
        "reason": "dev says ALLOW: no policy of the role matches this",
    }
    (malformed,) = found.pop("malformed")
    assert set(malformed) == {"file", "policy", "problem"}
    assert (malformed["file"], malformed["policy"]) == (file, "wrong")
    mutation = "Flag in place of Block"
    one = {"policy": "wrong", "role": None, "mutation": mutation}
    assert found.pop("unnoticed")[0] == one
    counts = (found["tests"], found["uncovered"], found["mutants"], found["left_out"])
    assert counts == (2, ["wrong", "p"], 5, 1)


def test_json_has_no_more_than_was_asked_for(home: PolicyHome, capsys: Output) -> None:
    home.policies(GOOD)
    plain = {"tests": 2, "failed": [], "malformed": [], "left_out": 0}
    assert told(capsys) == (0, plain)


HOSTILE = {
    "line break": "a\nfailed: forged",
    "carriage return": "a\rredlane: 0 tests",
    "escape": "a\x1b[31mred",
    "right to left": "a\u202eb",
    "line separator": "a\u2028b",
    "invisible": "a\u200bb",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_what_is_not_seen_is_written_out(
    home: PolicyHome, capsys: Output, text: str
) -> None:
    verdicts = [verdict("x", "FLAG", text), verdict("x", "FLAG", "dev")]
    tests = {"match": [text], "verdicts": verdicts}
    home.policies(
        simple(text, f"never{text}", reason=text, tests=tests),
        simple(f"w{text}", "x", tests={text: 1}),
        regex("r", f"x|{text}", reason=text, tests={"not_match": ["x"]}),
    )
    home.role("dev", "r")
    code, lines, notes = ran(capsys, "--coverage", "--mutate")
    assert code == 1
    assert len(lines) >= 5
    for line in (*lines, *notes):
        assert line.isprintable()
        assert "\u200b" not in line
        assert line.startswith(("failed: ", "no test ", "redlane: "))
        assert not line.startswith(("failed: forged", "redlane: 0 tests"))
    assert "⟨U+" in lines[0]


def test_an_unknown_policy_cannot_forge_a_line(
    home: PolicyHome, capsys: Output
) -> None:
    home.policies(GOOD)
    code, lines, notes = ran(capsys, "a\nredlane: forged")
    assert (code, lines, len(notes)) == (2, [], 1)


def test_a_long_content_is_cut_short(home: PolicyHome, capsys: Output) -> None:
    home.policies(simple("p", "rm", tests={"match": ["x" * 5000]}))
    (line,) = ran(capsys)[1]
    assert "x" * 80 + "…" in line
    assert "x" * 81 not in line


def test_checkers_are_run(home: PolicyHome, capsys: Output, tmp_path: Path) -> None:
    home.policies(marking(tmp_path / "made", tests={"match": ["x"]}))
    assert ran(capsys)[0] == 0
    assert (tmp_path / "made").exists()


def test_the_console_script_tests(home: PolicyHome) -> None:
    home.policies(GOOD, BAD)
    environment = {"HOME": str(home.root), "PATH": os.environ["PATH"]}
    for words, wanted in ((("good",), 0), ((), 1), (("gone",), 2)):
        whole = (str(SCRIPT), "test", *words)
        code, _, error = run_preloaded(whole, b"", environment, home.root, 60.0)
        assert code == wanted
        assert b"Traceback" not in error


def test_config_check_has_an_error_for_each_policy_of_which_a_test_fails(
    home: PolicyHome, capsys: Output
) -> None:
    file = home.policies(GOOD, BAD)
    code, (line,) = checked(capsys)
    assert code == 1
    assert line.startswith(f"error: {file}: bad: a test fails, see redlane test: ")


def test_config_check_runs_the_verdicts_of_roles(
    home: PolicyHome, capsys: Output
) -> None:
    file = home.policies(simple("p", "rm", tests={"verdicts": [verdict("rm", "FLAG")]}))
    home.role("dev", "p")
    code, (line,) = checked(capsys)
    assert code == 0
    assert line.startswith(f"warning: {file}: p: a test fails, see redlane test: ")
    assert "dev says BLOCK" in line


def test_config_check_warns_of_what_is_no_test(
    home: PolicyHome, capsys: Output
) -> None:
    file = home.policies(GOOD, WRONG)
    says = "`tests`: `match` must be a list, not 'rm'"
    assert checked(capsys) == (0, [f"warning: {file}: wrong: {says}"])


def test_config_check_tells_once_of_what_does_not_load(
    home: PolicyHome, capsys: Output
) -> None:
    home.policies(regex("p", "(", tests={"match": ["("]}))
    code, lines = checked(capsys)
    assert (code, len(lines)) == (1, 1)
    assert "a test fails" not in lines[0]


CHECKED: dict[str, dict[str, Any]] = {
    "match": {"match": ["x"]},
    "not_match": {"not_match": ["x"]},
    "verdict": {"verdicts": [verdict("x", "ALLOW")]},
}


@pytest.mark.parametrize("tests", CHECKED.values(), ids=CHECKED)
def test_config_check_starts_no_programs(
    home: PolicyHome, capsys: Output, tmp_path: Path, tests: dict[str, Any]
) -> None:
    made = tmp_path / "made"
    home.policies(marking(made, tests=tests))
    home.role("dev", "mark")
    assert checked(capsys)[0] == 0
    assert not made.exists()


def test_config_check_runs_no_transforms(
    home: PolicyHome, capsys: Output, tmp_path: Path
) -> None:
    made = tmp_path / "made"
    transform = {"type": "Executable", "command": f"/usr/bin/touch {made}"}
    tests = {"match": ["x"], "verdicts": [verdict("x", "FLAG")]}
    home.policies(simple("p", "x", action="Modify", transform=transform, tests=tests))
    home.role("dev", "p")
    assert checked(capsys)[0] == 0
    assert not made.exists()


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_test_cannot_forge_a_line_of_config_check(
    home: PolicyHome, capsys: Output, text: str
) -> None:
    tests = {"verdicts": [verdict("x", "FLAG")]}
    home.policies(simple("p", "x", reason=text, tests=tests))
    home.role("dev", "p")
    code, lines = checked(capsys)
    assert (code, len(lines)) == (0, 1)
    for line in lines:
        assert line.isprintable()
        assert line.startswith(("error: ", "warning: "))
