r"""Texts from grammars: a few hundred written sentences that stand for thousands.

A file holds lists and sentences, one in each line. `[name]` begins a list, `[]` the
sentences; a line that begins with `#` is a remark, and one with `{#|##}` is none. In
both, `{name}` stands for a member of a list, `{Name}` for one that begins with a
capital letter, `{a|b|}` for one of these words or none, `{{` and `}}` for braces, `\n`
for a line break. There is no slot in a slot: a list does that. The lists of
`common.txt` in the directory of a file, and beside that directory, count in it, too,
where it has none of the same name.

    PYTHONPATH=training python -m inbound.grammar FILE…

prints three texts of each sentence, for whoever writes them.
"""

import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

__all__ = ["COMMON", "Grammar", "GrammarError", "Sentence", "read_grammar"]

_HEAD = re.compile(r"\[([a-z_0-9]*)\]")
_SLOT = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
COMMON = "common.txt"
"""Holds the lists of several grammars."""

_MOST_DEEP = 12
_TRIES = 20


class GrammarError(Exception):
    """A grammar says something that cannot be meant: where, and what."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of a grammar, by which its texts are told from those of others."""

    family: str
    line: int
    pattern: str


@dataclass(slots=True)
class Grammar:
    """The sentences of one file, and the lists that they draw on."""

    family: str
    lists: dict[str, list[str]] = field(default_factory=dict)
    sentences: list[Sentence] = field(default_factory=list)

    def texts(self, sentence: Sentence, most: int, seed: str) -> list[str]:
        """Up to `most` different texts of a sentence, the same ones for each seed.

        Raises GrammarError for a list that is not there or holds itself.
        """
        dice = random.Random(f"{seed}:{self.family}:{sentence.pattern}")
        found: dict[str, None] = {}
        for _ in range(most * _TRIES):
            if len(found) == most:
                break
            found[self._drawn(sentence.pattern, dice, 0)] = None
        return list(found)

    def check(self, own: Iterable[str]) -> None:
        """Raise GrammarError for a slot with nothing in it, and a list without use."""
        patterns = [each.pattern for each in self.sentences]
        every = [*patterns, *chain.from_iterable(self.lists.values())]
        used = {name.lower() for each in every for name in _SLOT.findall(each)}
        for name in own:
            if name not in used:
                raise GrammarError(f"{self.family}: nothing uses the list {name!r}")
        for members in self.lists.values():
            for member in members:
                self._drawn(member, random.Random(0), 0)
        for sentence in self.sentences:
            self._drawn(sentence.pattern, random.Random(0), 0)

    def _drawn(self, pattern: str, dice: random.Random, depth: int) -> str:
        if depth > _MOST_DEEP:
            raise GrammarError(f"{self.family}: {pattern!r} holds itself")

        def fill(slot: re.Match[str]) -> str:
            name = slot[1]
            if name is None and len(slot[0]) == 1:
                raise GrammarError(f"{self.family}: {pattern!r} has a brace alone")
            if name is None:
                return slot[0][0]
            if "|" in name:
                return str(dice.choice(name.split("|")))
            members = self.lists.get(name.lower())
            if not members:
                raise GrammarError(f"{self.family}: there is no list {name!r}")
            drawn = self._drawn(dice.choice(members), dice, depth + 1)
            return drawn[:1].upper() + drawn[1:] if name[:1].isupper() else drawn

        return _SLOT.sub(fill, pattern)


def read_grammar(path: Path) -> Grammar:
    """The grammar in a file; raises GrammarError for one that cannot be used."""
    grammar = Grammar(path.stem)
    for directory in (path.parent.parent, path.parent):
        if (directory / COMMON).is_file():
            grammar.lists.update(_lists(directory / COMMON))
    own: dict[str, list[str]] = {}
    for name, line, text in _lines(path):
        if name:
            own.setdefault(name, []).append(text)
        else:
            grammar.sentences.append(Sentence(path.stem, line, text))
    grammar.lists.update(own)
    grammar.check(own)
    return grammar


def _lists(path: Path) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, line, text in _lines(path):
        if not name:
            raise GrammarError(f"{path.name}:{line}: {text!r} stands in no list")
        found.setdefault(name, []).append(text)
    return found


def _lines(path: Path) -> Iterator[tuple[str, int, str]]:
    """Each line with the list that it is in, and its number."""
    name = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        head = _HEAD.fullmatch(text)
        if head is not None:
            name = head[1]
        elif text and not text.startswith("#"):
            yield name, number, text.replace("\\n", "\n")


def _show(paths: Sequence[str]) -> None:
    """Print some texts of each sentence, to be read by whoever wrote them."""
    for path in paths:
        grammar = read_grammar(Path(path))
        for sentence in grammar.sentences:
            for text in grammar.texts(sentence, 3, "shown"):
                sys.stdout.write(f"{grammar.family}:{sentence.line}: {text!r}\n")


if __name__ == "__main__":
    _show(sys.argv[1:])
