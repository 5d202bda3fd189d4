"""One evaluation against hundreds and thousands of policies, and what peers take.

    .venv/bin/python benchmarks/evaluation.py

Ratios are between figures of the same run. `first` is the very first evaluation, which
compiles what later ones find ready; a dash is a peer's cell that would take too long.
"""

import re
import time
from collections.abc import Callable, Sequence
from functools import partial

import re2
from corpus import command, page, regexes, substrings
from measure import duration, print_table, ratio, timed

from redlane.engine.evaluate import evaluate
from redlane.model.content import TextContent
from redlane.model.matching import Matcher, MatchType
from redlane.model.policy import Action, Context, Policy, Role
from redlane.policies.ruleset import RoleRules, RuleSet
from redlane_match_regex import RegexType
from redlane_match_simple import SimpleType

COUNTS = (100, 1_000, 10_000)
CONTENTS = {
    "80 B": command(80),
    "4 KB": page(4 << 10),
    "100 KB": page(100 << 10),
    "1 MB": page(1 << 20),
}
MOST_RE_WORK = 110_000_000
MOST_RE2_WORK = 1_100_000_000
"""Rules times bytes: what a loop may have to do in a cell that is not left out."""

OURS = ("first", "p50", "p99", "evaluate p50", "p99")
EVERY_ORDER = 1 << 60

Search = Callable[[bytes], object]


def main() -> None:
    """Print the two tables."""
    started = time.perf_counter()
    regex_table()
    simple_table()
    print(f"\n{time.perf_counter() - started:.0f} seconds in all")


def regex_table() -> None:
    """Regex policies against one search after the other."""
    rows = []
    for count in COUNTS:
        patterns = regexes(count)
        start = time.perf_counter()
        matcher, rules = loaded(RegexType(), patterns)
        load = duration(time.perf_counter() - start)
        loops: list[tuple[int, Search]] = [
            (MOST_RE_WORK, partial(loop_re, [re.compile(each) for each in patterns])),
            (MOST_RE2_WORK, partial(loop_re2, [compiled(each) for each in patterns])),
        ]
        for name, data in CONTENTS.items():
            ours, cells = measured(matcher, rules, data)
            row = [f"{count:,}", load, name, *cells]
            for most, loop in loops:
                left_out = count * len(data) > most
                peer = None if left_out else timed(partial(loop, data), warm=False).p50
                row += [duration(peer), ratio(peer, ours)]
            rows.append(row)
    print("Regex policies\n")
    peers = ("`re` loop", "ratio", "RE2 loop", "ratio")
    print_table(("policies", "load", "content", *OURS, *peers), rows)


def simple_table() -> None:
    """Ten thousand Simple policies against scans for one needle that is not there."""
    patterns = substrings(10_000)
    texts = [each.encode() for each in patterns]
    start = time.perf_counter()
    matcher, rules = loaded(SimpleType(), patterns)
    load = duration(time.perf_counter() - start)
    absent = compiled("qqzz-absent")
    rows = []
    for name, data in CONTENTS.items():
        ours, cells = measured(matcher, rules, data)
        loop = timed(partial(loop_in, texts, data), warm=False).p50
        find = timed(partial(data.find, b"qqzz-absent")).p50
        search = timed(partial(absent.search, data)).p50
        row = [load, name, *cells, duration(loop), ratio(loop, ours)]
        row += [duration(find), ratio(ours, find)]
        row += [duration(search), ratio(ours, search)]
        rows.append(row)
    print("\n10,000 Simple policies\n")
    peers = ("`in` loop", "ratio", "one find", "we take", "one RE2 search", "we take")
    print_table(("load", "content", *OURS, *peers), rows)


def measured(
    matcher: Matcher, rules: RoleRules, data: bytes
) -> tuple[float, tuple[str, ...]]:
    """The matcher's p50, and the cells under `OURS`."""
    asked = timed(partial(ask, matcher, data))
    whole = timed(partial(evaluate, rules, TextContent(Context.NETWORK, data)))
    figures = (asked.first, asked.p50, asked.p99, whole.p50, whole.p99)
    return asked.p50, tuple(map(duration, figures))


def loaded(match_type: MatchType, patterns: Sequence[str]) -> tuple[Matcher, RoleRules]:
    """Check and compile Blocks of a role, as a start of the daemon does."""
    policies = [
        Policy(f"p{order}", match_type.name, Action.BLOCK, order=order, pattern=pattern)
        for order, pattern in enumerate(patterns)
    ]
    for policy in policies:
        if list(match_type.problems(policy)):
            raise ValueError(policy.pattern)
    role = Role("all", tuple(policy.id for policy in policies))
    rules = RuleSet(policies, [role], {match_type.name: match_type}, "").rules("all")
    if rules is None:
        raise LookupError(role.name)
    return rules.matchers(Context.NETWORK, Action.BLOCK)[0].matcher, rules


def ask(matcher: Matcher, data: bytes) -> list[object]:
    """Every answer to one text."""
    content = TextContent(Context.NETWORK, data)
    return list(matcher.answers(content, (data,), EVERY_ORDER))


def compiled(pattern: str) -> "re2._Regexp":
    """A pattern as a user of RE2 compiles it."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options=options)


def loop_re(patterns: Sequence[re.Pattern[str]], data: bytes) -> list[bool]:
    """One search of the standard library after the other."""
    text = data.decode()
    return [each.search(text) is not None for each in patterns]


def loop_re2(patterns: "Sequence[re2._Regexp]", data: bytes) -> list[bool]:
    """One search of RE2 after the other."""
    return [each.search(data) is not None for each in patterns]


def loop_in(patterns: Sequence[bytes], data: bytes) -> list[bool]:
    """One plain search after the other."""
    return [each in data for each in patterns]


if __name__ == "__main__":
    main()
