"""The match type Regex: `pattern` is a regular expression, searched in the content."""

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property, lru_cache
from heapq import merge
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

import re2

from redlane.api import (
    Answer,
    CompiledPattern,
    Content,
    Context,
    Matcher,
    MatchType,
    Outcome,
    PatternError,
    Policy,
    Problem,
    Reader,
    Severity,
    compile_pattern,
    hookimpl,
)

__all__ = ["RegexMatcher", "RegexType", "redlane_match_types"]

_WORD_BOUNDARY = re.compile(r"(?<!\\)(?:\\\\)*\\[bB]")

_SHARD = 2_000
"""How many rules share a filter, whose automaton RE2 gives 8 MB."""

_LONGEST = 2_000
"""The longest rule, in bytes, that goes into a filter or shares an automaton."""

_GROUP = 32
"""How many rules share an automaton. More are faster on ordinary text, and slower on
text that is made to drive the automaton through all its states."""

_WORTH_A_SCAN = 4
"""From how many candidates on one scan for a whole group beats a search for each."""

_MEMORY = (8 << 20, 64 << 20)
"""What RE2 may use, in bytes, for an automaton, and for the outline of a huge rule."""

_MANY = 1_000
"""Of how many texts on a content is one that may come again just as it is: a script."""

_KEPT_PATTERNS = 1 << 14

_MOST_QUIET = 6 << 20
_OVERHEAD = 64
_MOST_SELECTIONS = 3
"""How many bytes of texts without a match are kept, and for how many selections."""

_LAST = "\U0010fffe\U0010ffff".encode()
"""Stands after the text of a filter's scan and is a rule of its own: an automaton that
runs out of memory finds nothing and says nothing, so an answer without it is void."""


class RegexType:
    """Regex, as the plugin host sees it."""

    name = "Regex"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields: frozenset[str] = frozenset()
    ignores_action = False

    def __init__(self) -> None:
        """Keep patterns between `problems` and `compile`, and between roles."""
        self._pattern = lru_cache(_KEPT_PATTERNS)(compile_pattern)

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """A pattern that is missing or does not compile is an error.

        RE2's word boundaries know ASCII words only, which beside other letters is
        hardly ever meant: that is a warning.
        """
        if policy.pattern is None:
            yield Problem(Severity.ERROR, "Regex needs a `pattern`: add the expression")
            return
        if not policy.pattern:
            yield Problem(Severity.WARNING, "an empty `pattern` matches everything")
        try:
            self._pattern(policy.pattern)
        except PatternError as error:
            yield Problem(Severity.ERROR, f"`pattern` does not compile: {error}")
        if not policy.pattern.isascii() and _WORD_BOUNDARY.search(policy.pattern):
            yield Problem(
                Severity.WARNING,
                r"`\b` knows ASCII words only and is not found beside other letters: "
                r"write (?:^|\W) or (?:\W|$) there",
            )

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """Filters over the literals that the rules need, and the rules in groups.

        The patterns are copied: what they take once they are searched for goes with
        the matcher, and is not kept for as long as the process lives.
        """
        return RegexMatcher(
            [(each.order, copy(self._pattern(each.pattern or ""))) for each in policies]
        )


class _Rule:
    """One policy's pattern, and its outline as compiled for the filter."""

    __slots__ = ("order", "outline", "pattern")

    def __init__(self, order: int, pattern: CompiledPattern) -> None:
        self.order = order
        self.pattern = pattern
        self.outline: re2._Regexp

    def answer(self, views: Iterable[bytes]) -> Answer | None:
        """The answer for texts in which the outline matches."""
        try:
            matched = any(self.pattern.confirms(view) for view in views)
        except PatternError as error:
            return Answer(self.order, Outcome.FAILED, f"regular expression: {error}")
        return Answer(self.order, Outcome.YES) if matched else None


class _Scan(NamedTuple):
    """What is asked: which rules under `before` match in `views`.

    Those in which one of them may go into `loud`.
    """

    views: Sequence[bytes]
    before: int
    loud: set[bytes]


class _Group:
    """A few rules, searched for in one scan when many of them may match."""

    def __init__(self, rules: Sequence[_Rule], *, filtered: bool) -> None:
        self._rules = rules
        self._filtered = filtered
        self.places = range(len(rules))

    def answers(self, wanted: Sequence[int], scan: _Scan) -> Iterator[Answer]:
        """The answers of the `wanted` rules, given by their place in the group."""
        wanted = [place for place in wanted if self._rules[place].order < scan.before]
        possible: dict[int, list[bytes]] = {}
        for view in scan.views:
            for place in self._narrowed(wanted, view):
                possible.setdefault(place, []).append(view)
        scan.loud.update(*possible.values())
        for place in sorted(possible):
            answer = self._rules[place].answer(possible[place])
            if answer:
                yield answer

    def _narrowed(self, wanted: Sequence[int], view: bytes) -> Iterable[int]:
        """Those of the `wanted` rules whose outline matches in the text."""
        end = len(self._rules)
        if len(wanted) >= _WORTH_A_SCAN and self._automaton:
            found = self._automaton.Match(view)
            if found and end in found:
                return [place for place in found if place in wanted]
        return [
            place
            for place in wanted
            if self._rules[place].outline.search(view) is not None
        ]

    @cached_property
    def _automaton(self) -> "re2.Set | None":
        """One automaton for the group, or None when it would be too large.

        Its last pattern is empty and matches everything: an answer without it is void,
        as for the filters. Rules that no filter holds back are scanned for always, so
        theirs has the patterns with their counts, not the outlines.
        """
        automaton = re2.Set.SearchSet(_options(_MEMORY[0]))
        for rule in self._rules:
            pattern = rule.pattern
            automaton.Add(pattern.outline if self._filtered else pattern.loose)
        automaton.Add(b"")
        try:
            automaton.Compile()
        except re2.error:
            return None
        return automaton


_Selection = tuple[_Group, Sequence[int]]
"""A group, and the places of those of its rules that may match."""


class _Shard:
    """Rules that share a filter, which names those that may match at all."""

    def __init__(self, rules: Sequence[_Rule]) -> None:
        """Compile the filter; raises re2.error when it is too large."""
        self._filter = re2.Filter()
        for rule in rules:
            _add(self._filter, rule.pattern.outline)
        self._end = self._filter.Add(_LAST, options=_options(_MEMORY[0]))
        self._filter.Compile()
        for index, rule in enumerate(rules):
            rule.outline = self._filter.re(index)
        always = frozenset(self._filter.Match(b"", potential=True) or ())
        self.unfiltered = [rules[index] for index in sorted(always)]
        filtered = [index for index in range(len(rules)) if index not in always]
        self._places = {index: divmod(i, _GROUP) for i, index in enumerate(filtered)}
        self._groups = _grouped([rules[index] for index in filtered], filtered=True)

    def selected(self, text: bytes) -> Iterator[_Selection]:
        """The rules whose literals are in `text`, which ends in _LAST."""
        found = self._filter.Match(text, potential=True)
        complete = found and found[-1] == self._end
        places = [
            self._places[index]
            for index in (found if complete else self._places)
            if index in self._places
        ]
        for group, members in groupby(places, key=itemgetter(0)):
            yield self._groups[group], tuple(place for _, place in members)


class _Quiet:
    """Texts in which no rule of a selection matches: those of a script come again."""

    def __init__(self) -> None:
        self.texts: set[bytes] = set()
        self._room = _MOST_QUIET

    @property
    def is_full(self) -> bool:
        """Whether nothing more is kept."""
        return self._room < 0

    def add(self, texts: Iterable[bytes]) -> None:
        """Keep texts, as long as there is room."""
        for text in texts:
            self._room -= len(text) + _OVERHEAD
            if self.is_full:
                break
            self.texts.add(text)


class RegexMatcher:
    """Thousands of rules for about the price of one scan of the content.

    A filter names the rules whose required literals are there; these are searched for
    group by group, in load order, so that a caller who stops early saves the rest.
    """

    def __init__(self, patterns: Iterable[tuple[int, CompiledPattern]]) -> None:
        """Compile `patterns`, each with the order of its policy."""
        ordered = sorted(patterns, key=itemgetter(0))
        rules = [_Rule(order, pattern) for order, pattern in ordered]
        short = [each for each in rules if len(each.pattern.outline) <= _LONGEST]
        self._shards = [
            shard
            for start in range(0, len(short), _SHARD)
            for shard in _shards(short[start : start + _SHARD])
        ]
        unfiltered = [rule for shard in self._shards for rule in shard.unfiltered]
        self._unfiltered = _grouped(unfiltered, filtered=False)
        self._alone = [
            _Group([_compiled(each)], filtered=False)
            for each in rules
            if len(each.pattern.outline) > _LONGEST
        ]
        self._quiet: dict[Hashable, _Quiet] = {}

    def answers(
        self,
        content: Content,  # noqa: ARG002  # the texts are all that a pattern sees
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        """The policies that match in any of `views`, lowest order first."""
        views = tuple(dict.fromkeys(views))
        selections = self._selections(b"\n".join((*views, _LAST)))
        if len(views) < _MANY:
            return _answers(selections, _Scan(views, before, set()))
        return self._answers_of_many(tuple(map(tuple, selections)), views, before)

    def _selections(self, text: bytes) -> Iterator[Iterable[_Selection]]:
        """The rules that may match in a text, by what is in order among itself."""
        yield (each for shard in self._shards for each in shard.selected(text))
        for groups in filter(None, (self._unfiltered, self._alone)):
            yield ((group, group.places) for group in groups)

    def _answers_of_many(
        self,
        selections: tuple[tuple[_Selection, ...], ...],
        views: tuple[bytes, ...],
        before: int,
    ) -> Iterator[Answer]:
        """The answers for many texts, most of which are known to be quiet."""
        quiet = self._quiet_in((before, selections))
        left = [each for each in views if each not in quiet.texts]
        scan = _Scan(left, before, set())
        yield from _answers(selections, scan)
        quiet.add(each for each in left if each not in scan.loud)

    def _quiet_in(self, selection: Hashable) -> _Quiet:
        """What is known of a selection of rules."""
        known = self._quiet.get(selection)
        if known is None or known.is_full:
            if len(self._quiet) >= _MOST_SELECTIONS:
                self._quiet.clear()
            known = self._quiet[selection] = _Quiet()
        return known


def _answers(
    selections: Iterable[Iterable[_Selection]], scan: _Scan
) -> Iterator[Answer]:
    """The answers of all selections, lowest order first."""
    streams = (_answers_in_order(each, scan) for each in selections)
    return merge(*streams, key=attrgetter("order"))


def _answers_in_order(selection: Iterable[_Selection], scan: _Scan) -> Iterator[Answer]:
    for group, wanted in selection:
        yield from group.answers(wanted, scan)


def _compiled(rule: _Rule) -> _Rule:
    """The rule, with its outline compiled by itself."""
    rule.outline = re2.compile(rule.pattern.outline, options=_options(_MEMORY[1]))
    return rule


def _grouped(rules: Sequence[_Rule], *, filtered: bool) -> list[_Group]:
    return [
        _Group(rules[start : start + _GROUP], filtered=filtered)
        for start in range(0, len(rules), _GROUP)
    ]


def _shards(rules: Sequence[_Rule]) -> list[_Shard]:
    """One shard, or several when the filter would be too large."""
    try:
        return [_Shard(rules)]
    except re2.error:
        if len(rules) == 1:
            raise
    half = len(rules) // 2
    return _shards(rules[:half]) + _shards(rules[half:])


def _add(rules: "re2.Filter", pattern: bytes) -> None:
    try:
        rules.Add(pattern, options=_options(_MEMORY[0]))
    except re2.error:
        rules.Add(pattern, options=_options(_MEMORY[1]))


def _options(memory: int) -> "re2.Options":
    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    options.max_mem = memory
    return options


@hookimpl
def redlane_match_types() -> tuple[MatchType, ...]:
    """Offer the match type to the plugin host."""
    return (RegexType(),)
