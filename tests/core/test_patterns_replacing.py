"""However matches are found and replaced, what comes out is that of one at a time."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane.patterns import (
    CompiledPattern,
    PatternError,
    compile_pattern,
    substitute,
)
from redlane.patterns.matches import places

_CONTINUATION = range(0x80, 0xC0)


def one_at_a_time(compiled: CompiledPattern, replacement: str, text: bytes) -> bytes:
    """The plain way: a search for each match, from where the one before it ended."""
    engine = compiled.engine(text, captures=True)
    made, copied, position, last = b"", 0, 0, -1
    while position <= len(text):
        match = engine.search(text, position)
        if match is None:
            break
        start, end = match.span()
        if end > start or end != last:
            made += text[copied:start] + expanded(replacement, match)
            copied = last = end
        position = end
        if end == start:
            position += 1
            while position < len(text) and text[position] in _CONTINUATION:
                position += 1
    return made + text[copied:]


def expanded(replacement: str, match: "re.Match[bytes]") -> bytes:
    parts = re.split(r"\$(\d)", replacement)
    return b"".join(
        (match.group(int(part)) or b"") if place % 2 else part.encode()
        for place, part in enumerate(parts)
    )


ATOMS = (
    r"a b é ж - ab . [ab] [^a] \w \d \s \. A (?:a|b) (?:ab|a) (?:|a) (?i)a (?s). \pL "
    r"[[:alpha:]] \x61 ^ $ \b \B (?m)^ (?m)$ \A \z []a] [a-b] (?i:É)"
)
PIECES = st.tuples(
    st.sampled_from(ATOMS.split()),
    st.sampled_from(["", "", "", "?", "??", "{2}", "{1,3}", "{0,2}", "*", "+"]),
).map("".join)
SEQUENCES = st.lists(PIECES, min_size=1, max_size=3).map("".join)
PATTERNS = st.lists(SEQUENCES, min_size=1, max_size=2).map("|".join)
LETTERS = st.text(st.sampled_from("abAéж1 -.\n"), max_size=8)
TEXTS = st.builds(
    lambda head, part, times, tail: (head + part * times + tail).encode(),
    LETTERS,
    LETTERS,
    st.sampled_from([0, 1, 3, 80, 200, 400]),
    LETTERS,
)
WITHOUT_GROUPS = st.sampled_from(["", "x", "é$$", "<$0>", "$0$0"])


@settings(deadline=None, max_examples=examples(3_000))
@given(PATTERNS, WITHOUT_GROUPS, TEXTS)
@example("a|ab", "x", b"ab" * 300)
@example("ab{2}|a", "x", b"abb" * 170 + b"ab")
@example("a{60}b|a", "<$0>", b"a" * 600 + b"b")
@example(r"a\b|b", "x", b"ab-" * 300)
@example("b|a$", "x", b"b" * 508 + b"ab" * 200 + b"a")
@example("a|$", "x", b"a" * 600)
@example("(?:a|)", "x", "aéa".encode() * 200)
@example("[+]", "x", b"a++b" * 100)
@example(r"[\]\-^]+", "x", b"a]-^b" * 100)
@example(".+", "x", b"a" * 70_000 + b"\n" + b"b" * 70_000)
@example("[a]", "<$0>", b"a" * 70_000)
def test_fast_ways_change_nothing(pattern: str, replacement: str, text: bytes) -> None:
    try:
        compiled = compile_pattern(pattern)
    except PatternError:
        return
    expected = one_at_a_time(compiled, replacement.replace("$$", "$"), text)
    assert substitute(compiled, replacement, text) == expected


@settings(deadline=None, max_examples=examples(1_000))
@given(SEQUENCES, SEQUENCES, st.sampled_from(["$1", "[$1$2]", "$2$0"]), TEXTS)
def test_groups_are_those_of_one_match(
    first: str, second: str, replacement: str, text: bytes
) -> None:
    try:
        compiled = compile_pattern(f"({first})|({second})")
    except PatternError:
        return
    expected = one_at_a_time(compiled, replacement, text)
    assert substitute(compiled, replacement, text) == expected


@settings(deadline=None, max_examples=examples(1_000))
@given(st.binary(max_size=60), st.sampled_from(["\ufffd", "[\x80-\uffff]", ".", "a|é"]))
def test_what_is_not_utf8_is_replaced_as_it_is_seen(data: bytes, pattern: str) -> None:
    text = data.decode(errors="replace").encode()
    compiled = compile_pattern(pattern)
    expected = one_at_a_time(compiled, "<$0>", text)
    assert substitute(compiled, "<$0>", data) == expected


def test_name_of_a_group_that_is_not_wanted_is_no_hindrance() -> None:
    compiled = compile_pattern("(?P<x>a)|(b)")
    assert substitute(compiled, "-", b"ab" * 1_000) == b"--" * 1_000


def test_quotation_without_an_end_is_replaced() -> None:
    compiled = compile_pattern(r"a|\Qb|")
    assert substitute(compiled, "-", b"ab|" * 1_000) == b"--" * 1_000


def test_class_of_many_ranges_is_matched_as_any_other() -> None:
    every_other = "".join(map(chr, range(0x400, 0x1000, 2)))
    compiled = compile_pattern(f"[{every_other}]+")
    text = "".join(map(chr, range(0x400, 0x1000))).encode()
    assert substitute(compiled, "<$0>", text) == one_at_a_time(compiled, "<$0>", text)


@pytest.mark.parametrize("pattern", ["a", "[a-z]", "a|b", "(a)|x", "a+?"])
def test_growth_has_its_bound_whatever_the_way(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    group = "$1" if pattern.startswith("(") else "$0"
    for new in ("b" * 100_000, "b" * 100_000 + group):
        with pytest.raises(PatternError, match="grow"):
            substitute(compiled, new, b"a" * 1_000)
        grown = substitute(compiled, new, b"a" * 600)
        assert len(grown) >= 60_000_000


@pytest.mark.parametrize("pattern", ["[a-z]", "a|b", "a+?"])
def test_time_has_its_bound_whatever_the_way(pattern: str) -> None:
    ticks = iter((0.0, 6.0, 12.0))
    with pytest.raises(PatternError, match="more than 5 seconds"):
        substitute(compile_pattern(pattern), "x", b"a", clock=lambda: next(ticks))


def test_most_matches_are_found_many_at_a_time() -> None:
    found = list(places(compile_pattern("a|b"), b"ab" * 5_000))
    assert sum(map(len, found)) == 10_000
    assert len(found) < 10_000 / 50
