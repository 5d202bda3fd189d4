"""What a model learns from: passages that are as long as what it scores at a time.

A page is read in windows, so that an order stands between anything. Around a part of
the orders, and of the innocent texts just as well, are lines of a document in place of
the carrier that the corpus gave them.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inbound.corpus import Example, Part

__all__ = ["Passage", "excerpts", "passages"]

_TIMES = 4
"""In so many places an order of others stands."""
_IN_A_DOCUMENT = 0.6
_BARE_IN_A_DOCUMENT = 0.2
_LONGEST = 500
_AROUND = (0, 60, 200, 400)
_LENGTHS = (200, 500, 500)


@dataclass(frozen=True, slots=True)
class Passage:
    """A text as a model meets it; `family` is "document" where nobody wrote it for us.

    `order` is the part of it that must be seen, if there is one.
    """

    text: str
    is_order: bool
    family: str
    order: str = ""


def passages(
    examples: Iterable[Example],
    orders: Iterable[str],
    documents: Sequence[str],
    seed: str = "1",
) -> list[Passage]:
    """What is learned from, in no order, always the same for a seed.

    `orders` are those of others; they and examples are put into `documents`.
    """
    dice = random.Random(seed)
    long = [each for each in documents if len(each) > _LONGEST]
    found = [
        Passage(_placed(each, long, dice), each.is_order, each.family, each.order)
        for each in examples
        if each.part is Part.LEARN
    ]
    for order in orders:
        for _ in range(_TIMES):
            start = dice.randrange(max(1, len(order) - _LONGEST))
            text = piece = order[start : start + _LONGEST]
            if dice.random() < _IN_A_DOCUMENT:
                text = _among(piece, dice.choice(long), dice)
            found.append(Passage(text, True, "published", piece))  # noqa: FBT003
    dice.shuffle(found)
    return found


def excerpts(
    documents: Iterable[str], count: int, dice: random.Random
) -> Iterator[Passage]:
    """So many pieces of each document."""
    for document in documents:
        for _ in range(count):
            start = dice.randrange(max(1, len(document) - _LENGTHS[0]))
            text = document[start : start + dice.choice(_LENGTHS)]
            yield Passage(text, is_order=False, family="document")


def _placed(example: Example, documents: Sequence[str], dice: random.Random) -> str:
    """An example in its carrier, in a document, or alone."""
    is_bare = example.text == example.order
    if dice.random() < (_BARE_IN_A_DOCUMENT if is_bare else _IN_A_DOCUMENT):
        return _among(example.order, dice.choice(documents), dice)
    if is_bare or len(example.text) <= _LONGEST:
        return example.text
    start = example.text.find(example.order)
    end = start + len(example.order)
    return example.text[max(0, start - _some(dice)) : end + _some(dice)]


def _among(order: str, document: str, dice: random.Random) -> str:
    """A text between two lines of a document."""
    line = document.find("\n", dice.randrange(len(document)))
    place = line if line >= 0 else len(document)
    before = document[max(0, place - dice.choice(_AROUND)) : place]
    behind = document[place : place + dice.choice(_AROUND)]
    return f"{before}\n{order}\n{behind}".strip()


def _some(dice: random.Random) -> int:
    return dice.randrange(_AROUND[-2])
