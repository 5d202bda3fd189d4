"""Texts that follow a regular expression, and what it looks out for, more or less."""

import random
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["texts_for"]

parser: Any = re._parser  # type: ignore[attr-defined]  # nothing public tells how it reads
_OTHERS = "a0 \n=<>\"'"
_BRANCHES = (parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT)


def texts_for(pattern: str, flags: int, count: int) -> Iterator[str]:
    """So many texts, the same in every run, each of a few pieces that nearly match.

    What a pattern must not be followed by is among them: there its rounds fail.
    """
    tree = parser.parse(pattern, flags & ~re.UNICODE.value)
    chance = random.Random(pattern.encode(errors="surrogatepass"))
    for _ in range(count):
        pieces = [_sample(tree, chance, {}) for _ in range(chance.randrange(1, 4))]
        yield _damaged("".join(pieces), chance)


def _damaged(text: str, chance: random.Random) -> str:
    """The text with a letter changed, doubled or taken out, or as it is."""
    place = chance.randrange(len(text) + 1)
    put = chance.choice((text[place : place + 1], "", chance.choice(_OTHERS), text))
    return text[:place] + put + text[place + chance.randrange(2) :]


def _sample(tree: Any, chance: random.Random, groups: dict[int, str]) -> str:
    return "".join(_piece(kind, given, chance, groups) for kind, given in tree)


def _piece(  # noqa: PLR0911  # one for each operation
    kind: Any, given: Any, chance: random.Random, groups: dict[int, str]
) -> str:
    """What one operation may read."""
    if kind in _BRANCHES:
        least, most, body = given
        rounds = least + chance.randrange(min(most - least, 3) + 1)
        return "".join(_sample(body, chance, groups) for _ in range(rounds))
    if kind is parser.BRANCH:
        return _sample(chance.choice(given[1]), chance, groups)
    if kind is parser.SUBPATTERN:
        groups[given[0]] = _sample(given[-1], chance, groups)
        return groups[given[0]]
    if kind is parser.ATOMIC_GROUP:
        return _sample(given, chance, groups)
    if kind in {parser.ASSERT, parser.ASSERT_NOT}:
        return _sample(given[1], chance, groups) if chance.randrange(2) else ""
    if kind is parser.GROUPREF:
        return groups.get(given, "")
    if kind is parser.GROUPREF_EXISTS:
        _, yes, no = given
        chosen = yes if groups.get(given[0]) else no
        return _sample(chosen or (), chance, groups)
    return _letter(kind, given, chance)


def _letter(kind: Any, given: Any, chance: random.Random) -> str:
    """A character that one of them reads, or some other."""
    if kind is parser.LITERAL:
        return chr(given)
    if kind is parser.IN:
        chosen = chance.choice(given)
        if chosen[0] is parser.RANGE:
            low, high = chosen[1]
            return chr(low + chance.randrange(min(high - low, 0x60) + 1))
        return _letter(*chosen, chance)
    return "" if kind is parser.AT else chance.choice(_OTHERS)
