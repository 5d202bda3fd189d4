import random
import threading
from collections.abc import Sequence

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from redlane.api import (
    Action,
    Answer,
    Context,
    Outcome,
    PatternError,
    Policy,
    Severity,
    compile_pattern,
)
from redlane.model.content import TextContent
from redlane.patterns import CompiledPattern, translate
from redlane_match_regex import RegexMatcher, RegexType

ALL = 1 << 60
CONTENT = TextContent(Context.SHELL, b"")


def policy(pattern: str | None, order: int = 0) -> Policy:
    return Policy(str(order), "Regex", Action.BLOCK, order=order, pattern=pattern)


def matcher(patterns: Sequence[str]) -> RegexMatcher:
    compiled = RegexType().compile(
        [policy(pattern, order) for order, pattern in enumerate(patterns)]
    )
    assert isinstance(compiled, RegexMatcher)
    return compiled


def found(compiled: RegexMatcher, *texts: str, before: int = ALL) -> list[int]:
    views = tuple(text.encode() for text in texts)
    answers = list(compiled.answers(CONTENT, views, before))
    assert all(each.outcome is Outcome.YES for each in answers)
    return [each.order for each in answers]


def plainly(patterns: Sequence[str], *texts: str) -> list[int]:
    """One exact search after the other, by nothing but RE2."""
    return [
        order
        for order, pattern in enumerate(patterns)
        for exact in [re2.compile(translate(pattern).encode())]
        if any(exact.search(text.encode()) for text in texts)
    ]


@pytest.mark.parametrize(
    "patterns",
    [
        [],
        [""],
        ["", "a", ""],
        [r"\d"],
        ["secret"],
        ["a", r"\w", "secret", "(?i)SECRET", "se.ret|token", "^$", r"\z"],
        ["secret"] * 40,
        [".", "", r"\s*"] * 40,
        ["SECRET", "\u017fecret", "(?i)\u017fecret", "(?i)\u212aey", "key", "İstanbul"],
        ["[^\\x00-\\x{10FFFF}]", "secret"],
        ["a\0b", "\n", "a\nb", "\U0010fffe\U0010ffff"],
        [r"se\w{3}t", r"(?:ab){2,3}c", r"\w{3}\d{2}", r"k{0,3}ey"],
    ],
    ids=ascii,
)
@pytest.mark.parametrize(
    "texts",
    [
        (),
        ("",),
        ("secret",),
        ("SECRET key KEY \u212aey \u017fecret",),
        ("a\0b", "a\nb"),
        ("sec", "ret", "\n"),
        ("abab", "abc ababc keycard12"),
        ("seéèt istanbul İstanbul", "\U0010fffe\U0010ffff"),
    ],
    ids=ascii,
)
def test_answers_are_those_of_one_search_after_the_other(
    patterns: list[str], texts: tuple[str, ...]
) -> None:
    assert found(matcher(patterns), *texts) == plainly(patterns, *texts)


WORDS = ["key", "token", "réseau", "a\0b", "x\ny", "\uff2bey", "ab", "İ", "\u017foo"]
PIECES = st.one_of(
    st.sampled_from(WORDS).map(re2.escape),
    st.sampled_from(
        [".", ".*", r"\w+", r"\d{2}", r"\s?", "[a-f]{1,3}", r"\b", "^", "$"]
    ),
    st.sampled_from(["(?:key|token)", "(?i:TOKEN)", "(?:ab){2}", r"[^\W\d]{2}", ""]),
)
RULES = st.lists(st.lists(PIECES, max_size=3).map("".join), min_size=1, max_size=8)
TEXTS = st.lists(
    st.sampled_from([*WORDS, "TOKEN", "abab", "12", "٣٤", " ", "\n", "é", "-- "]),
    max_size=6,
).map("".join)


@settings(deadline=None)  # the first use of a negated class takes a while
@given(RULES, st.lists(TEXTS, max_size=3), st.integers(1, 5))
def test_no_rule_is_lost_between_filter_group_and_search(
    patterns: list[str], texts: list[str], copies: int
) -> None:
    """Copies of the rules, so that groups are scanned as a whole as well."""
    rules = patterns * copies
    assert found(matcher(rules), *texts) == plainly(rules, *texts)


def test_every_letter_with_two_cases_passes_the_filter() -> None:
    cased = [
        chr(code)
        for code in range(0x20000)
        if not 0xD800 <= code < 0xE000 and chr(code).swapcase() != chr(code)
    ]
    rules = [f"(?i){letter}end" for letter in cased]
    compiled = matcher(rules)
    for swapped in (str.lower, str.upper, str.swapcase):
        text = " ".join(f"{swapped(letter)}end" for letter in cased)
        assert found(compiled, text) == plainly(rules, text)


def test_thousands_of_rules_answer_as_one_search_after_the_other() -> None:
    dice = random.Random(1)
    words = ["".join(dice.choices("abcdeé", k=4)) for _ in range(400)]
    shapes = [
        r"{}\s*=\s*{}",
        "(?i){}|{}",
        r"{}.{{0,9}}{}",
        r"\b{}[0-9]{{2}}{}?",
        "[{}]x{}",
    ]
    rules = [
        dice.choice(shapes).format(dice.choice(words), dice.choice(words))
        for _ in range(4_500)
    ]
    compiled = matcher(rules)
    for size in (5, 60, 600):
        text = "".join(dice.choice(words) + dice.choice(" =x0") for _ in range(size))
        assert found(compiled, text) == plainly(rules, text)


def test_only_lower_orders_are_told() -> None:
    compiled = matcher(["a", r"\w", "word", "word"] * 20)
    assert found(compiled, "a word", before=6) == [0, 1, 2, 3, 4, 5]


def test_first_answer_comes_without_searching_for_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = matcher([f"word{number}" for number in range(2_000)])
    text = " ".join(f"word{number}" for number in range(2_000)).encode()
    asked = []

    def confirms(pattern: CompiledPattern, text: bytes) -> bool:
        asked.append(pattern)
        return bool(text)

    monkeypatch.setattr(CompiledPattern, "confirms", confirms)
    answers = iter(compiled.answers(CONTENT, (text,), ALL))
    assert next(answers).order == 0
    assert len(asked) == 1


class OutOfMemory:
    """What RE2's automata answer when their memory runs out during a scan."""

    def Match(self, text: bytes, *, potential: bool = False) -> None:  # noqa: N802
        assert text or potential


def test_filter_that_was_cut_short_holds_no_rule_back() -> None:
    rules = ["word", "other", r"\d", "third"]
    compiled = matcher(rules)
    for shard in compiled._shards:
        shard._filter = OutOfMemory()
    assert found(compiled, "word 3") == plainly(rules, "word 3")


def test_group_scan_that_was_cut_short_is_done_rule_by_rule() -> None:
    rules = [r"\d", r"\s\w", "word", "or", r"\w+d", "word|or", "wo", "x"]
    compiled = matcher(rules)
    groups = [*compiled._unfiltered, *compiled._shards[0]._groups]
    for automaton in (OutOfMemory(), None):
        for group in groups:
            vars(group)["_automaton"] = automaton
        assert found(compiled, "a word") == plainly(rules, "a word")


@pytest.mark.parametrize("pattern", [r"\brm\b", r"\\bé", "müll", r"\w+"], ids=ascii)
def test_ordinary_pattern_has_no_problem(pattern: str) -> None:
    assert not list(RegexType().problems(policy(pattern)))


def test_rules_whose_literals_are_absent_are_not_searched_for() -> None:
    compiled = matcher([f"word{number}\\d" for number in range(2_500)])
    assert found(compiled, "word", "another text") == []
    groups = [group for shard in compiled._shards for group in shard._groups]
    assert len(groups) >= 2_500 // 32
    assert not any("_automaton" in vars(group) for group in groups)


def test_filter_that_is_too_large_is_split() -> None:
    rules = [f"{number:04}" * 499 for number in range(150)]
    compiled = matcher(rules)
    assert len(compiled._shards) > 1
    text = rules[7] + rules[141]
    assert found(compiled, text) == plainly(rules, text)


def test_rule_that_cannot_be_searched_for_is_a_failure() -> None:
    class Unusable(CompiledPattern):
        def confirms(self, text: bytes) -> bool:
            raise PatternError(f"no memory for {len(text)} bytes")

    compiled = RegexMatcher([(0, Unusable("ab+")), (1, compile_pattern("abc"))])
    first, second = compiled.answers(CONTENT, (b"abc",), ALL)
    assert first.outcome is Outcome.FAILED
    assert "no memory" in first.reason
    assert second == Answer(1, Outcome.YES)


def test_threads_get_the_same_answers() -> None:
    rules = [rf"{word}\w{{1,40}}\d" for word in ("alpha", "beta", "gamma")] * 60
    compiled = matcher(rules)
    text = "alphaé1 betax2 gamma_"
    expected = plainly(rules, text)
    results: list[list[int]] = []
    threads = [
        threading.Thread(target=lambda: results.append(found(compiled, text)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [expected] * 8


def test_pattern_is_read_once_for_all_roles() -> None:
    match_type = RegexType()
    assert not list(match_type.problems(policy("a{2}b")))
    match_type.compile([policy("a{2}b")])
    match_type.compile([policy("a{2}b")])
    assert match_type._pattern.cache_info().misses == 1


@pytest.mark.parametrize(
    ("pattern", "severity", "named"),
    [
        (None, Severity.ERROR, "pattern"),
        ("", Severity.WARNING, "matches everything"),
        ("(a", Severity.ERROR, "never closed"),
        ("a(?=b)", Severity.ERROR, "look-ahead"),
        ("\ud800", Severity.ERROR, "surrogate"),
        (r"\w{1000}" * 9, Severity.ERROR, "too large"),
        ("\\bmüll\\b", Severity.WARNING, "ASCII words"),
    ],
    ids=ascii,
)
def test_problems(pattern: str | None, severity: Severity, named: str) -> None:
    (problem,) = RegexType().problems(policy(pattern))
    assert problem.severity is severity
    assert named in problem.message
    assert problem.message.isprintable()


@pytest.mark.parametrize(
    "pattern",
    ["a" * 100_000, "|".join(f"word{n}" for n in range(20_000)), "(?:ab){999}" * 50],
    ids=lambda pattern: pattern[:12],
)
def test_huge_rule_is_compiled(pattern: str) -> None:
    assert not list(RegexType().problems(policy(pattern)))
    compiled = matcher([pattern, "b"])
    assert found(compiled, "b") == [1]


@pytest.mark.parametrize("text", ["a" * 3_000, "a" * 2_999 + "b"], ids=["a", "b"])
def test_rule_too_long_for_a_filter_is_searched_for_by_itself(text: str) -> None:
    rules = ["b", "a" * 3_000, "(?:a{1000}){1}a", "c"]
    assert found(matcher(rules), text) == plainly(rules, text)
