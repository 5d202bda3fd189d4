"""Simple: substring match on the content (policy format: Match types)."""

import pytest
from spec.cases import Case, Judge, simple
from spec.redlane_home import Home


def _case(name: str, pattern: str, content: str, *, matches: bool) -> Case:
    if matches:
        return Case(name, (simple("Block", pattern),), content, "BLOCK", 0)
    return Case(name, (simple("Block", pattern),), content, "ALLOW", None)


CASES = (
    _case("whole-content", "secret", "secret", matches=True),
    _case("at-the-start", "secret", "secret plans", matches=True),
    _case("in-the-middle", "secret", "my secret plans", matches=True),
    _case("at-the-end", "secret", "my secret", matches=True),
    _case("inside-a-word", "cre", "secret", matches=True),
    _case("absent", "secret", "nothing here", matches=False),
    _case("longer-than-content", "secrets", "secret", matches=False),
    _case("case-matters", "secret", "SECRET", matches=False),
    _case("metacharacters-are-literal", "a.*b", "a.*b", matches=True),
    _case("metacharacters-are-no-regex", "a.*b", "a--b", matches=False),
    _case("spaces-are-literal", "rm  -rf", "rm -rf", matches=False),
    _case("across-lines", "one\ntwo", "zero\none\ntwo\n", matches=True),
    _case("tab", "a\tb", "a\tb", matches=True),
    _case("backslash", "C:\\x", "dir C:\\x", matches=True),
    _case("quote", 'say "hi"', 'they say "hi" there', matches=True),
    _case("unicode", "naïve", "so naïve", matches=True),
    _case("unicode-is-not-normalised", "na\u00efve", "nai\u0308ve", matches=False),
    _case("astral", "🔑", "the 🔑 is", matches=True),
    _case("nul-in-content", "secret", "a\0secret", matches=True),
    _case("nul-in-pattern", "a\0b", "xa\0by", matches=True),
    _case("after-a-newline-and-nul", "end", "a\n\0\nend", matches=True),
    _case("empty-pattern-matches-all", "", "anything", matches=True),
    _case("empty-pattern-matches-empty", "", "", matches=True),
    _case("empty-content", "secret", "", matches=False),
    _case("far-inside", "needle", "x" * 90_000 + "needle", matches=True),
    Case(
        "each-of-many-can-match",
        tuple(simple("Block", f"word{n:03}") for n in range(200)),
        "only word150 here",
        "BLOCK",
        150,
    ),
    Case(
        "first-of-overlapping",
        (simple("Block", "bcd"), simple("Block", "abc")),
        "abcd",
        "BLOCK",
        0,
    ),
    Case(
        "one-pattern-inside-another",
        (simple("Block", "abcd"), simple("Flag", "bc")),
        "xbcx",
        "FLAG",
        1,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_simple_is_a_substring_match(judge: Judge, case: Case) -> None:
    case.check(judge(case))


def test_content_that_is_no_utf8_is_matched_with_replacement(home: Home) -> None:
    home.policies({"id": "p", **simple("Block", "a\ufffdb")})
    home.role("agent", "p")

    assert home.verdict(b"xa\xffby", "agent", "Network")["verdict"] == "BLOCK"


def test_invalid_bytes_do_not_hide_what_follows(home: Home) -> None:
    home.policies({"id": "p", **simple("Block", "secret")})
    home.role("agent", "p")

    assert home.verdict(b"\xff\xc3secret", "agent", "Network")["verdict"] == "BLOCK"
