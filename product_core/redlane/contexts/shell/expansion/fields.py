"""From words to fields: what a shell would make of a word, as far as can be known.

What cannot be known stands in the field as it was written, or stands for nothing:
`r$(true)m` and `r${unset}m` are spellings of `rm`. An unknown value that is a whole
member of a path is most likely a directory, and is not left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product

from redlane.contexts.shell.expansion.braces import expand_braces
from redlane.contexts.shell.expansion.limits import Budget, Limits
from redlane.contexts.shell.expansion.parameters import (
    applied,
    is_beyond,
    sliced,
    sum_of,
    values_of,
)
from redlane.contexts.shell.expansion.scope import Scope, Value
from redlane.contexts.shell.expansion.segments import (
    Segment,
    begins_with_slash,
    changed,
    ends_in_slash,
    is_embedded,
    is_joined,
    is_known,
    is_path_member,
    is_spelled,
    is_value,
    listed,
    number_of,
    shown,
    unbraced,
)
from redlane.contexts.shell.grammar.expansions import TooManyMeanings
from redlane.contexts.shell.grammar.syntax import (
    Arithmetic,
    Parameter,
    Part,
    Substitution,
    Word,
    parts_of,
)

__all__ = ["Expander"]

Fields = tuple[str, ...]
Outputs = Callable[[Substitution], tuple[str, ...]]


class Expander:
    """Expands the words of one shell.

    `outputs` tells what a substitution prints. What has too many meanings raises, or
    where `limits` are not strict, every value is seen, but not with every other.
    """

    def __init__(
        self, scope: Scope, outputs: Outputs, limits: Limits, budget: Budget
    ) -> None:
        self._scope = scope
        self._outputs = outputs
        self._limits = limits
        self._budget = budget
        self._unknown = False
        self._leaves_out = False
        self._leads = False
        self._splits = False
        self.unknown: dict[int, object] = {}

    def commands(self, words: list[Word]) -> list[Fields]:
        """Each list of words that a simple command may come to."""
        self._unknown = False
        kept = self._alternatives(words, frozenset())
        if not self._unknown:
            return kept
        places = frozenset(self._may_be_nothing(words))
        if not places:
            return kept
        return list(dict.fromkeys(kept + self._alternatives(words, places)))

    def _may_be_nothing(self, words: list[Word]) -> Iterator[int]:
        """The words in which what is not known may be left out: `r${x}m -r${x}f`."""
        for place, word in enumerate(words):
            if self._limits.guesses or is_embedded(word, in_command=place == 0):
                yield place

    def texts(self, word: Word) -> tuple[str, ...]:
        """What a word may come to where no field is split, as in an assignment."""
        if isinstance(word, str):
            return (word,)
        found = self._joined_texts(word, leaves_out=False)
        if self._unknown and self._limits.guesses:
            self.unknown[id(word)] = word
        return found

    def _joined_texts(
        self, word: tuple[Part, ...], *, leaves_out: bool
    ) -> tuple[str, ...]:
        self._leaves_out, self._leads = leaves_out, False
        return tuple(
            "".join(text for text, _ in segments)
            for segments in self._segments(unbraced(word))
        )

    def values(self, word: Word) -> tuple[tuple[str, Value], ...]:
        """What a word may come to that is assigned, as text and as what is known."""
        self._unknown = False
        found = self.texts(word)
        if self._limits.guesses and self._unknown and is_spelled(word):
            found += self._joined_texts(parts_of(word), leaves_out=True)
        if self._limits.guesses or not self._unknown:
            return tuple(zip(found, found, strict=True))
        return tuple((text, text if is_value(text) else None) for text in found)

    def target(self, word: Word) -> tuple[str, ...]:
        """What a word of a redirection may come to."""
        self._unknown = False
        found = self.texts(word)
        if self._unknown:
            self.unknown[id(word)] = word
        return found

    def _alternatives(self, words: list[Word], places: frozenset[int]) -> list[Fields]:
        """Each list of fields; what is not known at `places` is left out there."""
        choices: list[list[Fields]] = []
        count, leads, any_unknown = 1, True, False
        for place, word in enumerate(words):
            if isinstance(word, str):
                choices.append([(word,)])
                continue
            self._unknown, self._leaves_out = False, place in places
            leads = leads and not any(choices[-1:] and choices[-1])
            self._leads = leads
            for piece in expand_braces(word):
                # An empty alternative is no word, unless there are quotes in it.
                fields = self._fields(piece) if piece else [(), ("",)]
                choices.append(fields)
                count *= max(len(fields), 1)
            if self._unknown:
                self.unknown[id(word)] = word
                any_unknown = True
        self._unknown = any_unknown
        if count > self._limits.values:
            self.unknown[id(words)] = words
            return self._side_by_side(choices)
        if count == 1:
            return [tuple(field for each in choices for field in each[0])]
        return [
            tuple(field for fields in choice for field in fields)
            for choice in product(*choices)
        ]

    def _fields(self, word: Word) -> list[Fields]:
        if isinstance(word, str):
            return [(word,)]
        self._splits = True
        segments = self._segments(word)
        self._splits = False
        return list(dict.fromkeys(map(self._split, segments)))

    def _segments(self, word: Iterable[Part]) -> list[list[Segment]]:
        """The alternatives of a word, each a row of stretches with their splitting."""
        rows: list[list[Segment]] = [[]]
        parts = list(word)
        for place, part in enumerate(parts):
            if isinstance(part, str):
                options: list[tuple[Segment, ...]] = [((str(part), False),)]
            else:
                before = parts[place - 1] if place else None
                following = parts[place + 1] if place + 1 < len(parts) else None
                options = self._options(part, before, following)
            rows = self._combined(rows, options)
        return rows

    def _combined(
        self, rows: list[list[Segment]], options: list[tuple[Segment, ...]]
    ) -> list[list[Segment]]:
        """Every row with every option behind it."""
        if len(rows) == 1 and len(options) == 1:
            for text, _ in options[0]:
                self._budget.made(len(text))
            rows[0].extend(options[0])
            return rows
        if len(rows) * len(options) > self._limits.values:
            return self._paired(rows, options)
        made = sum(len(text) for each in options for text, _ in each)
        self._budget.made(len(rows) * made)
        return [[*row, *option] for row in rows for option in options]

    def _paired(
        self, rows: list[list[Segment]], options: list[tuple[Segment, ...]]
    ) -> list[list[Segment]]:
        """Each row with one option and each option with one row."""
        if self._limits.strict:
            raise TooManyMeanings("a word has too many possible meanings")
        self._unknown = True  # some of them are left out
        size = min(max(len(rows), len(options)), self._limits.values)
        pairs = [
            [*rows[place % len(rows)], *options[place % len(options)]]
            for place in range(size)
        ]
        self._budget.made(sum(len(text) for row in pairs for text, _ in row))
        return pairs

    def _side_by_side(self, choices: list[list[Fields]]) -> list[Fields]:
        """Each word with each of its values, though not with every other's."""
        if self._limits.strict:
            raise TooManyMeanings("a command has too many possible meanings")
        known = [each for each in choices if each]
        return [
            tuple(field for each in known for field in each[place % len(each)])
            for place in range(max(map(len, known)))
        ]

    def _options(
        self, part: Part, before: Part | None, following: Part | None
    ) -> list[tuple[Segment, ...]]:
        """What one part may come to."""
        quoted = bool(getattr(part, "quoted", False))
        known: tuple[Value, ...] | None = None
        if isinstance(part, Parameter):
            known = self._parameter(part)
        elif isinstance(part, Substitution):
            known = self._substitution(part)
            quoted = quoted or part.sign != "$"
        elif isinstance(part, Arithmetic):
            known = tuple(map(sum_of, self.texts(part.inside)))
        if known is None:
            return [self._unknown_part(part, before, following)]
        if not self._limits.guesses and "" in known:
            known = self._without_nothing(known, before, following)
        found: list[tuple[Segment, ...]] = []
        for value in known:
            if value is None:
                found.append(self._unknown_part(part, before, following))
            elif isinstance(value, tuple) and quoted and is_joined(part):
                found += [((each.join(value), False),) for each in self._joints()]
            elif isinstance(value, tuple):
                found.append(listed(value, quoted=quoted))
            else:
                self._unknown |= not self._limits.guesses and not is_known(value)
                found.append(((value, not quoted),))
        return found

    def _without_nothing(
        self,
        known: tuple[Value, ...],
        before: Part | None,
        following: Part | None,
    ) -> tuple[Value, ...]:
        """Values in a script, without the empty one where it would make others of them.

        A script that may leave the name of a command or a directory empty asks before
        it uses it; and what it evaluates may have set it.
        """
        is_command = self._leads and not (before or following)
        is_path = ends_in_slash(before) or begins_with_slash(following)
        if is_command or (is_path and len(known) > 1):
            return (None, *(value for value in known if value))
        return known

    def _unknown_part(
        self, part: Part, before: Part | None, following: Part | None
    ) -> tuple[Segment, ...]:
        """What stands for a part that is not known, or that it is left out."""
        self._unknown = True
        text = shown(part, following)
        if not self._leaves_out:
            return ((text, False),)
        if not self._leads and is_path_member(before, following):
            presumed_set = not isinstance(part, Parameter) or (
                not part.name.islower() or part.name in self._scope.variables
            )
            if presumed_set or (isinstance(part, Parameter) and part.operator):
                return ((text, False),)
        return (("", not getattr(part, "quoted", False)),)

    def _substitution(self, part: Substitution) -> tuple[Value, ...] | None:
        outputs = self._outputs(part)
        if part.sign != "$":
            return (part.source,)
        texts = tuple(each.rstrip("\n") for each in outputs)
        if self._splits and not (self._limits.guesses or part.quoted):
            # Lines that become words are what a program found, and no command's.
            return tuple(None if "\n" in text else text for text in texts) or None
        return texts or None

    def _parameter(self, part: Parameter) -> tuple[Value, ...] | None:
        """The values of a parameter after its operator."""
        values = values_of(part, self._scope)
        if not part.operator:
            if part.argument:
                self.texts(part.argument)
            is_other = part.argument and not str(part.argument).startswith("[")
            if not part.prefix or part.prefix == "!":
                return (None,) if is_other else values
        arguments = self._argument(part)
        if part.operator.lstrip(":") in ("-", "=", "+", "?") and part.operator:
            return self._default(part, values, arguments)
        return None if values is None else tuple(_operated(part, values, arguments))

    def _argument(self, part: Parameter) -> tuple[str, ...]:
        saved = self._leaves_out, self._leads
        texts = self.texts(part.argument)
        self._leaves_out, self._leads = saved
        return texts

    def _default(
        self,
        part: Parameter,
        values: tuple[Value, ...] | None,
        arguments: tuple[str, ...],
    ) -> tuple[Value, ...] | None:
        """`${x:-word}` and its like: the value, the word, or either."""
        kind = part.operator[-1]
        if kind == "=" and values is None:
            self._scope.assign(part.name, arguments)
        elif kind == "=" and values is not None and {"", None} & set(values):
            self._scope.assign(part.name, (*arguments, *values))
        if kind == "?":
            return values
        if values is None:
            return (*arguments, "") if kind == "+" else (None, *arguments)
        found = [value for value in values if value != "" or kind == "+"]
        if kind == "+" or len(found) < len(values) or None in found:
            found += arguments
        return tuple(dict.fromkeys(found))

    def _split(self, segments: Iterable[Segment]) -> Fields:
        """Split unquoted stretches at white space and what IFS is set to."""
        fields: list[str] = []
        current: str | None = None
        for text, splits in segments:
            if not splits:
                current = (current or "") + text
                continue
            for place, piece in enumerate(self._separators().split(text)):
                if place and current is not None:
                    fields.append(current)
                    current = None
                if piece:
                    current = (current or "") + piece
        if current is not None:
            fields.append(current)
        return tuple(fields)

    def _joints(self) -> set[str]:
        """What may stand between the elements of `"$*"`: the first letter of IFS."""
        values = self._scope.variables.get("IFS", (" ",))
        return {each[:1] if isinstance(each, str) else " " for each in values}

    def _separators(self) -> "re.Pattern[str]":
        chosen = "".join(
            value
            for value in self._scope.variables.get("IFS", ())
            if isinstance(value, str)
        )
        return re.compile(f"[ \t\n{re.escape(chosen)}]+")


def _operated(
    part: Parameter, values: Iterable[Value], arguments: tuple[str, ...]
) -> Iterator[Value]:
    """Values after an operator that makes others of them."""
    is_of_all = bool({part.name, part.subscript} & {"@", "*"})
    for value in values:
        if part.prefix == "#" and is_of_all:
            yield number_of(value)
        elif is_beyond(part):
            yield None
        elif part.operator == ":" and is_of_all:
            yield from (sliced(part, value, each) for each in arguments)
        else:
            for each in arguments:
                yield changed(value, partial(applied, part, argument=each))
