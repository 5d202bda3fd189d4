import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import redlane_match_simple
from redlane.api import Action, Answer, Context, Outcome, Policy, Severity
from redlane.model.content import TextContent
from redlane_match_simple import SimpleMatcher, SimpleType

ALL = 1 << 60
CONTENT = TextContent(Context.SHELL, b"")
LONG = "ab" * 32 + "abc"
TEXT = st.text(st.sampled_from("aabé\0\n \\\U0001f600"), max_size=12)


def policy(
    pattern: str | None,
    order: int = 0,
    context: Context = Context.ALL,
    syscalls: tuple[str, ...] = (),
) -> Policy:
    return Policy(
        str(order),
        "Simple",
        Action.BLOCK,
        context,
        order,
        pattern=pattern,
        syscalls=syscalls,
    )


def found(patterns: list[str], *texts: str | bytes, before: int = ALL) -> list[int]:
    policies = [policy(pattern, order) for order, pattern in enumerate(patterns)]
    views = tuple(each.encode() if isinstance(each, str) else each for each in texts)
    answers = list(SimpleType().compile(policies).answers(CONTENT, views, before))
    assert all(each.outcome is Outcome.YES for each in answers)
    return [each.order for each in answers]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("rm -rf", "sudo rm -rf /"),
        ("", ""),
        ("", "x"),
        ("a.c", "xa.cx"),
        ("\\", "a\\b"),
        ("é", "caf\u00e9"),
        ("\0", "a\0b"),
        ("\n", "a\nb"),
        ("\U0001f600", "\U0001f600"),
        ("a" * 100_000, "b" + "a" * 100_000),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_substring_matches(pattern: str, text: str) -> None:
    assert found([pattern], text) == [0]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", ""),
        ("A", "a"),
        (LONG, LONG[:-1]),
        (LONG + "x", LONG + "y" + LONG),
        ("a.c", "abc"),
        ("e\u0301", "\u00e9"),
        ("\ufffd", "a"),
        ("ab", "a"),
    ],
    ids=ascii,
)
def test_what_is_not_a_substring_does_not_match(pattern: str, text: str) -> None:
    assert found([pattern], text) == []


def test_match_does_not_reach_from_one_text_into_the_next() -> None:
    assert found(["ab", "a", "b", ""], "a", "b") == [1, 2, 3]


def test_nothing_matches_where_nothing_is_shown() -> None:
    assert found(["", "a"]) == []


def test_only_lower_orders_are_told() -> None:
    assert found(["a", "b", "a", "a"], "ab", before=3) == [0, 1, 2]


def test_same_pattern_in_several_policies_matches_for_each() -> None:
    assert found(["a", "b", "a"], "a") == [0, 2]


@settings(deadline=None)
@given(st.lists(TEXT, max_size=8), st.lists(TEXT, max_size=3))
def test_automaton_answers_as_a_plain_search(
    patterns: list[str], texts: list[str]
) -> None:
    expected = [
        order
        for order, pattern in enumerate(patterns)
        if any(pattern in text for text in texts)
    ]
    assert found(patterns, *texts) == expected


class OutOfMemory:
    """What RE2's automaton answers when its memory runs out during a scan."""

    def Match(self, text: bytes) -> None:  # noqa: N802  # RE2's name
        assert text


@pytest.mark.parametrize("automaton", [OutOfMemory(), None])
def test_scan_that_was_cut_short_is_done_again_plainly(automaton: object) -> None:
    matcher = SimpleMatcher([(0, b"a"), (1, b"x"), (2, b"b")])
    matcher._set = automaton
    answers = list(matcher.answers(CONTENT, (b"ab",), ALL))
    assert answers == [Answer(0, Outcome.YES), Answer(2, Outcome.YES)]


def test_patterns_that_no_memory_is_enough_for_are_searched_plainly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redlane_match_simple, "_MEMORY", (1 << 10,))
    matcher = SimpleMatcher([(order, b"%d" % order) for order in range(1_000)])
    assert matcher._set is None
    assert Answer(7, Outcome.YES) in list(matcher.answers(CONTENT, (b"7",), ALL))


def test_ten_thousand_patterns_are_found_in_a_large_text() -> None:
    patterns = [f"needle-{number:05}" for number in range(10_000)]
    text = " ".join(patterns[::7]) * 3
    assert found(patterns, text) == list(range(0, 10_000, 7))


@pytest.mark.parametrize(
    ("given_policy", "expected"),
    [
        (policy("a"), []),
        (policy(None), [Severity.ERROR]),
        (policy(""), [Severity.WARNING]),
        (policy("\ud800"), [Severity.ERROR]),
        (policy("unlink", context=Context.SYSCALL), []),
        (policy(None, context=Context.SYSCALL), [Severity.ERROR]),
        (policy("", context=Context.SYSCALL), [Severity.ERROR]),
        (policy(None, syscalls=("open",), context=Context.SYSCALL), []),
        (policy("", syscalls=("open",), context=Context.SYSCALL), []),
        (
            policy("\ud800", syscalls=("open",), context=Context.SYSCALL),
            [Severity.ERROR],
        ),
        (policy(None, syscalls=("open",)), [Severity.ERROR]),
    ],
    ids=[
        "substring",
        "missing",
        "empty",
        "half a surrogate pair",
        "name of a system call",
        "no name of a system call",
        "empty name of a system call",
        "every such system call",
        "every such system call, said twice",
        "half a surrogate pair as a path",
        "missing, with a system call in context All",
    ],
)
def test_problems(given_policy: Policy, expected: list[Severity]) -> None:
    problems = list(SimpleType().problems(given_policy))
    assert [each.severity for each in problems] == expected
    assert all(each.message.isprintable() for each in problems)
