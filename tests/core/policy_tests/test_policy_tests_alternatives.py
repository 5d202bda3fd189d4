"""The alternatives of a regular expression, each left out in turn."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane.patterns import PatternError, compile_pattern
from redlane.policy_tests.alternatives import fewer_alternatives


def compiles(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except PatternError:
        return False
    return True


Fewer = list[tuple[str, str]]

TABLE: dict[str, tuple[str, Fewer]] = {
    "none": ("abc", []),
    "nothing": ("", []),
    "a group without any": ("a(b)c", []),
    "two": ("a|b", [("a", "b"), ("b", "a")]),
    "three": ("a|b|c", [("a", "b|c"), ("b", "a|c"), ("c", "a|b")]),
    "a group": ("x(a|b)y", [("a", "x(b)y"), ("b", "x(a)y")]),
    "no capture": ("x(?:a|b)+", [("a", "x(?:b)+"), ("b", "x(?:a)+")]),
    "lazy": ("(a|b)+?c", [("a", "(b)+?c"), ("b", "(a)+?c")]),
    "lazy parts": ("a*?|b??", [("a*?", "b??"), ("b??", "a*?")]),
    "counted": ("(?:a|b){2,3}", [("a", "(?:b){2,3}"), ("b", "(?:a){2,3}")]),
    "named": ("(?P<n>a|b)", [("a", "(?P<n>b)"), ("b", "(?P<n>a)")]),
    "named shortly": ("(?<n>a|b)", [("a", "(?<n>b)"), ("b", "(?<n>a)")]),
    "flags of a group": ("(?i:a|b)", [("a", "(?i:b)"), ("b", "(?i:a)")]),
    "flags off": ("(?i-s:a|b)", [("a", "(?i-s:b)"), ("b", "(?i-s:a)")]),
    "nested": (
        "((a|b)|c)d",
        [
            ("a", "((b)|c)d"),
            ("b", "((a)|c)d"),
            ("(a|b)", "(c)d"),
            ("c", "((a|b))d"),
        ],
    ),
    "side by side": (
        "(a|b)(c|d)",
        [("a", "(b)(c|d)"), ("b", "(a)(c|d)"), ("c", "(a|b)(d)"), ("d", "(a|b)(c)")],
    ),
    "an empty last one": ("(a|)", [("a", "()"), ("", "(a)")]),
    "an empty first one": ("(|a)", [("", "(a)"), ("a", "()")]),
    "an empty one between": ("a||b", [("a", "|b"), ("", "a|b"), ("b", "a|")]),
    "nothing but a bar": ("|", [("", ""), ("", "")]),
    "escaped bar": (r"a\|b", []),
    "escaped bar and bar": (r"\||a", [(r"\|", "a"), ("a", r"\|")]),
    "escaped backslash": (r"a\\|b", [(r"a\\", "b"), ("b", r"a\\")]),
    "escaped brackets": (r"\(a|b\)", [(r"\(a", r"b\)"), (r"b\)", r"\(a")]),
    "escaped class": (r"\[a|b\]", [(r"\[a", r"b\]"), (r"b\]", r"\[a")]),
    "property": (r"\pL|\p{Lu}", [(r"\pL", r"\p{Lu}"), (r"\p{Lu}", r"\pL")]),
    "hexadecimal": (r"\x{7C}|\x7C", [(r"\x{7C}", r"\x7C"), (r"\x7C", r"\x{7C}")]),
    "class with a bar": ("[a|b]", []),
    "class with brackets": ("[(|)]|x", [("[(|)]", "x"), ("x", "[(|)]")]),
    "class with ] first": ("[]|]|x", [("[]|]", "x"), ("x", "[]|]")]),
    "class without ]": ("[^]|]|x", [("[^]|]", "x"), ("x", "[^]|]")]),
    "class with escaped ]": (r"[a\]|]|x", [(r"[a\]|]", "x"), ("x", r"[a\]|]")]),
    "class with [": ("[[|]a|x", [("[[|]a", "x"), ("x", "[[|]a")]),
    "POSIX class": ("[[:alpha:]|]|x", [("[[:alpha:]|]", "x"), ("x", "[[:alpha:]|]")]),
    "no POSIX class": ("[[:^digit:]|]", []),
    "quoted": (r"\Qa|b\E|c", []),
    "quoted to the end": (r"c|\Qa|b", []),
    "a line break": ("a\n|b", [("a\n", "b"), ("b", "a\n")]),
    "anchors": ("^a$|^b$", [("^a$", "^b$"), ("^b$", "^a$")]),
}


@pytest.mark.parametrize(("pattern", "fewer"), TABLE.values(), ids=TABLE)
def test_each_alternative_is_left_out_in_turn(pattern: str, fewer: Fewer) -> None:
    assert compiles(pattern)
    assert list(fewer_alternatives(pattern)) == fewer


FLAGS: dict[str, tuple[str, list[str]]] = {
    "at the start": ("(?i)a|b", ["(?i)b", "(?i)a"]),
    "two": ("(?is)a|b", ["(?is)b", "(?is)a"]),
    "off": ("(?-s)a|b", ["(?-s)b", "(?-s)a"]),
    "in a group": ("x((?i)a|b)", ["x((?i)b)", "x((?i)a)"]),
}


@pytest.mark.parametrize(("pattern", "left"), FLAGS.values(), ids=FLAGS)
def test_flags_at_the_start_stay_for_all_alternatives(
    pattern: str, left: list[str]
) -> None:
    assert compiles(pattern)
    assert [each for _, each in fewer_alternatives(pattern)] == left


UNICODE: dict[str, tuple[str, Fewer]] = {
    "alone": ("(?u:a|b)", [("a", "(?u:b)"), ("b", "(?u:a)")]),
    "with others": ("x(?iu:a|b)", [("a", "x(?iu:b)"), ("b", "x(?iu:a)")]),
}


@pytest.mark.parametrize(("pattern", "fewer"), UNICODE.values(), ids=UNICODE)
def test_the_flag_u_is_a_flag_of_a_group(pattern: str, fewer: Fewer) -> None:
    assert compiles(pattern)
    assert list(fewer_alternatives(pattern)) == fewer


def test_an_escaped_backslash_before_q_quotes_nothing() -> None:
    assert list(fewer_alternatives(r"a\\Q|b")) == [(r"a\\Q", "b"), ("b", r"a\\Q")]


@dataclass(frozen=True)
class Group:
    """A group of alternatives, each a few pieces."""

    opening: str
    closing: str
    alternatives: tuple[tuple["str | Group", ...], ...]

    def __str__(self) -> str:
        parts = ("".join(map(str, each)) for each in self.alternatives)
        return f"{self.opening}{'|'.join(parts)}{self.closing}"

    def fewer(self) -> Iterator[tuple[str, str]]:
        """What is left out, and what is left then, worked out of the parts."""
        for place, pieces in enumerate(self.alternatives):
            others = (*self.alternatives[:place], *self.alternatives[place + 1 :])
            if others:
                left = Group(self.opening, self.closing, others)
                yield "".join(map(str, pieces)), str(left)
            for inner, piece in enumerate(pieces):
                if not isinstance(piece, Group):
                    continue
                for dropped, left_ in piece.fewer():
                    changed = (*pieces[:inner], left_, *pieces[inner + 1 :])
                    whole = (*self.alternatives[:place], changed)
                    rest = (*whole, *self.alternatives[place + 1 :])
                    yield dropped, str(Group(self.opening, self.closing, rest))


CHARACTERS = ("a", "é", ".", "x+?", "y*", "^", "$", "")
ESCAPES = (r"\|", r"\(", r"\)", r"\\", r"\d", r"\x{7C}", r"\pL", r"\b")
CLASSES = ("[|]", "[]|]", "[^]|(]", r"[\]|)]", "[[:alpha:]|]", "[[|(]")
PLAIN = st.sampled_from([*CHARACTERS, *ESCAPES, *CLASSES])
OPENINGS = st.sampled_from(["(", "(?:", "(?i:", "(?s-i:"])
CLOSINGS = st.sampled_from([")", ")?", ")+?", ")*", "){2}"])


def groups(piece: st.SearchStrategy["str | Group"]) -> st.SearchStrategy[Group]:
    alternative = st.lists(piece, max_size=3).map(tuple)
    alternatives = st.lists(alternative, min_size=1, max_size=4).map(tuple)
    return st.builds(Group, OPENINGS, CLOSINGS, alternatives)


PIECES: st.SearchStrategy["str | Group"] = st.recursive(PLAIN, groups, max_leaves=8)
PATTERNS = st.builds(
    Group,
    st.just(""),
    st.just(""),
    st.lists(st.lists(PIECES, max_size=3).map(tuple), min_size=1, max_size=4).map(
        tuple
    ),
)


@given(PATTERNS)
def test_of_any_pattern_exactly_one_is_left_out(pattern: Group) -> None:
    found = list(fewer_alternatives(str(pattern)))
    assert sorted(found) == sorted(pattern.fewer())


@given(PATTERNS)
def test_what_is_left_compiles_where_the_whole_did(pattern: Group) -> None:
    found = list(fewer_alternatives(str(pattern)))
    if compiles(str(pattern)):
        for _, left in found:
            assert compiles(left)


@given(st.text(alphabet="ab|()[]\\?:^QE{}<>Pi-", max_size=20))
def test_no_text_is_more_than_a_pattern_that_gets_shorter(text: str) -> None:
    for dropped, left in fewer_alternatives(text):
        assert len(left) == len(text) - len(dropped) - 1
