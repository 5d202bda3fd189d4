"""Modify: how content is rewritten, what a failure does (policy format: Transform)."""

import time
from typing import Any

import pytest
from spec.cases import Case, Judge, executable, modify, regex, simple
from spec.redlane_home import Home


def _by_regex(pattern: str, replacement: str) -> dict[str, Any]:
    return {"type": "Regex", "pattern": pattern, "replacement": replacement}


def _by_command(command: str) -> dict[str, Any]:
    return {"type": "Executable", "command": command}


def _regex(
    name: str, pattern: str, replacement: str, content: str, rewritten: str
) -> Case:
    policies = (modify("", _by_regex(pattern, replacement)),)
    return Case(name, policies, content, "MODIFY", 0, rewritten=rewritten)


def _command(name: str, command: str, content: str, rewritten: str) -> Case:
    policies = (modify("", _by_command(command)),)
    return Case(name, policies, content, "MODIFY", 0, rewritten=rewritten)


def _failure(name: str, command: str, content: str = "abc") -> Case:
    return Case(name, (modify("", _by_command(command)),), content, "BLOCK", 0)


UPPER = _by_command("tr a-z A-Z")
CASES = (
    _regex("one-match", "b", "X", "abc", "aXc"),
    _regex("every-match", "a", "X", "banana", "bXnXnX"),
    _regex("empty-replacement-strips", "secret ?", "", "my secret plan", "my plan"),
    _regex("strips-everything", "(?s).*", "", "abc", ""),
    _regex("group-1", "(a)(b)", "$2$1", "abab", "baba"),
    _regex("group-braced", "(a)", "${1}0", "ab", "a0b"),
    _regex("group-named", "(?P<user>[a-z]+)@", "${user} at ", "bob@x", "bob at x"),
    _regex("group-0", "[ab]+", "<${0}>", "xaby", "x<ab>y"),
    _regex("dollar-dollar", "EUR", "$$", "5 EUR", "5 $"),
    _regex("dollar-dollar-1", "(a)", "$$1", "a", "$1"),
    _regex("backslash-1-is-literal", "(a)", r"\1", "a", r"\1"),
    _regex("backslash-0-is-literal", "(a)", r"x\0", "a", r"x\0"),
    _regex("backslash-n-is-literal", "a", r"\n", "a", r"\n"),
    _regex("lone-dollar-is-literal", "a", "5$ each", "a", "5$ each"),
    _regex("last-dollar-is-literal", "a", "x$", "a", "x$"),
    _regex("ampersand-is-literal", "a", "&", "a", "&"),
    _regex("braces-are-literal", "a", "{1}", "a", "{1}"),
    _regex("group-that-took-no-part", "(x)?a", "[$1]", "a", "[]"),
    _regex("unicode-class", r"\d", "#", "1٣", "##"),
    _regex("unicode-space", r"\s+", " ", "a \u00a0\u2003b", "a b"),
    _regex("unicode-replacement", "key", "🔑", "a key", "a 🔑"),
    _regex("newline", "\n", "; ", "a\nb\n", "a; b; "),
    _regex("nul", r"\x00", "0", "a\0b", "a0b"),
    _regex("nothing-changed-is-still-modify", "zzz", "y", "abc", "abc"),
    _regex("matches-do-not-overlap", "aa", "b", "aaaa", "bb"),
    _regex("replacement-is-not-searched", "a", "aa", "aa", "aaaa"),
    _command("command-output", "tr a-z A-Z", "abc", "ABC"),
    _command("command-output-keeps-newlines", "echo new", "abc", "new\n"),
    _command("command-output-empty", "true", "abc", ""),
    _command("command-unchanged", "cat", "a\n\nb\0c", "a\n\nb\0c"),
    _command("command-large", "cat", "x" * 90_000, "x" * 90_000),
    _command(
        "command-grows",
        "sh -c 'cat; seq 20000'",
        "",
        "".join(map("{}\n".format, range(1, 20001))),
    ),
    _command("command-words", "printf '%s|' 'a b' $HOME *", "", "a b|$HOME|*|"),
    _command("command-stderr-is-left-out", "sh -c 'cat; echo no >&2'", "abc", "abc"),
    _command("command-does-not-read", "echo -n x", "y" * 90_000, "x"),
    _command("command-leaves-a-child", "sh -c 'sleep 50 & echo new'", "abc", "new\n"),
    _failure("command-exit-1", "sh -c 'cat; exit 1'"),
    _failure("command-missing", "/nonexistent/transform"),
    _failure("command-killed", "sh -c 'cat; kill -9 $$'"),
    _failure("command-not-executable", "/etc/passwd"),
    Case(
        "trigger-does-not-match",
        (modify("zzz", UPPER),),
        "abc",
        "ALLOW",
        None,
    ),
    Case(
        "regex-trigger",
        (regex("Modify", "^a", transform=UPPER),),
        "abc",
        "MODIFY",
        0,
        rewritten="ABC",
    ),
    Case(
        "executable-trigger",
        (executable("Modify", "grep -q b", transform=UPPER),),
        "abc",
        "MODIFY",
        0,
        rewritten="ABC",
    ),
    Case(
        "first-modify-only",
        (modify("a", _by_regex("a", "b")), modify("a", _by_regex("b", "c"))),
        "ab",
        "MODIFY",
        0,
        rewritten="bb",
    ),
    Case(
        "first-matching-modify",
        (modify("zzz", UPPER), modify("b", _by_regex("b", "c"))),
        "ab",
        "MODIFY",
        1,
        rewritten="ac",
    ),
    # The rewritten content is judged by the Blocks once more.
    Case(
        "rewritten-into-what-is-blocked",
        (modify("a", UPPER), simple("Block", "ABC")),
        "abc",
        "BLOCK",
        1,
    ),
    Case(
        "rewritten-by-a-checker-block",
        (modify("a", UPPER), executable("Block", "grep -q ABC")),
        "abc",
        "BLOCK",
        1,
    ),
    Case(
        "rewritten-into-a-failing-checker",
        (
            modify("a", UPPER),
            executable("Block", "sh -c 'grep -q ABC && kill -9 $$; exit 1'"),
        ),
        "abc",
        "BLOCK",
        1,
    ),
    Case(
        "no-allow-for-what-is-rewritten",
        (modify("a", UPPER), simple("Block", "ABC"), simple("Allow", "ABC")),
        "abc",
        "BLOCK",
        1,
    ),
    Case(
        "blocked-before-it-is-rewritten",
        (modify("a", _by_regex("a", "")), simple("Block", "a")),
        "abc",
        "BLOCK",
        1,
    ),
    Case(
        "not-modified-twice",
        (modify("b", _by_regex("b", "a")), modify("a", _by_regex("a", "c"))),
        "b",
        "MODIFY",
        0,
        rewritten="a",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_transforms(judge: Judge, case: Case) -> None:
    case.check(judge(case))


def test_over_five_seconds_is_a_block_and_never_the_original(home: Home) -> None:
    transform = _by_command("sh -c 'cat; exec sleep 20'")
    home.policies({"id": "m", **modify("", transform)})
    home.role("agent", "m")
    started = time.monotonic()

    verdict = home.verdict("abc", "agent", "Network")

    assert (verdict["verdict"], verdict["policy"]) == ("BLOCK", "m")
    assert verdict["content"] is None
    assert time.monotonic() - started > 4.5


FLAG_CASES = {
    "flag-on-the-original": "abc",
    "flag-on-the-rewritten": "ABC",
}


@pytest.mark.parametrize("flagged", FLAG_CASES.values(), ids=FLAG_CASES.keys())
@pytest.mark.parametrize(
    "flag_first", [True, False], ids=["flag-first", "modify-first"]
)
def test_modify_and_flag_together(
    home: Home, flagged: str, *, flag_first: bool
) -> None:
    policies = [
        {"id": "m", **modify("a", UPPER)},
        {"id": "f", **simple("Flag", flagged)},
    ]
    home.policies(*(reversed(policies) if flag_first else policies))
    home.role("agent", "m", "f")

    verdict = home.verdict("abc", "agent", "Network")

    assert (verdict["verdict"], verdict["lane"]) == ("FLAG", "YELLOW")
    assert (verdict["policy"], verdict["modified_by"]) == ("f", "m")
    assert verdict["content"] == "ABC"


@pytest.mark.parametrize("role", ["failing", "reblocked"])
def test_a_block_after_modify_shows_no_content(home: Home, role: str) -> None:
    home.policies(
        {"id": "fail", **modify("a", _by_command("sh -c 'cat; exit 1'"))},
        {"id": "upper", **modify("a", UPPER)},
        {"id": "block", **simple("Block", "ABC")},
    )
    home.role("failing", "fail")
    home.role("reblocked", "upper", "block")

    assert home.verdict("abc", role, "Network")["content"] is None


def test_a_failing_transform_blocks_though_a_flag_matches(home: Home) -> None:
    home.policies(
        {"id": "fail", **modify("a", _by_command("false"))},
        {"id": "flag", **simple("Flag", "a")},
    )
    home.role("agent", "fail", "flag")

    assert home.verdict("abc", "agent", "Network")["verdict"] == "BLOCK"


def test_a_transform_gets_the_bytes_as_they_came(home: Home) -> None:
    home.policies({"id": "m", **modify("", _by_command("od -An -v -tx1"))})
    home.role("agent", "m")

    verdict = home.verdict(b"a\xff\x00\r\n", "agent", "Network")

    assert verdict["content"].split() == ["61", "ff", "00", "0d", "0a"]


def test_an_allow_leaves_content_as_it_came(home: Home) -> None:
    home.policies(
        {"id": "m", **modify("a", UPPER)}, {"id": "a", **simple("Allow", "c")}
    )
    home.role("agent", "m", "a")

    verdict = home.verdict("abc", "agent", "Network")

    assert (verdict["verdict"], verdict["content"]) == ("ALLOW", None)
