import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redlane.patterns import (
    CompiledPattern,
    PatternError,
    compile_pattern,
    substitute,
)


def compile_or_refusal(pattern: str) -> CompiledPattern | str:
    try:
        return compile_pattern(pattern)
    except PatternError as refused:
        return str(refused)


def processor_time(compiled: CompiledPattern, text: bytes) -> float:
    """The least of a few runs, in seconds of processor time."""
    taken = []
    for _ in range(5):
        start = time.thread_time()
        assert not compiled.search(text)
        taken.append(time.thread_time() - start)
    return min(taken)


@pytest.mark.parametrize(
    ("pattern", "repeated", "end"),
    [
        (r"^(a+)+$", "a", "!"),
        (r"(?:a|aa)+$", "a", "!"),
        (r"(\w+\s*)+:", "word ", ""),
        (r"(x+x+)+y", "x", ""),
        (r"(.*)*=(.*)*z", "é=", ""),
        (r"(?:\w{1,20}-){3}z", "a-", ""),
    ],
    ids=ascii,
)
def test_nested_repeats_take_linear_work(pattern: str, repeated: str, end: str) -> None:
    """Sixteen times the text may take sixteen times the work; its square is 256."""
    compiled = compile_pattern(pattern)
    few, many = (
        processor_time(compiled, (repeated * count + end).encode())
        for count in (20_000, 320_000)
    )
    assert many < few * 64


@pytest.mark.parametrize(
    "pattern",
    [
        "a" * 100_000,
        "(" * 20_000 + "b" + ")" * 20_000,
        "(?:" * 20_000 + "b" + ")*" * 20_000,
        "|".join(f"word{number}" for number in range(20_000)),
        "[" + "".join(map(chr, range(0x4E00, 0x9000))) + "]",
        r"\d" * 5_000,
        "[^" * 10_000,
        "(?i" * 10_000,
        "\\" * 9_999,
        "{1" * 10_000,
        r"\Q" * 10_000,
        "a{1000}" * 2_000,
        "(?:(?:a{10}){10}){10}" * 100,
        r"[\W\S\D]" * 50,
    ],
    ids=lambda pattern: pattern[:12],
)
def test_hostile_pattern_is_compiled_or_refused(pattern: str) -> None:
    compiled = compile_or_refusal(pattern)
    if isinstance(compiled, str):
        assert len(compiled) < 200
    else:
        assert compiled.search("zé".encode()) in {True, False}


@settings(deadline=None)
@given(
    st.text(
        st.sampled_from(r"\QEuUxpPwWdDsSbAz(){}[]^$|*+?.,-&~:<>=!#P019aék"), max_size=12
    )
)
def test_any_text_is_compiled_or_refused_with_one_line(pattern: str) -> None:
    compiled = compile_or_refusal(pattern)
    if isinstance(compiled, str):
        assert compiled.isprintable()
    else:
        assert compiled.search("aé0 ".encode()) in {True, False}


def test_slow_replacement_is_given_up() -> None:
    """Every match here is one letter, found only after a look at all that follows."""
    compiled = compile_pattern("a.*z|a")
    ticks = iter(range(100))
    with pytest.raises(PatternError, match="more than 5 seconds"):
        substitute(compiled, "b", b"a" * 1_000, clock=lambda: float(next(ticks)))


def test_replacement_does_not_grow_without_bound() -> None:
    with pytest.raises(PatternError, match="grow"):
        substitute(compile_pattern("a"), "b" * 100_000, b"a" * 1_000)
