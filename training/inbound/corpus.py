"""The texts that the models learn from, and those that they are tried on.

    PYTHONPATH=training python -m inbound.corpus [--json]

Texts are made of the grammars below `texts`: `orders` are what a model is to find,
`ordinary` what it must leave alone, `carriers` the documents that either stands in. A
sentence is in one part of the corpus only, with all of its texts, and so is a carrier.
What is nearly the same as a text that is learned from is tried on nothing.
"""

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from inbound.disguises import disguised, repeated
from inbound.grammar import COMMON, Grammar, Sentence, read_grammar
from inbound.near import Seen

__all__ = ["BY_PLACE", "TEXTS", "Example", "Part", "corpus"]

TEXTS = Path(__file__).with_name("texts")
_MOST_ORDERS = 14
_MOST_ORDINARY = 24
_IN_A_CARRIER = 0.5
_DISGUISED = 0.15
_REPEATED = 0.03
BY_PLACE = frozenset({"task_instead", "wallet"})
"""Asked by a person these are no orders: where they stand makes them some."""
_NEVER_CARRIED = frozenset({"asked"})
_SLOT = "{text}"
_WRITTEN: Mapping[str, Callable[[str], str]] = {
    "csv": lambda text: text.replace('"', '""'),
    "json": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
}
"""How a text stands in a document that is more than text."""


class Part(StrEnum):
    """What an example is for: of ten sentences eight are learned from."""

    LEARN = "learn"
    TUNE = "tune"
    TRY = "try"


@dataclass(frozen=True, slots=True)
class Example:
    """A text, whether it holds an order to whoever reads it, and where it comes from.

    `order` is the order itself, or the innocent text in its place, as it stands in
    `text`.
    """

    text: str
    order: str
    is_order: bool
    family: str
    part: Part


def corpus(seed: str = "1") -> list[Example]:
    """All examples, always the same for a seed, each text once."""
    found = {
        each.text: each
        for kind, is_order, most in (
            ("orders", True, _MOST_ORDERS),
            ("ordinary", False, _MOST_ORDINARY),
        )
        for each in _examples(kind, most, seed, is_order=is_order)
    }
    learned = Seen(each.order for each in found.values() if each.part is Part.LEARN)
    return [
        each
        for each in found.values()
        if each.part is Part.LEARN or not learned.has_near(each.order)
    ]


def _examples(kind: str, most: int, seed: str, *, is_order: bool) -> Iterator[Example]:
    carriers = _carriers()
    for grammar in _grammars(kind):
        carried = _share_carried(grammar.family)
        for sentence in grammar.sentences:
            part = _part(sentence)
            make = partial(Example, is_order=is_order, family=grammar.family, part=part)
            dice = random.Random(f"{seed}:{sentence.pattern}")
            for order in grammar.texts(sentence, most, seed):
                if is_order and dice.random() < _DISGUISED:
                    order = disguised(order, dice)  # noqa: PLW2901  # the same, hidden
                if dice.random() < _REPEATED:
                    order = repeated(order, dice)  # noqa: PLW2901
                if dice.random() < carried:
                    yield make(*_carried(order, carriers[part], dice))
                else:
                    yield make(order, order)


def _share_carried(family: str) -> float:
    if family in BY_PLACE:
        return 1
    return 0 if family in _NEVER_CARRIED else _IN_A_CARRIER


def _carriers() -> dict[Part, list[tuple[Grammar, Sentence]]]:
    found: dict[Part, list[tuple[Grammar, Sentence]]] = {each: [] for each in Part}
    for grammar in _grammars("carriers"):
        grammar.lists["text"] = ["{{text}}"]
        for sentence in grammar.sentences:
            found[_part(sentence)].append((grammar, sentence))
    return found


def _carried(
    order: str, carriers: Sequence[tuple[Grammar, Sentence]], dice: random.Random
) -> tuple[str, str]:
    """A document with an order in it, and the order as it stands there."""
    grammar, sentence = dice.choice(carriers)
    (document,) = grammar.texts(sentence, 1, str(dice.random()))
    written = _WRITTEN.get(grammar.family, str)(order)
    return document.replace(_SLOT, written), written


def _grammars(kind: str) -> Iterator[Grammar]:
    for path in sorted((TEXTS / kind).glob("*.txt")):
        if path.name != COMMON:
            yield read_grammar(path)


def _part(sentence: Sentence) -> Part:
    """Where a sentence belongs, by what it says: a new one moves no other."""
    named = f"{sentence.family}:{sentence.pattern}".encode()
    return {8: Part.TUNE, 9: Part.TRY}.get(
        hashlib.sha256(named).digest()[0] % 10, Part.LEARN
    )


def main(words: Sequence[str]) -> int:
    """Print how many examples there are of each kind, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="all examples, a line each")
    examples = corpus()
    if parser.parse_args(words).json:
        lines = [json.dumps(asdict(each)) for each in examples]
    else:
        counts = Counter((each.is_order, each.part, each.family) for each in examples)
        lines = [
            f"{'order' if is_order else 'ordinary':<9}{part:<6}{count:>6}  {family}"
            for (is_order, part, family), count in sorted(counts.items())
        ]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
