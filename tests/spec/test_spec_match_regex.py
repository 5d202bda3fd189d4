"""Regex: RE2's expressions with Unicode classes, unanchored, on decoded text."""

import pytest
from spec.cases import Case, Judge, regex
from spec.redlane_home import Home


def _case(name: str, pattern: str, content: str, *, matches: bool) -> Case:
    if matches:
        return Case(name, (regex("Block", pattern),), content, "BLOCK", 0)
    return Case(name, (regex("Block", pattern),), content, "ALLOW", None)


CASES = (
    _case("unanchored", "b+", "aabbcc", matches=True),
    _case("no-match", "b+", "aacc", matches=False),
    _case("anchored-start", "^rm", "rm x", matches=True),
    _case("anchored-start-not-in-the-middle", "^rm", "x rm", matches=False),
    _case("anchored-end", "rf$", "rm -rf", matches=True),
    _case("anchored-end-not-before-a-newline", "^ab$", "ab\n", matches=False),
    _case("case-matters", "abc", "ABC", matches=False),
    _case("inline-i", "(?i)abc", "xABCx", matches=True),
    _case("inline-i-inside", "a(?i:b)c", "aBc", matches=True),
    _case("dot-is-not-a-newline", "a.b", "a\nb", matches=False),
    _case("inline-s", "(?s)a.b", "a\nb", matches=True),
    _case("inline-m", "(?m)^two$", "one\ntwo\nthree", matches=True),
    _case("alternation", "cat|dog", "hotdog", matches=True),
    _case("group", "(ab){2}", "xababx", matches=True),
    _case("named-group", "(?P<word>ab)c", "abc", matches=True),
    _case("lazy", "a.*?b", "axxb", matches=True),
    _case("counted", "^a{3}$", "aaa", matches=True),
    _case("counted-too-few", "^a{3}$", "aa", matches=False),
    _case("class-range", "^[a-c]+$", "abcab", matches=True),
    _case("negated-class", "^[^a-c]+$", "xyz", matches=True),
    _case("posix-class", "^[[:digit:]]+$", "0123", matches=True),
    _case("hex-escape", r"\x41", "A", matches=True),
    _case("braced-hex-escape", r"\x{1F511}", "the 🔑", matches=True),
    _case("unicode-property", r"^\p{Greek}+$", "λόγος", matches=True),
    _case("short-unicode-property", r"^\pL+$", "é", matches=True),
    _case("text-start", r"\Aab", "ab", matches=True),
    _case("text-end", r"ab\z", "ab", matches=True),
    _case("quoted-literal", r"\Qa.b\E", "a.b", matches=True),
    _case("quoted-literal-is-literal", r"\Qa.b\E", "axb", matches=False),
    _case("quoted-backslash-d-is-literal", r"^\Q\d\E$", r"\d", matches=True),
    _case("quoted-backslash-d-is-no-class", r"^\Q\d\E$", "5", matches=False),
    _case("escaped-backslash-then-d", r"^\\d$", r"\d", matches=True),
    _case("escaped-backslash-then-d-is-no-class", r"^\\d$", "5", matches=False),
    _case("escaped-backslash-then-class", r"^\\\d$", "\\٣", matches=True),
    # \d, \w and \s know Unicode.
    _case("digit-ascii", r"^\d$", "7", matches=True),
    _case("digit-arabic", r"^\d$", "٣", matches=True),
    _case("digit-devanagari", r"^\d$", "५", matches=True),
    _case("digit-is-not-a-letter", r"^\d$", "a", matches=False),
    _case("not-digit", r"^\D$", "a", matches=True),
    _case("not-digit-arabic", r"^\D$", "٣", matches=False),
    _case("word-accented", r"^\w+$", "éß", matches=True),
    _case("word-cyrillic", r"^\w+$", "жук", matches=True),
    _case("word-digit-and-underscore", r"^\w+$", "a_1", matches=True),
    _case("word-is-not-a-dash", r"^\w$", "-", matches=False),
    _case("not-word", r"^\W$", "-", matches=True),
    _case("not-word-cyrillic", r"^\W$", "ж", matches=False),
    _case("space-ascii", r"^rm\s-rf$", "rm\t-rf", matches=True),
    _case("space-vertical-tab", r"^\s$", "\v", matches=True),
    _case("space-no-break", r"^rm\s-rf$", "rm\u00a0-rf", matches=True),
    _case("space-em", r"^rm\s-rf$", "rm\u2003-rf", matches=True),
    _case("space-ideographic", r"^\s$", "\u3000", matches=True),
    _case("space-line-separator", r"^\s$", "\u2028", matches=True),
    _case("not-space", r"^\S$", "x", matches=True),
    _case("not-space-no-break", r"^\S$", "\u00a0", matches=False),
    _case("digit-in-a-class", r"^[\d.]+$", "٣.7", matches=True),
    _case("space-in-a-class", r"^[\s,]+$", ",\u00a0", matches=True),
    _case("word-in-a-negated-class", r"^[^\w]$", "ж", matches=False),
    _case("space-in-a-negated-class", r"^[^\s]$", "\u00a0", matches=False),
    _case("not-space-in-a-class", r"^[\S]$", "\u00a0", matches=False),
    _case("not-digit-in-a-class", r"^[\Da]$", "٣", matches=False),
    _case("everything-class", r"^[\s\S]$", "\n", matches=True),
    # NUL is text like any other.
    _case("dot-matches-nul", "a.b", "a\0b", matches=True),
    _case("nul-escape", r"a\x00b", "a\0b", matches=True),
    _case("matches-after-nul", "secret$", "x\0secret", matches=True),
    _case("empty-pattern-matches-all", "", "anything", matches=True),
    _case("star-matches-empty-content", "x*", "", matches=True),
    _case("astral-dot-is-one-character", "^.$", "🔑", matches=True),
    Case(
        "each-of-many-can-match",
        tuple(regex("Block", f"^word{n:03}$") for n in range(200)),
        "word150",
        "BLOCK",
        150,
    ),
    Case(
        "first-of-several-matches",
        (regex("Block", "x"), regex("Block", "b"), regex("Block", "a")),
        "ab",
        "BLOCK",
        1,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_regex_is_an_unanchored_search(judge: Judge, case: Case) -> None:
    case.check(judge(case))


@pytest.mark.parametrize(
    ("pattern", "content"),
    [
        pytest.param("rm .-rf", b"rm \xff-rf", id="lone-byte"),
        pytest.param("^a.b$", b"a\xc3b", id="cut-sequence"),
        pytest.param("secret", b"\xff\xfe\x00secret", id="after-invalid-bytes"),
        pytest.param("^\ufffd$", b"\xff", id="is-the-replacement-character"),
    ],
)
def test_invalid_utf8_is_decoded_with_replacement(
    home: Home, pattern: str, content: bytes
) -> None:
    home.policies({"id": "p", **regex("Block", pattern)})
    home.role("agent", "p")

    assert home.verdict(content, "agent", "Network")["verdict"] == "BLOCK"


def test_json_escaping_applies_on_top_of_regex_escaping(home: Home) -> None:
    home.write(
        "policies/p.json",
        r'{"id": "p", "type": "Regex", "action": "Block", "pattern": "^a\\.b\u0021$"}',
    )
    home.role("agent", "p")

    assert home.verdict("a.b!", "agent", "Network")["verdict"] == "BLOCK"
    assert home.verdict("axb!", "agent", "Network")["verdict"] == "ALLOW"


def test_no_pattern_takes_exponential_time(home: Home) -> None:
    """What does would not end before the command's deadline, nor in a lifetime."""
    home.policies({"id": "p", **regex("Block", "^(a+)+$")})
    home.role("agent", "p")

    verdict = home.verdict("a" * 50_000 + "!", "agent", "Network")

    assert verdict["verdict"] == "ALLOW"
