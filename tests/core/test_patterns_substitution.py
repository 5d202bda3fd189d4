import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redlane.patterns import (
    PatternError,
    compile_pattern,
    replacement_problems,
    substitute,
)


def replaced(pattern: str, replacement: str, text: str) -> str:
    return substitute(compile_pattern(pattern), replacement, text.encode()).decode()


REPLACED = [
    ("a", "b", "banana", "bbnbnb"),
    ("a", "", "banana", "bnn"),
    ("x", "b", "banana", "banana"),
    (r"(\w+)@(\w+)", "$2@$1", "me@home", "home@me"),
    (r"(\w+)@(\w+)", "${2}0 $0", "me@home", "home0 me@home"),
    (r"(?P<user>\w+)@", "${user}$$1 ", "zoë@x", "zoë$1 x"),
    (r"(a)|(b)", "[$1$2]", "ab", "[a][b]"),
    ("a", "$name $ ${ ${} $$ \\1 $-1", "a", "$name $ ${ ${} $ \\1 $-1"),
    (r"(\w)" * 11, "$11$1", "abcdefghijk", "ka"),
    ("", "-", "ab", "-a-b-"),
    ("", "-", "é😀", "-é-😀-"),
    ("x*", "-", "abxd", "-a-b-d-"),
    ("^", "> ", "a\nb", "> a\nb"),
    ("(?m)^", "> ", "a\nb", "> a\n> b"),
    (r"\b", "|", "ab cd", "|ab| |cd|"),
    ("$", ".", "a\n", "a\n."),
    ("a", "b", "", ""),
    ("a?", "b", "", "b"),
    (r"\s+", " ", "a\u00a0\u3000b", "a b"),
    (r"\d", "#", "\u06612x", "##x"),
    ("\0", "0", "a\0b", "a0b"),
    (r"sk-\w{8}", "[secret]", "k=sk-abcd1234;", "k=[secret];"),
]


@pytest.mark.parametrize(
    ("pattern", "replacement", "text", "expected"), REPLACED, ids=ascii
)
def test_replacement(pattern: str, replacement: str, text: str, expected: str) -> None:
    assert replaced(pattern, replacement, text) == expected
    assert not replacement_problems(compile_pattern(pattern), replacement)


@pytest.mark.parametrize(
    ("pattern", "replacement", "named"),
    [
        ("(a)", "$2", "$2"),
        ("(a)", "$10", "$10"),
        ("(a)", "${2}", "${2}"),
        ("(?P<n>a)", "${m}", "${m}"),
        ("(?P<n>a)", "${N}", "${N}"),
        ("a", "$1", "$1"),
        ("a", "$99999999999999999999", "$99999"),
        ("a", "\ud800", "surrogate"),
        ("(a)" * 201, "$1", "over 200 groups"),
    ],
    ids=ascii,
)
def test_reference_to_no_group_is_a_problem(
    pattern: str, replacement: str, named: str
) -> None:
    compiled = compile_pattern(pattern)
    (problem,) = replacement_problems(compiled, replacement)
    assert named in problem
    with pytest.raises(PatternError):
        substitute(compiled, replacement, b"a")


def test_bytes_that_are_no_text_cannot_hide_a_match() -> None:
    compiled = compile_pattern("rm .-rf")
    assert substitute(compiled, "", b"rm \xff-rf /") == b" /"


@settings(deadline=None)
@given(
    st.sampled_from(
        ["a+", "[ab]", "(a)(b)?", "é|b", r"\w+", "a|", "b*", r"\d*é", "^a"]
    ),
    st.text(st.sampled_from("abé 1\n"), max_size=12),
)
def test_replacement_is_that_of_re_but_for_empty_matches_behind_others(
    pattern: str, text: str
) -> None:
    pieces, end, last = [], 0, -1
    for found in re.finditer(pattern, text):
        if found.group() or found.start() != last:
            pieces += [text[end : found.start()], "<", found.group(), ">"]
            end = last = found.end()
    assert replaced(pattern, "<$0>", text) == "".join((*pieces, text[end:]))
